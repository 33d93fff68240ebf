"""The metrics of the sidecar's own model calls, and of what came of them."""

from sidecar.adapters.semconv import metrics as inventory
from sidecar.adapters.telemetry.families import Families
from sidecar.adapters.telemetry.label_values import LabelValues
from sidecar.adapters.telemetry.run_metrics import NAMES_MAX, NO_SIGNAL
from sidecar.ports import ModelCall


class ModelMetrics:
    """Counts model calls. No method blocks or raises."""

    def __init__(self, families: Families, *, label_values_max: int) -> None:
        """Register the metrics; bound the label `model` to `label_values_max` values."""
        self._models = LabelValues(label_values_max)
        self._names = LabelValues(NAMES_MAX)
        self._calls = families.children(inventory.MODEL_CALLS)
        self._duration = families.histogram(inventory.MODEL_CALL_DURATION)
        self._tokens = families.children(inventory.MODEL_TOKENS)
        self._cost = families.children(inventory.MODEL_COST_USD)
        self._commits = families.children(inventory.FORCED_COMMITS)
        self._reviews = families.children(inventory.REVIEWS)
        self._verdicts = families.children(inventory.JUDGE_VERDICTS)

    def asked(self, call: ModelCall) -> None:
        """A model was asked."""
        purpose, model = call.purpose.value, self._models.fold(call.model)
        self._calls[purpose, model, self._names.fold(call.outcome)].inc()
        self._duration.observe(call.ended_s - call.began_s)
        if call.spent is None:
            return
        for kind, tokens in (
            ("input", call.spent.input_tokens),
            ("output", call.spent.output_tokens),
            ("cache_read", call.spent.cache_read_tokens),
            ("cache_write", call.spent.cache_write_tokens),
        ):
            if tokens > 0:
                self._tokens[purpose, model, kind].inc(tokens)
        if call.spent.cost_usd:
            self._cost[purpose, model].inc(call.spent.cost_usd)

    def committed(self, source: str, signal: str) -> None:
        """A forced commit was made."""
        self._commits[source.lower(), self._names.fold(signal) if signal else NO_SIGNAL].inc()

    def reviewed(self, verdict: str) -> None:
        """An answer was reviewed."""
        self._reviews[(verdict.lower(),)].inc()

    def judged(self, verdict: str) -> None:
        """A run was to be judged."""
        self._verdicts[(self._names.fold(verdict),)].inc()
