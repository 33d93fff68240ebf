"""No converter raises for what is in a file: each part of a good record is spoilt in each way."""

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from sidecar.datasets.converting import FORMATS
from sidecar.datasets.moves import Recording
from sidecar.datasets.turns import fold, run_lines
from tests.datasets import (
    test_benchmarks,
    test_inspect,
    test_mast,
    test_openhands,
    test_otlp,
    test_transcripts,
)
from tests.datasets.telling import document

JUNK: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x",
    [],
    ["x", None, {}],
    {},
    {"type": 7},
)

GOOD: Final[dict[str, list[Any]]] = {
    "tau-bench": [test_benchmarks.TAU],
    "tau2-bench": [test_benchmarks.TAU2],
    "openhands": test_openhands.EVENTS,
    "openhands, version 1": test_openhands.NEWER,
    "swe-agent": [test_benchmarks.TRAJECTORY],
    "mini-swe-agent": test_benchmarks.MINI,
    "who-and-when": [test_benchmarks.TEAM],
    "mast": [test_mast.row("AG2", test_mast.AG2), test_mast.row("ChatDev", {"trajectory": "x"})],
    "inspect": [test_inspect.log(**test_inspect.SAMPLE)],
    "claude-code": test_transcripts.CLAUDE,
    "codex": [*test_transcripts.META, *test_transcripts.ROLLOUT],
    "gemini": [test_transcripts.HEAD, *test_transcripts.GEMINI],
    "otlp": [test_otlp.EXPORT],
}


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        yield from _places(part, (*place, key))


def _spoilt(value: list[Any], place: tuple[Any, ...], junk: Any) -> list[Any]:
    spoilt = copy.deepcopy(value)
    within: Any = spoilt
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = junk
    return spoilt


def test_every_format_of_records_is_here() -> None:
    formats = {name.partition(",")[0] for name in GOOD}
    assert formats == set(FORMATS) - {"llm-agents-study"}


@pytest.mark.parametrize("name", GOOD)
def test_a_spoilt_record_is_never_an_exception(name: str) -> None:
    values = GOOD[name]
    convert = FORMATS[name.partition(",")[0]].convert
    tried = 0
    for place in _places(values):
        for junk in JUNK:
            spoilt = _spoilt(values, place, junk)
            for finding in convert(document(*spoilt, name="a/b/c/d.json")):
                if isinstance(finding, Recording):
                    for line in run_lines(finding, fold(finding), session_id="s"):
                        line.SerializeToString()
            tried += 1
    assert tried > 100
