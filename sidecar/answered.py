"""What was answered to the latest turns, so that a turn sent twice gets the same decision again."""

from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, decision_id

CONTENT_BYTES = 8
_STATES = tuple(State)
_STATE_INDEX = {state: index for index, state in enumerate(_STATES)}


class Answered:
    """A ring over the last turns of one session.

    Nearly every decision is a plain proceed, which is rebuilt from two states; only the others are
    kept whole. So 256 turns cost 10 bytes each instead of a kilobyte.
    """

    __slots__ = ("_contents", "_kept_max", "_last", "_others", "_states")

    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._last = 0
        self._contents = bytearray()
        self._states = bytearray()
        self._others: dict[int, Decision] = {}

    def remember(self, content: bytes, decision: Decision) -> None:
        """Keep the answer to the next turn. A gap in the sequence forgets what was before it."""
        sequence = decision.sequence
        if sequence != self._last + 1:
            self._contents.clear()
            self._states.clear()
            self._others.clear()
        self._last = sequence
        self._contents += content
        self._states.append(
            _STATE_INDEX[decision.state_before] * len(_STATES) + _STATE_INDEX[decision.state]
        )
        if not decision.is_plain:
            self._others[sequence] = decision
        if len(self._states) > self._kept_max:
            del self._contents[:CONTENT_BYTES]
            del self._states[:1]
            self._others.pop(sequence - self._kept_max, None)

    def find(
        self, sequence: int, *, session_id: str, revision: str
    ) -> tuple[bytes, Decision] | None:
        """The content and the decision of a turn; None when it is kept no more."""
        at = sequence - (self._last - len(self._states) + 1)
        if not 0 <= at < len(self._states):
            return None
        content = bytes(self._contents[at * CONTENT_BYTES : (at + 1) * CONTENT_BYTES])
        before, after = divmod(self._states[at], len(_STATES))
        return content, self._others.get(sequence) or Decision(
            decision_id=decision_id(session_id, sequence, Cause.TURN, revision),
            sequence=sequence,
            cause=Cause.TURN,
            state=_STATES[after],
            state_before=_STATES[before],
            policy_revision=revision,
        )
