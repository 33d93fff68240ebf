"""What a run has seen: the one memory behind "did this call teach anything?"

Loop and stall both need it, so the fold asks once and writes the answer into `Turn.repeated`; and
into `Turn.improved` whether fewer tests failed than before, which loop and spin ask.
"""

from sidecar.core.packed import position
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value

PAIRS_MAX = 64
"""Look-back in calls. The prototype detector used 64 on 916 recorded runs; the longest cycle seen
there came round within 30 calls."""

KEY_BYTES = 8
"""Four of the call's and four of its result's: enough to tell 64 pairs apart. That a call got a new
result and it is taken for an old one happens once in 2^26 calls that come back, and makes that call
teach nothing."""
NO_RESULT = bytes(4)


@value
class Memory:
    """The last (call, result) pairs of one actor, oldest first, packed."""

    pairs: bytes = b""
    fewest_failed: int | None = None
    """Tests that failed in the best turn since a person spoke; None: none said."""

    def look(self, turn: Turn) -> tuple["Memory", Turn]:
        """The memory after the turn, and the turn with what it repeats."""
        before = FORGETFUL if turn.user_input else self
        pairs, fewest = before.pairs, before.fewest_failed
        failed = turn.progress.tests_failed
        if failed is not None and (fewest is None or failed < fewest):
            if fewest is not None:
                turn = replace(turn, improved=True)
            before, fewest = Memory(pairs=pairs, fewest_failed=failed), failed
        if not turn.tool_calls:
            return before, turn
        repeated = []
        for call in turn.tool_calls:
            key = call.call[:4] + (call.result[:4] if call.result else NO_RESULT)
            repeated.append(position(pairs, key, KEY_BYTES) >= 0)
            pairs += key
        # Copying a turn costs more than all the rest here, and most turns repeat nothing.
        if True in repeated:
            turn = replace(turn, repeated=tuple(repeated))
        return Memory(pairs=pairs[-PAIRS_MAX * KEY_BYTES :], fewest_failed=fewest), turn


FORGETFUL = Memory()
