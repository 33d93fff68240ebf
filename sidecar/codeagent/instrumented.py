"""A model and a run's tools, each with a span and measurements around every call."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecar.codeagent.instruments import Instruments, Invocation
from sidecar.codeagent.runner.step import Toolbox, ToolRefused, ToolSpec
from sidecar.ports import Model, ModelFailure, ModelReply, ModelRequest

OTHER: Final = "_OTHER"
"""For a tool that there is not: its name is the code's, and could be anything."""
REFUSED: Final = "refused"


class InstrumentedModel:
    """The port `Model` around another one."""

    def __init__(
        self, model: Model, instruments: Instruments, run: Invocation | None = None
    ) -> None:
        """Ask `model`; `run` is what the calls are counted for, if they belong to one."""
        self._model = model
        self._instruments = instruments
        self._run = run

    @property
    def name(self) -> str:
        """The model as its API names it."""
        return self._model.name

    @property
    def window_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        return self._model.window_tokens

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask once. Raises ModelFailure."""
        with self._instruments.chat(request, self._model.name, self._run) as chat:
            try:
                reply = await self._model.ask(request)
            except ModelFailure as failure:
                chat.error = failure.kind.value
                raise
            self._instruments.replied(chat, reply)
            return reply


class InstrumentedToolbox:
    """A run's tools."""

    def __init__(self, box: Toolbox, instruments: Instruments, run: Invocation) -> None:
        """Those of `box`, for that run."""
        self._box = box
        self._instruments = instruments
        self._run = run
        self._names = frozenset(spec.name for spec in box.specs)

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Each of them."""
        return self._box.specs

    async def call(self, name: str, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """Call one. Raises ToolRefused."""
        shown = name if name in self._names else OTHER
        with self._instruments.tool(shown, self._run) as tool:
            try:
                return await self._box.call(name, arguments, content)
            except ToolRefused:
                tool.error = REFUSED
                raise
