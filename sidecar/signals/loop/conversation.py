"""Talk with a person that goes nowhere: the same message over and over, or no tool for long.

These two look across a person's messages, which everything else starts afresh at: the person is
there, but being told the same again does not help them. So they only warn. A closing phrase after
work that was done is no such message, so what a call has taught starts the echo afresh.
"""

from struct import Struct
from typing import Final

from sidecar.core.turn import CallKind, Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to, in_turns
from sidecar.signals.loop.thresholds import MESSAGES_MAX, LoopThresholds
from sidecar.signals.loop.window import is_plain, is_talk

MESSAGE: Final = Struct("<8sI")
"""Digest of the message, turn."""
ECHO_LENGTH_MIN: Final = 21
"""Characters. Shorter messages ("Yes.", "Done.") answer many different things."""


@value
class Conversation:
    """What was said to a person."""

    messages: bytes = b""
    """Packed, oldest first: each message once for every message of the person it answered."""
    spoken_at: int = 0
    """Turn in which the person last spoke; 0: never."""
    exchanges: int = 0
    """Messages of the person since a tool was last called."""
    since: int = 0
    """Turn of the first of them."""
    has_called: bool = False
    """Whether a tool that acts was ever called."""
    told: bytes = b""
    """Digests, cut, of the tool and the result of the latest short answer."""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.messages) % MESSAGE.size:
            raise ValueError("the messages are cut")

    def after(self, turn: Turn) -> "Conversation":
        """The conversation after one more turn."""
        calls = bool(turn.tool_calls)
        if not turn.user_input and (
            self.has_called and not (self.exchanges or self.messages)
            if calls
            else not self._is_said(turn)
        ):
            return self
        exchanges = 0 if calls else self.exchanges + turn.user_input
        return Conversation(
            messages=self._heard(turn),
            spoken_at=turn.sequence if turn.user_input else self.spoken_at,
            exchanges=exchanges,
            since=(self.since or turn.sequence) if exchanges else 0,
            has_called=self.has_called or not all(map(is_talk, turn.tool_calls)),
            told=_told(turn) or self.told,
        )

    def echo(self, turn: Turn, limits: LoopThresholds) -> Finding | None:
        """The turn's message, when it was said to the person before."""
        if turn.tool_calls or turn.text is None or self.messages.count(turn.text) < 2:
            return None
        turns = tuple(
            sequence
            for text, sequence in MESSAGE.iter_unpack(self.messages)
            if text == turn.text and turn.sequence - sequence < limits.echo_window
        )
        return Finding(
            count=len(turns),
            warning=limits.echo_warning,
            break_=None,
            summary=f"the same message was the answer to {len(turns)} different messages of a "
            f"person ({in_turns(turns)})",
            since=turns[0] if turns else turn.sequence,
        )

    def dialogue(self, turn: Turn, limits: LoopThresholds) -> Finding | None:
        """The exchanges without a tool so far, in a turn that adds one."""
        if not turn.user_input or not self.exchanges or not self.has_called:
            return None
        return Finding(
            count=self.exchanges,
            warning=limits.dialogue_warning,
            break_=None,
            summary=f"{self.exchanges} messages of a person were answered without calling a tool "
            f"({from_to(self.since, turn.sequence)})",
            since=self.since,
        )

    def _tells_otherwise(self, turn: Turn) -> bool:
        """Whether a tool answers in short, and otherwise than it did before: a price, a balance.
        What is then said differs as well, though it may be in numbers alone."""
        told = _told(turn)
        return bool(told) and self.told[:4] == told[:4] and self.told != told

    def _is_said(self, turn: Turn) -> bool:
        return turn.text is not None and turn.text_length >= ECHO_LENGTH_MIN

    def _heard(self, turn: Turn) -> bytes:
        """The messages with this turn's; one said twice to the same message counts once."""
        if turn.tool_calls:
            return b"" if _teaches(turn) or self._tells_otherwise(turn) else self.messages
        if turn.text is None or not self._is_said(turn):
            return self.messages
        spoken_at = turn.sequence if turn.user_input else self.spoken_at
        for text, sequence in MESSAGE.iter_unpack(self.messages):
            if text == turn.text and sequence >= spoken_at:
                return self.messages
        said = MESSAGE.pack(turn.text, turn.sequence & 0xFFFFFFFF)
        return (self.messages + said)[-MESSAGES_MAX * MESSAGE.size :]


def _told(turn: Turn) -> bytes:
    """The latest short answer of the turn's calls; empty: none."""
    for call in reversed(turn.tool_calls):
        if call.informs and call.result is not None and not is_plain(call):
            return call.tool[:4] + call.result[:4]
    return b""


def _teaches(turn: Turn) -> bool:
    return any(
        news and (is_plain(call) or call.kind is CallKind.WRITE)
        for call, news in zip(turn.tool_calls, turn.news, strict=False)
    )


UNSPOKEN: Final = Conversation()
