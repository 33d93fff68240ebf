"""One that runs the same tests again and again, and works in between."""

from types import MappingProxyType
from typing import Final, NamedTuple

from sidecar.demo.calls import edit, run
from sidecar.demo.mind import Mind, Move, Script

TESTS: Final = run("python -m unittest")


class Fault(NamedTuple):
    """One function: how it is wrong, how it is right, and a call of it with what that gives."""

    name: str
    wrong: str
    right: str
    call: str
    expected: str


FAULTS: Final = (
    Fault("above", "n > limit", "n >= limit", "above([1, 2, 3], 2)", "[2, 3]"),
    Fault("below", "n > cap", "n < cap", "below([1, 2, 3], 2)", "[1]"),
    Fault("cubes", "n ** 2", "n ** 3", "cubes([2, 3])", "[8, 27]"),
    Fault("doubled", "n + n + n", "n + n", "doubled([2, 3])", "[4, 6]"),
    Fault("even", "n % 2 == 1", "n % 2 == 0", "even([1, 2])", "[2]"),
    Fault("floored", "round(n)", "int(n // 1)", "floored([1.7, 2.2])", "[1, 2]"),
    Fault("gaps", "a - b", "b - a", "gaps([1, 3, 6])", "[2, 3]"),
    Fault("halves", "n // 2", "n / 2", "halves([1, 3])", "[0.5, 1.5]"),
    Fault("inverse", "1 // n", "1 / n", "inverse([2, 4])", "[0.5, 0.25]"),
)
"""In the order of their names, which is the order in which the tests fail."""

FORMS: Final = MappingProxyType(
    {
        "above": "def above(numbers, limit):\n    return [n for n in numbers if {}]\n",
        "below": "def below(numbers, cap):\n    return [n for n in numbers if {}]\n",
        "even": "def even(numbers):\n    return [n for n in numbers if {}]\n",
        "gaps": "def gaps(numbers):\n    return [{} for a, b in zip(numbers, numbers[1:])]\n",
    }
)
PLAIN: Final = "def {name}(numbers):\n    return [{{}} for n in numbers]\n"


def _module() -> str:
    return "\n\n".join(
        FORMS.get(fault.name, PLAIN.format(name=fault.name)).format(fault.wrong) for fault in FAULTS
    )


def _tests() -> str:
    cases = "".join(
        f"\n    def test_{fault.name}(self):\n"
        f"        self.assertEqual(numbers.{fault.call}, {fault.expected})\n"
        for fault in FAULTS
    )
    head = "import unittest\n\nimport numbers_of as numbers\n\n\nclass Numbers(unittest.TestCase):"
    return head + cases


def _script(_speed: float) -> Script:
    yield Move(text="Which tests fail?", calls=(TESTS,), confidence=0.3)
    for mended, fault in enumerate(FAULTS, 1):
        yield Move(
            text=f"{fault.name} is wrong: it should say {fault.right}.",
            calls=(edit("numbers_of.py", fault.wrong, fault.right),),
            approach="the first failing test first",
        )
        confidence = 0.3 + 0.6 * mended / len(FAULTS)
        yield Move(text="Which tests fail now?", calls=(TESTS,), confidence=confidence)
    yield Move(
        text="Done.", final_answer=f"{len(FAULTS)} functions were wrong; all tests pass now."
    )


BETWEEN: Final = Mind(
    name="between",
    aim="mends between runs of the same tests",
    files=MappingProxyType({"numbers_of.py": _module(), "test_numbers.py": _tests()}),
    script=_script,
)
