"""What an operator can set: every key with its type, range, default and meaning.

`sidecar.config.load.load` builds a Config from a file, the environment and flags.
docs/configuration.md is written from the annotations here, and error lines are worded from them.
More than 400 lines, since every key stands in one list, in the order of that page.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_type_hints

from msgspec import Meta

from sidecar import paths
from sidecar.addresses import Address, parse_address
from sidecar.config import listeners, models
from sidecar.config.given import Origin
from sidecar.config.policies import LIMIT_KEYS
from sidecar.config.values import Key
from sidecar.core.digests.measured import TEXT_MAX
from sidecar.core.limits import Limits
from sidecar.core.policy import Policy
from sidecar.models.prices import DEFAULT_MODEL, DEFAULT_REVIEW_MODEL
from sidecar.presets import PRESETS, preset

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

PATHS: Final[Mapping[str, Callable[[Mapping[str, str] | None], Path]]] = MappingProxyType(
    {
        "agent_address": paths.agent_socket,
        "agent_http_address": paths.agent_http_socket,
        "admin_address": paths.admin_socket,
        "state_directory": paths.state_directory,
    }
)
"""Keys whose defaults depend on the environment."""

LONGEST_S: Final = 366 * 86_400
"""A year: a longer time is a mistake in units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One effective value and where it came from."""

    key: str
    value: Any
    origin: Origin
    where: str = ""


def default_path(key: str, environment: Mapping[str, str] | None = None) -> str:
    """The default of a key of PATHS; `environment` stands in for os.environ."""
    return str(PATHS[key](environment))


def _presets() -> Mapping[str, Policy]:
    return MappingProxyType({name: preset(name) for name in PRESETS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration. Every bound is a key that ends in `_max`."""

    agent_address: Annotated[
        str,
        Meta(
            description="Unix socket, or address, on which agents are served.",
            extra={"default": "the runtime directory's `agent.sock`"},
        ),
    ] = field(default_factory=lambda: default_path("agent_address"))
    agent_tcp_address: Annotated[
        str, Meta(description="A second address for agents, over TCP; empty: none.")
    ] = "127.0.0.1:4300"
    agent_http_address: listeners.AgentHttp = field(
        default_factory=lambda: default_path("agent_http_address")
    )
    agent_http_tcp_address: listeners.AgentHttpTcp = listeners.DEFAULT_AGENT_HTTP_TCP
    admin_address: Annotated[
        str,
        Meta(
            description="Unix socket, or address, of the control plane (`sidecar sessions`).",
            extra={"default": "the runtime directory's `admin.sock`"},
        ),
    ] = field(default_factory=lambda: default_path("admin_address"))
    telemetry_address: Annotated[
        str,
        Meta(
            description="Address of `/metrics`, `/livez` and `/readyz`, which carry no session "
            "data and need no token; empty: none."
        ),
    ] = "127.0.0.1:9464"
    admin_http_address: listeners.AdminHttp = listeners.DEFAULT_ADMIN_HTTP
    socket_mode: Annotated[
        str,
        Meta(
            pattern="^(0o?)?[0-7]{3}$",
            description="Permissions of the Unix sockets.",
            extra={"expected": 'three octal digits in quotes, such as "0660"'},
        ),
    ] = "0660"
    socket_group: Annotated[
        str,
        Meta(
            description="Group, by name or number, that owns the Unix sockets; empty: own.",
            extra={"expected": 'a name, or a number in quotes, such as "1000"'},
        ),
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="Certificate chain (PEM) of the TCP listeners; empty: no TLS.")
    ] = ""
    tls_key_file: Annotated[str, Meta(description="Private key (PEM) to the certificate.")] = ""
    tls_client_ca_file: Annotated[
        str,
        Meta(
            description="Authorities (PEM) of which clients must have a certificate; empty: "
            "clients need none."
        ),
    ] = ""
    token_file: Annotated[
        str,
        Meta(
            description="File with the bearer token that clients of the TCP listeners must send, "
            "and that the commands which ask a sidecar do send; empty: none."
        ),
    ] = ""
    tls_server_ca_file: Annotated[
        str,
        Meta(
            description="For the commands that ask a sidecar over TCP: authorities (PEM) of which "
            "it must have a certificate; empty: `tls_certificate_file`, and where that is empty "
            "too, no TLS."
        ),
    ] = ""
    tls_client_certificate_file: Annotated[
        str,
        Meta(
            description="For the same commands: certificate chain (PEM) to show to a sidecar "
            "with `tls_client_ca_file`."
        ),
    ] = ""
    tls_client_key_file: Annotated[
        str, Meta(description="For the same commands: private key (PEM) to that certificate.")
    ] = ""
    state_directory: Annotated[
        str,
        Meta(
            description="Where journal and snapshots are kept; empty: nowhere, a restart forgets. "
            "A relative path is one from where the command is called. "
            "Restore it only while no sidecar runs there. "
            "One sidecar writes there; a second one goes on from what is there, and writes once "
            "the first has ended.",
            extra={
                "default": "`$XDG_STATE_HOME/sidecar`, else `~/.local/state/sidecar`, else `state` "
                "beside the sockets"
            },
        ),
    ] = field(default_factory=lambda: default_path("state_directory"))
    default_policy: Annotated[
        str,
        Meta(
            min_length=1,
            description="Policy of agents that name none. Where a `circuit_breaker` block is "
            "given, it is the default's default.",
        ),
    ] = "default"
    limits: Limits = field(default_factory=Limits)
    """The operator's ceilings: no run gets more, whatever its agent asks for."""
    label_keys: Annotated[
        tuple[Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")], ...],
        Meta(
            description="Labels of `open` that become labels of metrics; the rest never do.",
            extra={"expected": "a list of names of letters, digits, '_', '.' and '-'"},
        ),
    ] = ()
    label_values_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Values of each metric label (tool, model, agent); later ones are counted "
            "as `other`.",
        ),
    ] = 10
    counter_series_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Series of all counters with labels together; beyond it a new one's agent, "
            "model, policy and tool are counted as `other`.",
        ),
    ] = 180
    streams_max: listeners.StreamsMax = 1024
    sessions_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Sessions held in memory; the one idle for longest is evicted first. Of as "
            "many, closed ones included, journal and snapshot are kept: beyond it they go before "
            "`retention_s` is over, counted as `pruned`, closed sessions first.",
        ),
    ] = 10_000
    session_idle_ttl_s: Annotated[
        float,
        Meta(
            gt=0,
            le=LONGEST_S,
            description="Seconds that a session can be resumed after its last sign of life, by the "
            "machine's clock: set forward by more, it closes the sessions without a stream.",
        ),
    ] = 3600.0
    open_timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="Seconds that a stream may take to send its `open`; then it is refused.",
        ),
    ] = 10.0
    client_instances_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Clients whose totals of give-ups are remembered; one that was forgotten "
            "counts again when it comes back with another session.",
        ),
    ] = 10_000
    message_bytes_max: Annotated[
        int, Meta(ge=KIB, le=GIB, description="Bytes of one message on the wire.")
    ] = 4 * MIB
    tool_calls_max: Annotated[int, Meta(ge=1, le=65_536, description="Tool calls of one turn.")] = (
        256
    )
    text_bytes_max: Annotated[
        int,
        Meta(
            ge=KIB,
            le=TEXT_MAX,
            description="Characters that are read of each text of a turn, half of them at its "
            "beginning and half at its end; arguments of calls are digested whole.",
        ),
    ] = TEXT_MAX
    labels_max: Annotated[int, Meta(ge=0, le=1024, description="Labels of one session.")] = 16
    decisions_kept_max: Annotated[
        int,
        Meta(
            ge=1,
            le=65_536,
            description="Decisions that a session keeps, to answer a repeated turn with.",
        ),
    ] = 256
    watchers_max: Annotated[
        int, Meta(ge=0, le=65_536, description="Open `WatchSession` and `WatchSessions` calls.")
    ] = 64
    span_queue_max: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Spans that wait for export.")
    ] = 2048
    journal_bytes_max: Annotated[
        int, Meta(ge=MIB, le=1024 * GIB, description="Bytes of the journal on disk.")
    ] = 160 * MIB
    journal_queue_max: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Journal entries that wait for the disk.")
    ] = 4096
    snapshot_bytes_max: Annotated[
        int, Meta(ge=KIB, le=GIB, description="Bytes of one session's snapshot.")
    ] = 64 * KIB
    retention_s: Annotated[
        float,
        Meta(
            gt=0,
            le=LONGEST_S,
            description="Seconds that the journal and snapshot of a session are kept after its "
            "last sign of life, by the machine's clock; at least `session_idle_ttl_s`. Less where "
            "`sessions_max` or `journal_bytes_max` is met before.",
        ),
    ] = 7 * 86_400.0
    loop_files_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Saved states of tripped and rested runs, as Markdown in `runs` below the "
            "state directory; the oldest are removed.",
        ),
    ] = 1000
    commit_interval_s: Annotated[
        float,
        Meta(gt=0, le=60, description="Seconds between two commits of the store to disk."),
    ] = 0.05
    shutdown_timeout_s: Annotated[
        float,
        Meta(gt=0, le=3600, description="Seconds from the request to stop until the process ends."),
    ] = 5.0
    flush_timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="Seconds of these for the last snapshots, journal entries and spans.",
        ),
    ] = 2.0
    model: models.ModelName = DEFAULT_MODEL
    review_model: models.ReviewModelName = DEFAULT_REVIEW_MODEL
    model_base_url: models.ModelBaseUrl = ""
    model_key_file: models.ModelKeyFile = ""
    model_timeout_s: models.ModelTimeout = 90.0
    model_window_tokens: models.ModelWindow = 200_000
    model_output_tokens_max: models.ModelOutput = 1024
    model_prices: models.ModelPrices = ()
    model_calls_max: models.ModelCallsMax = 1000
    model_tokens_max: models.ModelTokensMax = 20_000_000
    model_cost_usd_max: models.ModelCostMax = 10.0
    session_model_calls_max: models.SessionModelCallsMax = 50
    session_model_tokens_max: models.SessionModelTokensMax = 2_000_000
    session_model_cost_usd_max: models.SessionModelCostMax = 1.0
    model_concurrency_max: models.ModelConcurrencyMax = 8
    texts_kept_bytes_max: models.TextsKept = 0
    judge: models.JudgeSettings = field(default_factory=models.JudgeSettings)
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="Least that is logged."),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"], Meta(description="Log lines for people, or JSON for collectors.")
    ] = "text"
    dataset_mirror: Annotated[
        str,
        Meta(
            pattern="^(https?://.+)?$",
            description="For `sidecar datasets fetch`: address that stands in for the public "
            "hosts and has the same paths; empty: the public hosts.",
            extra={"expected": "an address that begins with http:// or https://, or empty"},
        ),
    ] = ""

    policies: Mapping[str, Policy] = field(default_factory=_presets)
    """The presets, and those that the operator has added or changed, by name."""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What policies say that they were found on, by the policy's name (`config.evidence`)."""
    values: tuple[Value, ...] = ()
    """What `check-config` shows; set by `load`."""

    @property
    def socket_permissions(self) -> int:
        """`socket_mode` as chmod takes it."""
        return int(self.socket_mode[-3:], 8)

    @property
    def listeners(self) -> Mapping[str, Address]:
        """The addresses that are not empty, by their keys."""
        return {key: parse_address(getattr(self, key)) for key in ADDRESSES if getattr(self, key)}


