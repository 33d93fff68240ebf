"""What was said in one turn, word for word, where somebody allowed the sidecar to keep it.

Nothing of it is folded, journalled or shown: it is for a model that is asked about the run.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sidecar.core.value import value


@value
class CallTexts:
    """One call of a tool."""

    name: str
    arguments: str = ""
    """As JSON."""
    result: str = ""
    """Empty: none was reported."""


@value
class TurnTexts:
    """The texts of one turn."""

    sequence: int
    said: str = ""
    calls: tuple[CallTexts, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them."""
        calls = (text for call in self.calls for text in (call.name, call.arguments, call.result))
        return (self.said, *calls)


def messages_of(turns: Iterable[TurnTexts]) -> list[Mapping[str, Any]]:
    """The turns as messages of the Anthropic shape: what the assistant said and called, and what
    came back."""
    return [message for turn in turns for message in _messages(turn)]


def _messages(turn: TurnTexts) -> Iterator[Mapping[str, Any]]:
    said = [{"type": "text", "text": turn.said}] if turn.said else []
    called = [
        {"type": "tool_use", "id": str(at), "name": call.name, "input": call.arguments}
        for at, call in enumerate(turn.calls)
    ]
    if said or called:
        yield {"role": "assistant", "content": [*said, *called]}
    results = [
        {"type": "tool_result", "tool_use_id": str(at), "content": call.result}
        for at, call in enumerate(turn.calls)
        if call.result
    ]
    if results:
        yield {"role": "user", "content": results}
