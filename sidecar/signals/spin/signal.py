"""spin: one error, again and again.

Each distinct fingerprint has one vote a turn, and its level is read only in turns that have the
error. The founding documents count over the whole run. Recorded runs say otherwise: the same error
three times anywhere is found in 9 % of the runs that end well, so by default it must come back
within a few tries, and three things show that the agent is moving: the call that had failed with it
succeeds, or fails with the same error at another line, or fewer tests fail than ever before.

A try is a turn that did more than write: most agents edit in one turn and test in the next, and
would otherwise have half of every window filled with turns in which the error cannot come. A
break counts plain turns all the same: through edits a run may still be getting there. Nor is there
one where ever other calls failed that were to write nothing: who goes through a list, of which much
is missing, refused or broken in the same way, meets one error over and over and is right to go on.

What fails when it is looked at again after a pause, with nothing changed since, does not count:
`loop` has the patience that a wait needs. A person's message starts the window afresh. An error
that comes back after each of several messages is another matter: it is only warned of, since the
person is there to see it.
"""

import re
from collections.abc import Iterator
from struct import Struct
from typing import Final

from sidecar.core.bounds import below, require_at_least
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import CallKind, Failure, Outcome, ResultKind, Turn
from sidecar.core.value import value
from sidecar.core.words import Measure, Words
from sidecar.signals.notes import without_notes
from sidecar.signals.spin.error import (
    ERROR,
    ERRORS_MAX,
    MASK,
    TURNS_MAX,
    Error,
    Vote,
    taken,
    without_mended,
)

TURN: Final = Struct("<I")
KIND_LENGTH_MAX: Final = 64
FULL_CONTEXT: Final = re.compile(r"context.?(?:window|length)", re.IGNORECASE | re.ASCII)
"""In the kind of an error by which a model's API says that the prompt is too long."""
TRIES_TO_FIT: Final = 10
"""Turns in which it may come back, at least: whoever runs the agent shortens the prompt and tries
again, so each try is another one, and nothing that the agent is told could help. OpenHands stops
such a run at the tenth."""


@value
class SpinThresholds:
    """Turns with one error; None: never. A window of None is the whole run, where neither success
    nor another line makes a difference. Within a window an error whose kind says that the context
    is full takes 10 turns at least."""

    warning: int | None = 4
    warning_window: int | None = 6
    """In tries."""
    break_: int | None = 5
    break_window: int | None = 8
    """In turns."""
    talk_warning: int | None = 3
    """Different messages of a person after which the error came back."""
    talk_window: int = 12
    """In turns."""

    def __post_init__(self) -> None:
        """Refuse fewer than 1 turn, and windows beyond what is remembered."""
        windows = {
            "warning_window": self.warning_window,
            "break_window": self.break_window,
            "talk_window": self.talk_window,
        }
        require_at_least(
            1, warning=self.warning, break_=self.break_, talk_warning=self.talk_warning, **windows
        )
        for name, window in windows.items():
            if window is not None and window > TURNS_MAX:
                raise ValueError(f"{name} is {window}: it must be at most {TURNS_MAX}")


FOUNDING: Final = SpinThresholds(
    warning=3, warning_window=None, break_=5, break_window=None, talk_warning=None
)
"""The founding circuit breaker: 3 and 5 turns of the whole run."""
EXECUTE: Final = SpinThresholds(
    warning=None, warning_window=None, break_=3, break_window=None, talk_warning=None
)
"""The founding profile for single tasks: the third time a person is asked."""


@value
class SpinState:
    """The errors so far, and the turns since the first of them."""

    errors: bytes = b""
    """Packed as ERROR, the latest last."""
    turns: int = 0
    spoken: int = 0
    """Bit set of turns before which a person spoke, the latest turn lowest."""
    tried: int = 0
    """Bit set of the turns that are tries."""
    sequences: bytes = b""
    """Of the latest turns, packed as TURN, the latest last."""
    worked: bool = True
    """Whether something was changed since the latest error; so it is before the first."""
    paused: bool = False
    """Whether the run waited since the latest error."""
    called: bool = False
    """Whether a tool was called since the first error."""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.errors) % ERROR.size or len(self.sequences) % TURN.size:
            raise ValueError("the packed errors are cut")


