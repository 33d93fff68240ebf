"""Which exporter the standard OTEL_* variables ask for.

Without any of them nothing is exported, as OpenTelemetry's own configurator for Python has it: a
sidecar on a machine without a collector should not knock at localhost:4317 for ever and report
losses. An endpoint alone is enough to switch it on, and so is OTEL_TRACES_EXPORTER=otlp.

Whatever is wrong with them is reported and exports nothing, but stops nobody: they are often
inherited from the agent's own environment, and the agent must not suffer for them.
"""

import logging
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Generic, TypeVar
from urllib.parse import urlsplit

from opentelemetry.sdk import environment_variables as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult

logger = logging.getLogger(__name__)

TIMEOUT_S: Final = 5.0
"""For one batch, retries included, where no variable says otherwise (the standard has 10): a
collector that does not answer has to show in the status within 10 s."""

TIMEOUT_MAX_S: Final = 8.0
"""Whatever the variables say, for the same reason: with DELAY_S that leaves a second. The standard
and most SDKs count OTEL_EXPORTER_OTLP_TIMEOUT in milliseconds, this one in seconds, and their
10,000 would be three hours."""

DELAY_S: Final = 1.0
"""Between batches (the standard has 5), for the same reason; a trace is also seen sooner."""

DELAY_MAX_S: Final = 60.0
"""Whatever the variables say: a delay that never ends would be a queue that fills and is not told
of."""

DIGITS_MAX: Final = 12
"""Of a number in OTEL_BSP_*: enough for 30 years in milliseconds."""

BATCH_MAX: Final = 512
"""Spans of a batch, as the standard has it."""

GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
EXPORTERS: Final = "it must be otlp, console or none, or some of them with commas between"
PROTOCOLS: Final = "it must be grpc or http/protobuf"
FILES: Final = ("CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE")
CREDENTIALS: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
)
"""Of the SDK for Python: what makes the HTTP session."""
HEADERS: Final = "it must be NAME=VALUE, or several with commas between, each value URL-encoded"
OWN: Final = "the OTLP endpoint is this sidecar's own listener"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Generic[E]):
    """One sort of telemetry: its variables, of two the first that says something, and exporters."""

    signal: str
    """As variables name it: TRACES or METRICS."""
    console: Callable[[IO[str]], E]
    grpc: Callable[[], E]
    """These two raise ValueError where a variable cannot be read."""
    http: Callable[[], E]

    @property
    def switch(self) -> str:
        """The variable that says which exporters there are."""
        return f"OTEL_{self.signal}_EXPORTER"

    def variables(self, name: str) -> tuple[str, str]:
        """OTLP's variable of that name for this signal, and the one for all."""
        return f"OTEL_EXPORTER_OTLP_{self.signal}_{name}", f"OTEL_EXPORTER_OTLP_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Generic[E]):
    """What the variables ask for."""

    exporters: tuple[E, ...] = ()
    """Empty: nothing is to be exported, or `problem` says what is wrong."""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How spans are gathered."""

    spans_max: int
    batch_max: int
    delay_s: float


def choose(
    sort: Sort[E], *, console: IO[str], own_ports: frozenset[int] = frozenset()
) -> Choice[E]:
    """The exporters that the variables ask for; `console` is where one by that name writes.

    `own_ports` are the sidecar's own listeners: an agent that sends its telemetry to the sidecar
    has an endpoint in its environment that the sidecar must not send to.
    """
    if given(otel.OTEL_SDK_DISABLED).lower() == "true":
        return Choice()
    endpoint = given(*sort.variables("ENDPOINT"))
    asked = given(sort.switch).lower() or ("otlp" if endpoint else "none")
    exporters: list[E] = []
    for name in dict.fromkeys(each.strip() for each in asked.split(",") if each.strip()):
        match name:
            case "none":
                pass
            case "console":
                exporters.append(sort.console(console))
            case "otlp":
                try:
                    exporters.append(_otlp(sort, endpoint, own_ports))
                except _Unfit as problem:
                    return Choice(problem=str(problem))
                except (ValueError, RuntimeError, OSError) as error:
                    return Choice(problem=f"the OTEL_EXPORTER_OTLP_* variables: {error}")
            case _:
                return Choice(problem=f"{sort.switch} is {asked}: {EXPORTERS}")
    return Choice(exporters=tuple(exporters))


def _otlp(sort: Sort[E], endpoint: str, own_ports: frozenset[int]) -> E:
    protocol = given(*sort.variables("PROTOCOL")) or "grpc"
    match protocol:
        case "grpc":
            port, made = GRPC_PORT, sort.grpc
        case "http/protobuf":
            port, made = HTTP_PORT, sort.http
        case _:
            raise _Unfit(f"the OTLP protocol is {protocol}: {PROTOCOLS}")
    if _is_own(endpoint, port, own_ports):
        raise _Unfit(OWN)
    if not endpoint.startswith("http://"):  # where no TLS is spoken nobody reads them
        for name in FILES:
            _require_readable(*sort.variables(name))
    with _headers_refused() as refused:
        exporter = made()
    if refused:
        raise _Unfit(f"{_named(*sort.variables('HEADERS'))}: {HEADERS}")
    return exporter


def _require_readable(*variables: str) -> None:
    """Raise _Unfit where a file cannot be read: the SDK would do without it, and trust others."""
    path = given(*variables)
    if path:
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise _Unfit(f"{_named(*variables)}: cannot read {path}: {error.strerror}") from None


@contextmanager
def _headers_refused() -> Iterator[list[logging.LogRecord]]:
    """What the SDK complains of in headers, which it logs as they are, with any token in them."""
    refused: list[logging.LogRecord] = []

    def keep(record: logging.LogRecord) -> bool:
        refused.append(record)
        return False

    reader = logging.getLogger("opentelemetry.util.re")
    level = reader.level
    reader.setLevel(logging.WARNING)  # a filter is not asked below the logger's level
    reader.addFilter(keep)
    try:
        yield refused
    finally:
        reader.removeFilter(keep)
        reader.setLevel(level)


class _Unfit(Exception):  # noqa: N818
    """What is asked for cannot be had; the text says why."""


class Several(SpanExporter):
    """Exports to each of some; what one of them did not take counts as not taken."""

    def __init__(self, exporters: Sequence[SpanExporter]) -> None:
        """In this order."""
        self._exporters = tuple(exporters)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Whether all of them took the spans."""
        results = {exporter.export(spans) for exporter in self._exporters}
        return (
            SpanExportResult.SUCCESS
            if results == {SpanExportResult.SUCCESS}
            else SpanExportResult.FAILURE
        )

    def shutdown(self) -> None:
        """Shut each down."""
        for exporter in self._exporters:
            exporter.shutdown()


