"""What the tables of the signals share: turns from columns, readings as a word."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final

from sidecar.core.limits import Limits
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.snapshot import decode, encode
from sidecar.core.turn import Progress, ToolCall, Turn, Usage

PARTS: Final = (("usage", Usage), ("progress", Progress))
COUNTS_EVERY_TURN: Final = frozenset({"max_turns"})
"""Signals that a turn without measurements does not pass by."""


def turns(**columns: Sequence[Any]) -> list[Turn]:
    """Turns 1, 2, 3 ... from parallel columns, one a field of Turn, Usage or Progress.

    `turns(files_changed=[1, 0], reward=[0.5, None])`; None is the field's default, absent. `news`
    makes a call for each of its values, with a result that is new or not.
    """
    (length,) = {len(column) for column in columns.values()}
    return [
        _turn(place + 1, {name: column[place] for name, column in columns.items()})
        for place in range(length)
    ]


def _turn(sequence: int, row: dict[str, Any]) -> Turn:
    given = {name: value for name, value in row.items() if value is not None}
    for part, kind in PARTS:
        own = {field.name for field in fields(kind)} & given.keys()
        if own:
            given[part] = kind(**{name: given.pop(name) for name in own})
    news = given.pop("news", ())
    if news:
        call = ToolCall(name="read", call=bytes(8), result=bytes(8))
        given["tool_calls"] = (call,) * len(news)
        given["repeated"] = tuple(not each for each in news)
    return Turn(**{"sequence": sequence, **given})


def check_signal(
    signal: Signal[Any, Any],
    run: Sequence[Turn],
    readings: str,
    thresholds: Any = None,
    limits: Limits | None = None,
) -> list[Reading]:
    """Hold a signal's readings to a word with a letter a turn, and hand them back.

    `.` none, `n` notice, `w` warning, `b` break. The run is folded whole, turn by turn through a
    snapshot, and with turns between that measure nothing.
    """
    chosen = signal.defaults if thresholds is None else thresholds
    if limits is not None and signal.limited is not None:
        chosen = signal.limited(chosen, limits)
    whole = fold(signal, run, chosen)
    assert word(whole) == readings, f"read {word(whole)} whole, not {readings}"
    stored = fold_through_snapshots(signal, run, chosen)
    assert stored == whole, f"read {word(stored)} through snapshots, not {readings}"
    if signal.name not in COUNTS_EVERY_TURN:
        spread = word(fold(signal, interleaved(run), chosen))
        expected = "".join(f".{letter}." for letter in readings)
        assert spread == expected, f"read {spread} with unmeasured turns between, not {expected}"
    return whole


def fold(signal: Signal[Any, Any], run: Iterable[Turn], thresholds: Any) -> list[Reading]:
    """The readings of a run, in one go."""
    state, readings = signal.initial, []
    for turn in run:
        state, reading = signal.step(state, turn, thresholds)
        readings.append(reading)
    return readings


def fold_through_snapshots(
    signal: Signal[Any, Any], run: Iterable[Turn], thresholds: Any
) -> list[Reading]:
    """The readings of a run whose state is written and read back after every turn."""
    state, readings = signal.initial, []
    for turn in run:
        state, reading = signal.step(restored(state), turn, thresholds)
        readings.append(reading)
    return readings


def restored(state: Any) -> Any:
    """The state as it comes back from JSON text."""
    return decode(type(state), json.loads(json.dumps(encode(state))))


def interleaved(run: Sequence[Turn]) -> list[Turn]:
    """The run with a turn that measures nothing before and after each of its turns."""
    return [turn for own in run for turn in (unmeasured(own), own, unmeasured(own))]


def unmeasured(like: Turn) -> Turn:
    """A turn of the same sequence and actor that measured nothing."""
    return Turn(sequence=like.sequence, actor=like.actor)


def word(readings: Iterable[Reading]) -> str:
    """The readings as letters."""
    return "".join(_letter(reading) for reading in readings)


def _letter(reading: Reading) -> str:
    if reading.severity is Severity.NONE:
        assert not (reading.summary or reading.notice), "a reading of no severity says nothing"
        assert reading == QUIET or reading.share > 0, "what is measured is held against something"
        return "."
    assert reading.summary, "a raised reading has its evidence"
    if reading.notice:
        assert reading.severity is Severity.WARNING, "a notice is no break"
        return "n"
    return "w" if reading.severity is Severity.WARNING else "b"
