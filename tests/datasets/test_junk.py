"""No converter raises for what is in a file: each part of a good record is spoilt in each way."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
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

OUTPUT: Final = {
    "type": "response_item",
    "payload": {
        "type": "function_call_output",
        "call_id": "a",
        "output": {"output": "a.py", "metadata": {"exit_code": 0}, "success": True},
    },
}

TEXT: Final = "JSON text"
"""The name of what was a JSON text."""

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
    "codex, outputs": [test_transcripts.CALL_A, OUTPUT],
    "gemini": [test_transcripts.HEAD, *test_transcripts.GEMINI],
    "otlp": [test_otlp.EXPORT],
}


def places(values: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Where a part of the records is, or of a JSON text in them."""
    return _within(_opened(values))


def _within(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
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
        yield from _within(part, (*place, key))


def spoilt(value: list[Any], place: tuple[Any, ...], junk: Any) -> list[Any]:
    """The records with junk in one place."""
    opened = _opened(copy.deepcopy(value))
    within = opened
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = junk
    closed: list[Any] = _closed(opened)
    return closed


def _opened(value: Any) -> Any:
    """The value with the JSON texts in it parsed, so that they can be spoilt within."""
    match value:
        case dict():
            return {key: _opened(part) for key, part in value.items()}
        case list():
            return [_opened(part) for part in value]
        case str() if value.startswith(("{", "[")):
            with suppress(ValueError):
                return {TEXT: _opened(json.loads(value))}
    return value


def _closed(value: Any) -> Any:
    match value:
        case {"JSON text": parsed}:
            return json.dumps(_closed(parsed), separators=(",", ":"))
        case dict():
            return {key: _closed(part) for key, part in value.items()}
        case list():
            return [_closed(part) for part in value]
    return value


def test_every_format_of_records_is_here() -> None:
    formats = {name.partition(",")[0] for name in GOOD}
    assert formats == set(FORMATS) - {"llm-agents-study"}


@pytest.mark.parametrize("name", GOOD)
def test_a_spoilt_record_is_never_an_exception(name: str) -> None:
    values = GOOD[name]
    convert = FORMATS[name.partition(",")[0]].convert
    tried = 0
    for place in places(values):
        for junk in JUNK:
            records = spoilt(values, place, junk)
            for finding in convert(document(*records, name="a/b/c/d.json")):
                if isinstance(finding, Recording):
                    for line in run_lines(finding, fold(finding), session_id="s"):
                        line.SerializeToString()
            tried += 1
    assert tried > 100
