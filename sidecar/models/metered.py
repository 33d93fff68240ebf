"""A model whose calls are admitted, charged and recorded."""

from sidecar.health import Component
from sidecar.models.purse import Purse
from sidecar.ports import (
    Clock,
    Model,
    ModelCall,
    ModelFailure,
    ModelReply,
    ModelRequest,
    Recorder,
    Server,
)

CANCELLED = "cancelled"


class MeteredModel:
    """The port `Model` around another one."""

    def __init__(
        self,
        model: Model,
        *,
        purse: Purse,
        recorder: Recorder,
        clock: Clock,
        component: Component | None = None,
        server: Server | None = None,
    ) -> None:
        """Ask `model`, as far as `purse` allows. `component` is told how each call went; None:
        nobody is. `server` is where the model is asked; None: not known."""
        self._model = model
        self._purse = purse
        self._recorder = recorder
        self._clock = clock
        self._component = component
        self._server = server

    @property
    def name(self) -> str:
        """The model as its API names it."""
        return self._model.name

    @property
    def window_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        return self._model.window_tokens

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask once. Raises ModelFailure, and Refusal before anything was asked where a bound is
        met."""
        with self._purse.call(request.session_id, request.purpose) as charge:
            began_s = self._clock.now_s()
            outcome, reply = CANCELLED, None
            try:
                reply = await self._model.ask(request)
                outcome = reply.stop.value
                charge(reply.spent)
                self._went_well()
                return reply
            except ModelFailure as failure:
                outcome = failure.kind.value
                self._failed(failure)
                raise
            finally:
                self._recorder.asked(
                    ModelCall(
                        model=self._model.name,
                        purpose=request.purpose,
                        session_id=request.session_id,
                        output_tokens_max=request.output_tokens_max,
                        began_s=began_s,
                        ended_s=max(began_s, self._clock.now_s()),
                        outcome=outcome,
                        spent=reply.spent if reply else None,
                        stop_reason=reply.stop_reason if reply else "",
                        server=self._server,
                        reply_model=reply.model if reply else "",
                        reply_id=reply.id if reply else "",
                    )
                )

    def _went_well(self) -> None:
        if self._component is not None:
            self._component.ok()

    def _failed(self, failure: ModelFailure) -> None:
        if self._component is not None:
            self._component.recoverable(f"{self._model.name}: {failure}")
