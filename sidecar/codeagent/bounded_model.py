"""A model whose calls are bounded in number, tokens and cost, for agents run by hand."""

from sidecar.models.purse import Purse, PurseBounds
from sidecar.ports import FailureKind, Model, ModelFailure, ModelReply, ModelRequest
from sidecar.refusal import Refusal
from sidecar.system_clock import SystemClock


class BoundedModel:
    """The port `Model` around another one. Where a bound is met it fails with RATE_LIMITED."""

    def __init__(self, model: Model, purse: Purse) -> None:
        """Ask `model` as far as the purse goes, which several models may share."""
        self._model = model
        self._purse = purse

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
        try:
            with self._purse.call(request.session_id) as charge:
                reply = await self._model.ask(request)
                charge(reply.spent)
                return reply
        except Refusal as refusal:
            raise ModelFailure(FailureKind.RATE_LIMITED, str(refusal), cost_usd=0.0) from refusal


def purse_by_day(bounds: PurseBounds) -> Purse:
    """One that keeps its accounts as long as this process lives, and by the machine's clock."""
    return Purse(bounds, clock=SystemClock())