def seconds_of(asked: str) -> float:
    """The seconds that a timeout of OTLP gives one batch, at most TIMEOUT_MAX_S; empty: TIMEOUT_S.

    Raises ValueError where it is no number above 0.
    """
    timeout_s = float(asked) if asked else TIMEOUT_S
    if not 0 < timeout_s < math.inf:
        raise ValueError(f"a timeout is {asked}: it must be a number of seconds above 0")
    return min(timeout_s, TIMEOUT_MAX_S)


def choose_batching(span_queue_max: int) -> Batching:
    """What OTEL_BSP_* ask for; the queue is never longer than `span_queue_max`."""
    asked = _count(otel.OTEL_BSP_MAX_QUEUE_SIZE) or span_queue_max
    delay_ms = _count(otel.OTEL_BSP_SCHEDULE_DELAY)
    return Batching(
        spans_max=min(asked, span_queue_max),
        batch_max=_count(otel.OTEL_BSP_MAX_EXPORT_BATCH_SIZE) or BATCH_MAX,
        delay_s=DELAY_S if delay_ms is None else min(delay_ms / 1000, DELAY_MAX_S),
    )


def _grpc() -> SpanExporter:
    # Imported when asked for: 0.4 s that a sidecar without a collector need not spend.
    from opentelemetry.exporter.otlp.proto.grpc.exporter import InvalidCompressionValueException
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    try:
        return OTLPSpanExporter(timeout=_timeout_s())
    except InvalidCompressionValueException as error:
        raise ValueError(str(error)) from error


def _http() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    from sidecar.adapters.telemetry.collector_session import collector_session

    # With a session of its own the SDK would not read the variables that name one.
    own = None if given(*CREDENTIALS) else collector_session()
    return OTLPSpanExporter(timeout=_timeout_s(), session=own)


def _timeout_s() -> float:
    """The least of what the variables allow for one batch. The SDK reads seconds in the first two,
    and milliseconds in the third."""
    asked = given(otel.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT, otel.OTEL_EXPORTER_OTLP_TIMEOUT)
    batch_ms = _count(otel.OTEL_BSP_EXPORT_TIMEOUT)
    timeout_s = seconds_of(asked)
    return timeout_s if batch_ms is None else min(timeout_s, batch_ms / 1000)


def _is_own(endpoint: str, default_port: int, own_ports: frozenset[int]) -> bool:
    """Whether the endpoint leads back here. Raises ValueError where it is none."""
    target = urlsplit(endpoint if "://" in endpoint else f"//{endpoint or 'localhost'}")
    return target.hostname in _LOOPBACK and (target.port or default_port) in own_ports


def given(*variables: str) -> str:
    """The first of them that says something; empty: none does."""
    said = (os.environ.get(name, "").strip() for name in variables)
    return next(filter(None, said), "")


def _named(*variables: str) -> str:
    """The one that `given` has read."""
    return next(name for name in variables if given(name))


def _count(name: str) -> int | None:
    """A positive number; what is none counts as not given, as the standard has it."""
    text = given(name)
    if text.isdecimal() and len(text) <= DIGITS_MAX and int(text) > 0:
        return int(text)
    if text:
        told = "a whole number above 0, of at most 12 digits"
        logger.warning("%s is %.40s, which is not %s: passed over", name, text, told)
    return None


SPANS: Final[Sort[SpanExporter]] = Sort(
    signal="TRACES",
    console=lambda out: ConsoleSpanExporter(out=out),
    grpc=_grpc,
    http=_http,
)
