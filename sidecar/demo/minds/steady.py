"""A steady worker: a module function by function, each with its test."""

from types import MappingProxyType
from typing import Final, NamedTuple

from sidecar.demo.calls import edit, read, run
from sidecar.demo.mind import Mind, Move, Script

NEXT: Final = "# next function here\n"


class Task(NamedTuple):
    """One function: its name, its body, and a call of it with what that gives."""

    name: str
    body: str
    call: str
    expected: str


TASKS: Final = (
    Task("count", "return len(text.split())", "count('a bc d')", "3"),
    Task("longest", "return max(text.split(), key=len)", "longest('a bcd ef')", "'bcd'"),
    Task("initials", "return ''.join(w[0] for w in text.split())", "initials('a bc d')", "'abd'"),
    Task("slug", "return '-'.join(text.lower().split())", "slug('A B, c!')", "'a-b-c'"),
    Task("backwards", "return ' '.join(reversed(text.split()))", "backwards('a b')", "'b a'"),
    Task("vowels", "return sum(c in 'aeiou' for c in text)", "vowels('audio')", "4"),
    Task("lengths", "return [len(w) for w in text.split()]", "lengths('a bc')", "[1, 2]"),
    Task("capitals", "return [c for c in text if c.isupper()]", "capitals('aBcD')", "['B', 'D']"),
    Task("distinct", "return sorted(set(text.split()))", "distinct('b a b')", "['a', 'b']"),
    Task("digits", "return [int(c) for c in text if c.isdigit()]", "digits('a1b2')", "[1, 2]"),
    Task("middle", "return text[len(text) // 2]", "middle('abc')", "'b'"),
    Task("lines", "return [t for t in text.split('\\n') if t]", "lines('a\\n\\nb')", "['a', 'b']"),
)

MENDED: Final = (
    "return '-'.join(''.join(c for c in w if c.isalnum()) for w in text.lower().split())"
)
"""The first `slug` forgets punctuation, as its test tells."""


def _tests() -> str:
    cases = "".join(
        f"\n\nclass {task.name.capitalize()}(unittest.TestCase):\n"
        f"    def test_{task.name}(self):\n"
        f"        self.assertEqual(words.{task.call}, {task.expected})\n"
        for task in TASKS
    )
    return f"import unittest\n\nimport words\n{cases}"


def _script(_speed: float) -> Script:
    yield Move(text="I read the tests first.", calls=(read("test_words.py"),), confidence=0.5)
    for done, task in enumerate(TASKS):
        source = f"def {task.name}(text):\n    {task.body}\n\n\n"
        yield Move(
            text=f"Next is {task.name}.",
            calls=(edit("words.py", NEXT, source + NEXT),),
            approach="one function at a time",
        )
        test = run(f"python -m unittest test_words.{task.name.capitalize()}")
        confidence = 0.5 + 0.4 * (done + 1) / len(TASKS)
        seen = yield Move(text="Does it do?", calls=(test,), confidence=confidence)
        if seen.results[0].failed:
            yield Move(
                text=f"{task.name} keeps punctuation; its test names the case.",
                calls=(edit("words.py", task.body, MENDED),),
            )
            yield Move(text="And now?", calls=(test,), confidence=confidence)
    yield Move(
        text="All of them together.", calls=(run("python -m unittest test_words"),), confidence=0.95
    )
    yield Move(
        text="Done.",
        final_answer=f"words.py has its {len(TASKS)} functions, and every test passes.",
        confidence=0.95,
    )


STEADY: Final = Mind(
    name="steady",
    aim="writes a module function by function",
    files=MappingProxyType(
        {"words.py": f'"""Small questions about a text."""\n\n\n{NEXT}', "test_words.py": _tests()}
    ),
    script=_script,
)
