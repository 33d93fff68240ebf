"""qwen-code's loop detection: what is always on, and the heuristics that have to be switched on.

Our reading of the rules in QwenLM/qwen-code at 00aa71b4a0a37df1c392eb9b90e1c53d008fdce5,
packages/core/src/services/loopDetectionService.ts. A loop halts the turn until the next prompt: a
BREAK. Its rule on repeated thoughts is not here, since run files do not carry them, and neither is
its care for retried requests. Where a changed poll makes it begin a count again, we look whether
the last results differ.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final, Protocol

from eval.baselines.rules.chanting import BOX_DRAWING, Manner, Stream
from eval.baselines.told import Call, Finding, Run, Severity, Step, each

IN_A_ROW: Final = 5
INSPECTIONS: Final = 8
CALLS_SOFT_MAX: Final = 100
CALLS_HARD_MAX: Final = 1000
ANYWHERE: Final = 6
ALTERNATING: Final = 6
READS: Final = 8
READS_WINDOW: Final = 15
SAME_NAME: Final = 8

POLLS: Final = frozenset({"task_list"})
"""Tools whose results others change: repeats count only while the result stays the same."""
SHELL: Final = "run_shell_command"
READERS: Final = frozenset({"zoom_image"})
READER_PREFIXES: Final = ("read_", "list_")

MANNER: Final = Manner(
    gap_mean_max=75,
    bullets=frozenset("-*+"),
    divider=BOX_DRAWING | frozenset("-+_=*"),
)

_CHAINED: Final = re.compile(r"&&|\|\||[;&|\n]")
_OVERVIEW: Final = re.compile(
    r"git(?:\s+(?:-C\s+\S+|--no-pager))*\s+(status|diff|ls-files)\b(.*)", re.IGNORECASE | re.DOTALL
)
_REVISION: Final = re.compile(r"(?:HEAD|@)(?:[~^]\d*)*|[0-9a-f]{7,40}|\S+\.{2,3}\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call, and its result once it is there: those of one step come after all its calls."""

    call: Call
    key: str
    result: str | None = None

    @property
    def polls(self) -> bool:
        """Whether a repeat of this call may well give something new."""
        return self.call.name in POLLS


class Rule(Protocol):
    """A rule on the calls since the last prompt, known by its name."""

    __name__: str

    def __call__(self, asked: Sequence[Asked], /) -> bool:
        """Whether they end in a loop."""
        ...


TextRule = Callable[[Stream, str], bool]
"""Takes in a text; whether it chants."""


def in_a_row(asked: Sequence[Asked]) -> bool:
    """The same call again and again; a poll, while its results are the same."""
    recent = asked[-IN_A_ROW:]
    return (
        len(recent) == IN_A_ROW
        and len({one.key for one in recent}) == 1
        and not (recent[0].polls and _changed(recent))
    )


def inspections(asked: Sequence[Asked]) -> bool:
    """Nothing but looks at the state of the repository."""
    recent = asked[-INSPECTIONS:]
    return len(recent) == INSPECTIONS and all(inspects(one.call) for one in recent)


def many_calls(asked: Sequence[Asked]) -> bool:
    """Many calls of which one recurs, or very many."""
    return len(asked) > CALLS_HARD_MAX or (len(asked) > CALLS_SOFT_MAX and anywhere(asked))


def anywhere(asked: Sequence[Asked]) -> bool:
    """One call ANYWHERE times since the prompt; a poll, with the same result in a row."""
    counts = Counter(one.key for one in asked if not one.polls)
    polled = {one.key for one in asked if one.polls}
    return any(count >= ANYWHERE for count in counts.values()) or any(
        _unchanged_results(asked, key) >= ANYWHERE for key in polled
    )


def alternating(asked: Sequence[Asked]) -> bool:
    """Two calls in turn, three times; not while a poll among them gives something new."""
    recent = asked[-ALTERNATING:]
    first, second = recent[::2], recent[1::2]
    return (
        len(recent) == ALTERNATING
        and len({one.key for one in first}) == len({one.key for one in second}) == 1
        and first[0].key != second[0].key
        and not any(every[0].polls and _changed(every) for every in (first, second))
    )


def reading(asked: Sequence[Asked]) -> bool:
    """Mostly reads, once anything else has been done."""
    reads = [_reads(one.call) for one in asked]
    return sum(reads[-READS_WINDOW:]) >= READS and not all(reads)


def one_tool(asked: Sequence[Asked]) -> bool:
    """One tool again and again, whatever it is asked; a changed poll begins the count again."""
    recent = asked[-SAME_NAME:]
    return (
        len(recent) == SAME_NAME
        and len({one.call.name for one in recent}) == 1
        and not (recent[0].polls and _changed(recent))
    )


ALWAYS_ON: Final[tuple[Rule, ...]] = (in_a_row, inspections, many_calls)
HEURISTICS: Final[tuple[Rule, ...]] = (anywhere, alternating, reading, one_tool)


def inspects(call: Call) -> bool:
    """Whether a shell command does nothing but look at the repository as a whole."""
    match call.given:
        case {"command": str(command)} if call.name == SHELL:
            parts = [part.strip() for part in _CHAINED.split(command) if part.strip()]
            return bool(parts) and all(_is_overview(part) for part in parts)
    return False


def _is_overview(command: str) -> bool:
    found = _OVERVIEW.match(command)
    if not found:
        return False
    words = found[2].split()
    pathless = "--" not in words[:-1]
    revisions = all(word.startswith("-") or _REVISION.fullmatch(word) for word in words)
    return found[1].lower() != "diff" or (pathless and revisions)


def _reads(call: Call) -> bool:
    return call.name in READERS or call.name.startswith(READER_PREFIXES)


def _changed(asked: Sequence[Asked]) -> bool:
    """Whether the results that are there differ."""
    return len({one.result for one in asked if one.result is not None}) > 1


def _unchanged_results(asked: Sequence[Asked], key: str) -> int:
    """How many of a call's latest results are the same in a row."""
    results = [one.result for one in asked if one.key == key and one.result is not None]
    changes = [place for place, (one, two) in enumerate(pairwise(results), 1) if one != two]
    return len(results) - (changes[-1] if changes else 0)


def _findings(run: Run, *, rules: Sequence[Rule], chants: TextRule) -> Iterator[Finding]:
    asked: list[Asked] = []
    stream = Stream(MANNER)
    halted = False
    for step in run.steps:
        if step.person_spoke:
            asked, stream, halted = [], Stream(MANNER), False
        if halted:
            continue
        rule = "chanting" if chants(stream, step.text) else _loop_in(step, asked, stream, rules)
        if rule:
            halted = True
            yield Finding(sequence=step.sequence, severity=Severity.BREAK, rule=rule)


def _loop_in(step: Step, asked: list[Asked], stream: Stream, rules: Sequence[Rule]) -> str:
    """The first loop as the calls of a step are asked, and then as their results come in."""
    for call in step.calls:
        stream.clear()
        asked.append(Asked(call=call, key=call.canonical))
        if found := _first(rules, asked):
            return found
    for place, call in enumerate(step.calls, start=len(asked) - len(step.calls)):
        asked[place] = replace(asked[place], result=call.result)
    return _first(rules, asked)


def _first(rules: Sequence[Rule], asked: Sequence[Asked]) -> str:
    return next((rule.__name__ for rule in rules if rule(asked)), "")


def _unread(stream: Stream, text: str) -> bool:
    return False


always_on = each(partial(_findings, rules=ALWAYS_ON, chants=_unread))
with_heuristics = each(partial(_findings, rules=ALWAYS_ON + HEURISTICS, chants=Stream.chants))
