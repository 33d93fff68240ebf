"""The texts of the latest turns, in memory, as far as an operator allows: none by default.

They are for a forced commit whose caller sends no messages, and for the judge. They are written
nowhere, and gone with the session, the process, or the room that they take.
"""

import sys
from collections import OrderedDict, deque
from collections.abc import Mapping

from sidecar.core.texts import TurnTexts

TURNS_KEPT_MAX = 64
"""Of one session: as many as a judge is shown, and more than a forced commit has room for."""


class KeptTexts:
    """Keeps what fits; the session that is silent for longest gives way first, its oldest turn
    before the others."""

    def __init__(self, bytes_max: int = 0) -> None:
        """Room for so many bytes of memory over all sessions; 0: nothing is kept."""
        self._bytes_max = bytes_max
        self._bytes = 0
        self._turns: OrderedDict[str, deque[TurnTexts]] = OrderedDict()

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._bytes_max > 0

    def keep(self, session_id: str, texts: TurnTexts) -> None:
        """Keep the texts of a session's latest turn."""
        if not (self.keeps and any(texts.texts)):
            return
        turns = self._turns.setdefault(session_id, deque())
        self._turns.move_to_end(session_id)
        turns.append(texts)
        self._bytes += _bytes(texts)
        if len(turns) > TURNS_KEPT_MAX:
            self._bytes -= _bytes(turns.popleft())
        while self._bytes > self._bytes_max:
            self._make_room()

    def of(self, session_id: str) -> tuple[TurnTexts, ...]:
        """What is kept of a session, oldest first."""
        return tuple(self._turns.get(session_id, ()))

    def by_sequence(self, session_id: str) -> Mapping[int, TurnTexts]:
        """The same by the turns' sequences."""
        return {texts.sequence: texts for texts in self.of(session_id)}

    def forget(self, session_id: str) -> None:
        """The session is over."""
        for texts in self._turns.pop(session_id, ()):
            self._bytes -= _bytes(texts)

    def _make_room(self) -> None:
        longest_silent, turns = next(iter(self._turns.items()))
        self._bytes -= _bytes(turns.popleft())
        if not turns:
            del self._turns[longest_silent]


def _bytes(texts: TurnTexts) -> int:
    """What the texts take in memory; what holds them takes little beside."""
    return sum(map(sys.getsizeof, texts.texts))
