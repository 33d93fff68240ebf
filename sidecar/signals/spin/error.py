"""The errors that a run remembers, packed: what came when, and with which call."""

from struct import Struct
from typing import Final

from sidecar.core.packed import position
from sidecar.core.turn import CallKind, Failure, Outcome, ToolCall, Turn
from sidecar.core.value import value

ERRORS_MAX: Final = 64
"""Errors remembered; the one that came longest ago is dropped. An error that 64 others have come
after is not what a run spins on, and the recorded runs had 11 at most."""
TURNS_MAX: Final = 32
"""Turns remembered one by one, as bits of a number: the widest window."""
ERROR: Final = Struct("<8s4s4sIIIII")
"""Fingerprint; place and failed call of the latest, cut to tell 64 apart; turns with it in the
run; count of turns at the latest; and three bit sets, the latest turn lowest: all turns with it,
those that count within a window, and those in which another call failed than the time before, none
that was to write."""
UNKNOWN: Final = bytes(4)
"""Which call failed is not known."""
MASK: Final = (1 << TURNS_MAX) - 1


@value
class Vote:
    """One error of a turn, with the call that failed with it as far as it is known."""

    failure: Failure
    call: bytes = UNKNOWN
    place: bytes = UNKNOWN
    """Of the error: its strict fingerprint and the lines that the call's result names."""
    wrote: bool = False
    """Whether the call was to change something."""

    @staticmethod
    def of(failure: Failure, call: ToolCall) -> "Vote":
        """The vote for an error that this call failed with."""
        strict, named = _cut(failure.strict), _cut(call.error_position)
        place = int.from_bytes(strict) ^ int.from_bytes(named)
        return Vote(
            failure=failure,
            call=_cut(call.call),
            place=place.to_bytes(4),
            wrote=call.kind is CallKind.WRITE,
        )


@value
class Error:
    """One remembered error, unpacked."""

    fingerprint: bytes
    place: bytes = UNKNOWN
    call: bytes = UNKNOWN
    total: int = 0
    turn: int = 0
    """Count of turns when it last came."""
    came: int = 0
    counted: int = 0
    otherwise: int = 0
    """These three are bit sets, as in ERROR."""

    def packed(self) -> bytes:
        """As an entry of SpinState.errors."""
        return ERROR.pack(
            self.fingerprint,
            self.place,
            self.call,
            min(self.total, MASK),
            self.turn & MASK,
            self.came,
            self.counted,
            self.otherwise,
        )

    def is_of_a_list(self, turns: int) -> bool:
        """Whether in each of these turns, but for the first of them, another call failed with it
        than the time before."""
        first = 1 << max(0, turns.bit_length() - 1)
        return turns & ~first & ~self.otherwise == 0 and turns != first

    def again(self, vote: Vote, turn: int, *, improved: bool) -> "Error":
        """The error once it has come in this turn too. The same call failing at another line is
        the same error, but it does not count: something moved. Nor does one of a turn that
        `improved` what the tests say."""
        known = self.total > 0 and UNKNOWN not in (vote.call, self.call)
        moved = known and vote.call == self.call and vote.place != self.place
        otherwise = known and vote.call != self.call and not vote.wrote
        passed = min(max(turn - self.turn, 0), TURNS_MAX)
        return Error(
            fingerprint=self.fingerprint,
            place=vote.place,
            call=vote.call,
            total=self.total + 1,
            turn=turn,
            came=(self.came << passed | 1) & MASK,
            counted=(self.counted << passed | (not moved and not improved)) & MASK,
            otherwise=(self.otherwise << passed | otherwise) & MASK,
        )


def _cut(digest: bytes) -> bytes:
    return digest[:4].ljust(4, b"\0")


def taken(errors: bytes, fingerprint: bytes) -> tuple[Error, bytes]:
    """The remembered error, a new one where there is none, and the errors without it."""
    key = fingerprint[:8].ljust(8, b"\0")
    at = position(errors, key, ERROR.size)
    if at < 0:
        return Error(fingerprint=key), errors
    _, place, call, total, turn, came, counted, otherwise = ERROR.unpack_from(errors, at)
    entry = Error(
        fingerprint=key,
        place=place,
        call=call,
        total=total,
        turn=turn,
        came=came,
        counted=counted,
        otherwise=otherwise,
    )
    return entry, errors[:at] + errors[at + ERROR.size :]


def without_mended(errors: bytes, turn: Turn) -> bytes:
    """The errors, those no longer counted whose failed call succeeded in this turn."""
    if turn.failures and all(call.outcome is not Outcome.ERROR for call in turn.tool_calls):
        return errors  # which of the calls the failures belong to is not known
    for call in turn.tool_calls:
        key = call.call[:4]
        if call.outcome is not Outcome.OK or key not in errors:
            continue
        key = _cut(key)
        errors = b"".join(
            ERROR.pack(*parts[:-2], *((0, 0) if parts[2] == key else parts[-2:]))
            for parts in ERROR.iter_unpack(errors)
        )
    return errors