def _keys() -> Mapping[str, Key]:
    """Every key of a file but those of policies, in the order of the documentation."""
    keys: dict[str, Key] = {}
    for name, key in _described(Config):
        if name in GROUPS:
            keys.update({f"{name}.{own}": each for own, each in GROUPS[name].items()})
        elif key is not None:
            keys[name] = key
    return MappingProxyType(keys)


def _described(settings: Any) -> Iterator[tuple[str, Key | None]]:
    """The fields of a dataclass, and what their annotations say; None: nothing."""
    hints = get_type_hints(settings, include_extras=True)
    for part in fields(settings):
        said: tuple[Any, ...] = getattr(hints[part.name], "__metadata__", ())
        meta = said[0] if said else None
        yield (
            part.name,
            meta
            and Key(
                type=hints[part.name],
                meaning=meta.description,
                default=(meta.extra or {}).get("default", part.default),
            ),
        )


GROUPS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {
        "limits": LIMIT_KEYS,
        "judge": {name: key for name, key in _described(models.JudgeSettings) if key},
    }
)
"""The tables of a file that are fixed, each with its keys."""


KEYS: Final = _keys()

ADDRESSES: Final = (
    "agent_address",
    "agent_tcp_address",
    "agent_http_address",
    "agent_http_tcp_address",
    "admin_address",
    "telemetry_address",
    "admin_http_address",
)

FILES: Final = (
    "tls_certificate_file",
    "tls_key_file",
    "tls_client_ca_file",
    "token_file",
    "model_key_file",
)
"""What a sidecar reads when it starts."""

ASKING: Final = (
    "tls_server_ca_file",
    "tls_client_certificate_file",
    "tls_client_key_file",
    "dataset_mirror",
)
"""Of no use to a sidecar: only other commands read these."""


def bounds(config: Config) -> dict[str, float]:
    """The process's own bounds by key: all that end in `_max`.

    The ceilings under `limits` bound a run's spending, not this process, and are not among them.
    """
    found = {key: getattr(config, key) for key in KEYS if key.endswith("_max") and "." not in key}
    return {**found, "judge.cost_usd_max": config.judge.cost_usd_max}


def flag_name(key: str) -> str:
    """The flag that sets a key: `streams_max` -> `--streams-max`."""
    return f"--{key.replace('.', '-').replace('_', '-')}"