def _step(state: SpinState, turn: Turn, limits: SpinThresholds) -> tuple[SpinState, Reading]:
    turn = without_notes(turn)
    if not turn.failures and (_is_over(state) or not _is_measured(turn)):
        return state, QUIET
    errors, turns = state.errors, state.turns + 1
    if errors and turn.tool_calls:
        errors = without_mended(errors, turn)
    found: list[tuple[Error, Failure]] = []
    worked, paused = state.worked or _works(turn), state.paused or _pauses(turn)
    called = state.called or bool(turn.tool_calls)
    looks_again = paused and not worked
    for vote in () if looks_again else _votes(turn, worked=worked):
        entry, errors = taken(errors, vote.failure.fingerprint)
        entry = entry.again(vote, turns, improved=turn.improved)
        errors = (errors + entry.packed())[-ERRORS_MAX * ERROR.size :]
        found.append((entry, vote.failure))
    after = SpinState(
        errors=errors,
        turns=turns,
        spoken=(state.spoken << 1 | turn.user_input) & MASK,
        tried=(state.tried << 1 | _tries(turn, called=called)) & MASK,
        sequences=(state.sequences + TURN.pack(turn.sequence & MASK))[-TURNS_MAX * TURN.size :],
        worked=worked and not turn.failures,
        paused=paused and not turn.failures,
        called=called,
    )
    readings = (
        reading for entry, failure in found for reading in _readings(entry, failure, after, limits)
    )
    return after, max(readings, key=_weight, default=QUIET)


def _is_over(state: SpinState) -> bool:
    """Whether the latest error, if any, came before every window: until the next one the turns
    need not be counted."""
    if not state.errors:
        return True
    latest: int = ERROR.unpack_from(state.errors, len(state.errors) - ERROR.size)[4]
    return state.turns - latest >= TURNS_MAX


def _is_measured(turn: Turn) -> bool:
    return bool(turn.failures or turn.tool_calls or turn.text is not None or turn.user_input)


def _tries(turn: Turn, *, called: bool) -> bool:
    """Whether the turn did more than write or, of an agent that has called tools, than talk."""
    return bool(turn.failures or not (turn.tool_calls or called)) or any(
        call.kind is not CallKind.WRITE or call.outcome is not Outcome.OK
        for call in turn.tool_calls
    )


def _pauses(turn: Turn) -> bool:
    """Whether the turn waited for a while."""
    return any(
        call.kind is CallKind.WAIT and call.outcome is Outcome.OK for call in turn.tool_calls
    )


def _works(turn: Turn) -> bool:
    """Whether the turn changed something."""
    return bool(turn.progress.files_changed) or any(
        call.kind is CallKind.WRITE and call.outcome is Outcome.OK for call in turn.tool_calls
    )


def _votes(turn: Turn, *, worked: bool) -> Iterator[Vote]:
    """One for each distinct error of the turn, but for a wait that fails: it is not over yet, and
    `loop` has the patience that it needs. What still does not start after something `worked` is
    another failure."""
    failed = [call for call in turn.tool_calls if call.outcome is Outcome.ERROR]
    if not failed and len(turn.tool_calls) == 1:
        failed = list(turn.tool_calls)
    voted = set()
    for place, failure in enumerate(turn.failures):
        if failure.fingerprint in voted:
            continue
        voted.add(failure.fingerprint)
        if not failed:
            yield Vote(failure=failure)
            continue
        call = failed[place if len(failed) == len(turn.failures) else 0]
        waits = call.result_kind is ResultKind.RUNNING and not worked
        if call.kind is not CallKind.WAIT and not waits:
            yield Vote.of(failure, call)


