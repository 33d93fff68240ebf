"""A model that says what it was told to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sidecar.adapters.anthropic_model import STOPS, WINDOW_TOKENS, kind_of_status
from sidecar.models.prices import DEFAULT_MODEL, PRICES, SEARCH_USD
from sidecar.ports import (
    FailureKind,
    ModelFailure,
    ModelReply,
    ModelRequest,
    Spent,
    Stop,
    Tool,
)
from sidecar.testing.api_rules import fault_of
from sidecar.testing.model_script import Call, Fail, HangUp, Raw, Say, Script, ScriptOver, Step


class FakeModel:
    """The port `Model`, without a network or a wait.

    tests/edges/test_models.py holds it to what the real one does. It never tries again, so one
    step answers one request.
    """

    def __init__(
        self,
        steps: Iterable[Step] | Callable[[ModelRequest], Step],
        *,
        name: str = DEFAULT_MODEL,
        window_tokens: int = WINDOW_TOKENS,
    ) -> None:
        """Reply by the steps in their order, or by what the function makes of each request; after
        the last it fails with SERVER_ERROR. What the API would refuse uses up no step."""
        self._script: Script[ModelRequest] = Script(steps)
        self._name = name
        self._window_tokens = window_tokens
        self.requests: list[ModelRequest] = []
        """What it was asked."""

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def window_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        return self._window_tokens

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The next reply of the script. Raises ModelFailure."""
        self.requests.append(request)
        if fault := self._fault(request):
            raise ModelFailure(FailureKind.INVALID_REQUEST, fault)
        try:
            step = self._script.next(request)
        except ScriptOver:
            raise ModelFailure(FailureKind.SERVER_ERROR, "the script is over") from None
        match step:
            case Say() if step.delay_s <= request.timeout_s and request.timeout_s > 0:
                return self._reply(step, request)
            case Say():
                raise ModelFailure(FailureKind.TIMEOUT, latency_s=request.timeout_s)
            case Fail():
                raise ModelFailure(kind_of_status(step.status), step.message)
            case Raw():
                raise ModelFailure(FailureKind.UNREADABLE)
            case HangUp():
                raise ModelFailure(FailureKind.CONNECTION)

    def _fault(self, request: ModelRequest) -> str:
        body = {"model": self._name, "max_tokens": request.output_tokens_max}
        tools = [] if request.tool is None else [request.tool.name]
        return fault_of({**body, "messages": list(request.messages), "tools": tools})

    def _reply(self, said: Say, request: ModelRequest) -> ModelReply:
        searches = said.searches if request.searches_max else ()
        tokens = {
            "input_tokens": said.input_tokens + said.cache_read_tokens + said.cache_write_tokens,
            "output_tokens": said.output_tokens,
            "cache_read_tokens": said.cache_read_tokens,
            "cache_write_tokens": said.cache_write_tokens,
        }
        price = PRICES.get(self._name)
        searched_usd = SEARCH_USD * len(said.searches)
        return ModelReply(
            text=said.text,
            tool_input=next((call.input for call in _asked_for(said.calls, request.tool)), None),
            stop=STOPS.get(stop_reason(said), Stop.OTHER),
            stop_reason=stop_reason(said),
            spent=Spent(
                **tokens,
                searches=len(said.searches),
                cost_usd=None if price is None else price.cost_usd(**tokens) + searched_usd,
                latency_s=said.delay_s,
            ),
            model=self._name,
            id=f"msg_{len(self.requests)}",
            # What stands in no text is quoted by none.
            found=tuple(
                page if said.text else replace(page, text="")
                for search in searches
                if not search.error
                for page in search.found
            ),
            search_error=next((search.error for search in searches if search.error), ""),
        )


def stop_reason(said: Say) -> str:
    """Why the API would say that the model stopped."""
    return said.stop_reason or ("tool_use" if said.calls else "end_turn")


def _asked_for(calls: Sequence[Call], tool: Tool | None) -> list[Call]:
    return [call for call in calls if tool is not None and call.name == tool.name]