def _readings(
    entry: Error, failure: Failure, state: SpinState, limits: SpinThresholds
) -> Iterator[Reading]:
    """The error held against each limit."""
    what = f"the same error{_kind(failure)}"
    least = TRIES_TO_FIT if FULL_CONTEXT.search(failure.kind) else 0
    for severity, limit, window, unit, bits in (
        (Severity.BREAK, limits.break_, limits.break_window, "turns", MASK),
        (Severity.WARNING, limits.warning, limits.warning_window, "tries", state.tried),
    ):
        if limit is None:
            continue
        if window is not None and limit < least:
            limit, window = least, min(window + least - limit, TURNS_MAX)
        came = entry.came if window is None else entry.counted & _recent(state, window, of=bits)
        count = entry.total if window is None else came.bit_count()
        if window is not None and severity is Severity.BREAK and entry.is_of_a_list(came):
            continue
        if count < limit:
            yield below(count, limit)
        else:
            last = min(window or TURNS_MAX, state.turns, bits.bit_count())
            span = "turns of this run" if window is None else f"of the last {last} {unit}"
            yield Reading(
                severity=severity,
                value=count,
                threshold=limit,
                summary=f"{what} came in {count} {span}{_from(entry, came, window)} "
                f"({_listed(came, count, state.sequences)})",
            )
    talk_warning = limits.talk_warning and max(limits.talk_warning, least)
    if talk_warning is not None and state.spoken:
        came = _first_of_each(entry.counted, state.spoken, limits.talk_window)
        count = came.bit_count()
        if count < talk_warning:
            yield below(count, talk_warning)
        else:
            yield Reading(
                severity=Severity.WARNING,
                value=count,
                threshold=talk_warning,
                summary=f"{what} came back after each of {count} messages of a person "
                f"({_listed(came, count, state.sequences)})",
            )


def _weight(reading: Reading) -> tuple[Severity, float]:
    """Of equally severe readings the one of more turns is told, of none the nearest."""
    return reading.severity, reading.value if reading.severity else reading.share


def _from(entry: Error, came: int, window: int | None) -> str:
    """Words for a reader who is to judge whether it is a list that is gone through."""
    return ", each from another call" if window is not None and entry.is_of_a_list(came) else ""


def _recent(state: SpinState, count: int, *, of: int) -> int:
    """Bit set of the turns since the `count`-th latest of the set `of`, or since a person last
    spoke."""
    turns = 0
    for _ in range(count):
        turns |= of ^ of - 1  # up to the latest that is left; with none, all
        of &= of - 1
    if not state.spoken:
        return turns
    latest = state.spoken & -state.spoken
    return turns & (latest << 1) - 1


def _first_of_each(counted: int, spoken: int, window: int) -> int:
    """Bit set of the latest turn with the error in each stretch between a person's messages."""
    kept, taken = 0, False
    for turn in range(window):
        bit = 1 << turn
        if counted & bit and not taken:
            kept, taken = kept | bit, True
        if spoken & bit:
            taken = False
    return kept


def _listed(came: int, count: int, sequences: bytes) -> str:
    """The turns of a bit set in words; where the run had more than are remembered, the latest."""
    known = [sequence for (sequence,) in TURN.iter_unpack(sequences)]
    turns = [sequence for ago, sequence in enumerate(reversed(known)) if came >> ago & 1]
    listed = ", ".join(str(turn) for turn in reversed(turns))
    return f"turns {listed}" if len(turns) == count else f"the latest in turns {listed}"


def _kind(failure: Failure) -> str:
    name = "".join(c for c in failure.kind[:KIND_LENGTH_MAX] if c.isprintable() and c != "`")
    return f" (`{name}`)" if name else ""


WORDS: Final = Words(
    measured="one error, by its masked fingerprint, counted once a turn",
    raised_by="fixes that do not reach the cause",
    diagnosis="The run meets the same error again and again; its fixes do not reach the cause.",
    suggestions=(
        "write a new file instead of editing this one",
        "replace the function instead of fixing it",
        "use another library",
        "change the caller instead",
    ),
    measures=(Measure(words="same error {value}x"),),
)

SPIN: Final = Signal(
    name="spin",
    words=WORDS,
    defaults=SpinThresholds(),
    initial=SpinState(),
    step=_step,
    state_bytes_max=4096,
)
