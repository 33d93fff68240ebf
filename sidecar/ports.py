"""What the application needs from the world: the ports that adapters and test doubles fill.

More than 400 lines, since a reader who asks what stands around the core finds it all here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from sidecar.core.directive import Decision, Rejection, Strength
from sidecar.core.opening import Beginning, Closing, Command, Opening, Succession
from sidecar.core.policy import Policy
from sidecar.core.turn import Turn
from sidecar.core.value import value


class Clock(Protocol):
    """Time, as an argument."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        ...


@value
class Rejected:
    """A turn that used up its sequence without being counted."""

    sequence: int
    id: str = ""
    """The turn's own id, under which its agent may send it again."""
    rejection: Rejection


Event: TypeAlias = Beginning | Succession | Opening | Turn | Rejected | Command | Closing
"""What the journal keeps, in the order it was folded. An Opening resumes a run of which turns are
lost; in journals of earlier versions it begins one too."""


NUMBER_MAX: Final = 2**63 - 1
"""Of an entry: what a database's integer holds."""


@value
class Entry:
    """One line of a session's journal."""

    session_id: str
    number: int
    """1, 2, 3 ... within the session."""
    time_s: float
    """When it was folded, in seconds since the epoch."""
    event: Event
    decision: Decision | None = None
    """None for what is not answered (opening, closing)."""
    content: bytes = b""
    """For a turn: 8 bytes over what was sent, which tell a repeat from a conflict."""


@value
class Saved:
    """A session as it was after an entry of its journal."""

    session_id: str
    number: int
    """The last entry folded into it."""
    active_s: float
    """Last sign of life, in seconds since the epoch."""
    closed: bool
    session: dict[str, Any]
    """The session as JSON, written by `sidecar.sessions.restoring`."""


class Journal(Protocol):
    """The log of what was folded and decided."""

    def append(self, entry: Entry) -> None:
        """Queue an entry. Never blocks, never raises; what does not fit is counted as lost."""
        ...

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> Sequence[Entry]:
        """The session's entries numbered above `after` and up to `until`, of these at most the
        `last` latest, oldest first.

        Sees everything appended before the call.
        """
        ...


class SnapshotStore(Protocol):
    """Where sessions rest between turns."""

    def save(self, saved: Saved) -> None:
        """Queue a snapshot, replacing the session's earlier one. Never blocks, never raises."""
        ...

    def load(self, session_id: str) -> Saved | None:
        """The latest snapshot; sees everything saved before the call. A broken one is
        quarantined, counted, and None."""
        ...

    def recent(self, limit: int) -> Sequence[Saved]:
        """The latest active sessions that are kept, open or closed."""
        ...


@value
class StoreStatus:
    """Whether what is kept is written."""

    state: Literal["ok", "recoverable", "permanent"]
    """recoverable: it may pass by itself. permanent: somebody has to act; it is tried all the
    same."""
    since_s: float
    """Seconds since the epoch."""
    detail: str = ""
    replaced: int = 0
    """How often what was kept was lost as a whole, and begun anew with nothing in it."""
    faults: int = 0
    """How often something was wrong with it, however short."""
    last_fault: str = ""
    """What it was the last time; kept after it is over."""


class Store(Journal, SnapshotStore, Protocol):
    """Where everything is kept, from start to stop."""

    def status(self) -> StoreStatus:
        """Whether it is written, and since when not."""
        ...

    def close(self, timeout_s: float) -> int:
        """Write what is pending; how much was lost because that took longer."""
        ...


@value
class SessionFacts:
    """What stays the same over a session, for labels and attributes."""

    opening: Opening
    policy: Policy
    previous_missing: bool = False
    """Whether it was to go on from a session that was not held, and began afresh."""


class Recorder(Protocol):
    """Makes runs visible. No method raises or blocks."""

    def opened(self, session: SessionFacts, *, resumed: bool) -> None:
        """A session was opened, or resumed."""
        ...

    def decided(
        self,
        session: SessionFacts,
        turn: Turn,
        decision: Decision,
        *,
        received_s: float,
        budget_left: float | None = None,
    ) -> None:
        """A turn was counted and decided on; `received_s` in seconds since the epoch.

        `budget_left` goes with a commit to a run that has limits: the share in [0, 1] that is left.
        """
        ...

    def rejected(self, session: SessionFacts, rejected: Rejected, decision: Decision) -> None:
        """A turn was not counted."""
        ...

    def commanded(self, session: SessionFacts, command: Command, decision: Decision) -> None:
        """Somebody other than the agent acted on the run."""
        ...

    def closed(
        self,
        session: SessionFacts,
        closing: Closing,
        *,
        turns: int,
        opened_s: float,
        strongest: Strength,
    ) -> None:
        """The run is over, after so many turns of its own; `strongest`: of the directives sent to
        it, those of before a restart included."""
        ...

    def detached(self, session: SessionFacts, *, reason: str) -> None:
        """A session left memory: expired or evicted."""
        ...

    def sessions(self, by_state: dict[str, int], *, held: int, streams: int) -> None:
        """Open sessions by state of the breaker, all that are in memory, and open streams."""
        ...

    def refused(self, reason: str) -> None:
        """A call or stream was refused or ended, by the reason of the error table."""
        ...

    def lost(self, what: str, reason: str, count: int = 1) -> None:
        """Something accepted was given up: what (journal, snapshot, span, ...) and why."""
        ...

    def missing(self, count: int) -> None:
        """Turns that neither side has any more."""
        ...

    def gave_up(self, session: SessionFacts, reason: str, count: int) -> None:
        """The client of a session went on without a decision so many times."""
        ...

    def asked(self, call: "ModelCall") -> None:
        """A model was asked."""
        ...

    def committed(self, source: str, signal: str) -> None:
        """A forced commit was made: where its answer is from, and the signal that caused it."""
        ...

    def reviewed(self, verdict: str) -> None:
        """An answer was reviewed: the verdict, or `error`."""
        ...

    def judged(self, verdict: str) -> None:
        """A run was to be judged: what the judge found, or why it found nothing."""
        ...


class Purpose(StrEnum):
    """What a model is asked for."""

    COMMIT = "commit"
    REVIEW = "review"
    AGENT = "agent"
    GROUNDED = "grounded"
    IMAGE = "image"
    SEARCH = "search"
    JUDGE = "judge"


@value
class Tool:
    """A tool whose input is the structured reply: it is never run."""

    name: str
    """Letters, digits, `_` and `-`."""
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its input, an object."""


@value
class ModelRequest:
    """One question to a model."""

    messages: Sequence[Mapping[str, Any]]
    """Oldest first; the first and the last are a user's, and roles alternate. `content` is a text,
    or text and image blocks of the Messages API."""
    output_tokens_max: int
    timeout_s: float
    """From the call to its reply or failure, all attempts included. Not above zero: it fails."""
    purpose: Purpose
    system: str = ""
    tool: Tool | None = None
    """The reply must be a call of it; None: the model has no tools, and replies in words."""
    session_id: str = ""
    """Whose bounds the call counts against; never sent."""
    searches_max: int = 0
    """Searches of the web that may be made on the model's own side, for this call; not together
    with a tool."""


class Stop(StrEnum):
    """Why a model stopped."""

    END = "end"
    MAX_TOKENS = "max_tokens"
    """What there is was cut."""
    TOOL = "tool"
    REFUSAL = "refusal"
    OTHER = "other"


@value
class Cited:
    """A page that a model's own search of the web found."""

    url: str
    title: str = ""
    text: str = ""
    """Of the page, as far as the model quotes it; empty: it does not."""


@value
class Spent:
    """What one model call took."""

    input_tokens: int = 0
    """Sent, cached ones included; 0: not known, of a reply without counts."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Of the input tokens, those read from a cache."""
    cache_write_tokens: int = 0
    """Of the input tokens, those written to a cache."""
    searches: int = 0
    """Of the web, on the model's own side."""
    cost_usd: float | None = None
    """None: not known, as of a model without a price, a reply without counts or a call that
    failed."""
    latency_s: float = 0.0


@value
class ModelReply:
    """What a model replied."""

    text: str
    """Its text blocks; empty: it said nothing."""
    tool_input: Mapping[str, Any] | None = None
    """The input of its call of the tool asked for, not checked against the schema; None: it did not
    call that one. Calls of any other are no part of a reply."""
    stop: Stop = Stop.END
    stop_reason: str = ""
    """The same in the API's own word, such as `end_turn`; empty: it gave none."""
    spent: Spent
    model: str = ""
    """The one that replied, as the API names it."""
    id: str = ""
    """The API's own id of the reply."""
    found: tuple[Cited, ...] = ()
    """By its own searches, the best first; empty too where it was not to search."""
    search_error: str = ""
    """Why a search found nothing, as the API has it; empty: none failed."""


class FailureKind(StrEnum):
    """Why a model gave no reply."""

    TIMEOUT = "timeout"
    """Not within the caller's time."""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CONNECTION = "connection"
    UNAUTHENTICATED = "unauthenticated"
    INVALID_REQUEST = "invalid_request"
    """The API refused the request as it stands: too long, no such model."""
    UNREADABLE = "unreadable"
    """What came is no message."""


class ModelFailure(Exception):  # noqa: N818 - an answer of the world, not a fault of ours
    """A model gave no reply, after the attempts that made sense."""

    def __init__(
        self,
        kind: FailureKind,
        message: str = "",
        *,
        latency_s: float = 0.0,
        cost_usd: float | None = None,
    ) -> None:
        """`message` is for a person, one line, without what was asked. What a failed call costs is
        not known, but for one that was never made."""
        super().__init__(f"{kind.value}: {message}" if message else kind.value)
        self.kind = kind
        self.message = message
        self.latency_s = latency_s
        self.cost_usd = cost_usd

    @property
    def spent(self) -> Spent:
        """What it took, as far as that is known."""
        return Spent(cost_usd=self.cost_usd, latency_s=self.latency_s)


class Model(Protocol):
    """A language model. May be asked several things at a time."""

    @property
    def name(self) -> str:
        """The model as its API names it."""
        ...

    @property
    def window_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask once. Raises ModelFailure; nothing else, but what cancels the caller, and Refusal
        where somebody in between has a bound."""
        ...


class Server(NamedTuple):
    """Where an API is."""

    host: str
    port: int


@value
class ModelCall:
    """That a model was asked, without what."""

    model: str
    purpose: Purpose
    session_id: str
    """Empty: none."""
    output_tokens_max: int
    began_s: float
    """Seconds since the epoch, as `ended_s`."""
    ended_s: float
    outcome: str
    """Why the model stopped (`Stop`), why it gave no reply (`FailureKind`), or cancelled."""
    spent: Spent | None = None
    """None: there was no reply."""
    stop_reason: str = ""
    """Of the reply, in the API's own word."""
    server: Server | None = None
    """Where it was asked; None: not known."""
    reply_model: str = ""
    reply_id: str = ""


@value
class Used:
    """What model calls took."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


@value
class DaySpent:
    """What the model calls of one day took, by account."""

    day: int
    """Days since the epoch, in UTC."""
    accounts: Mapping[str, Used] = field(default_factory=dict)


class Ledger(Protocol):
    """Where it is kept over a restart."""

    def load(self) -> DaySpent | None:
        """What was saved last; None: nothing."""
        ...

    def save(self, spent: DaySpent) -> None:
        """Have it kept. Never blocks, never raises."""
        ...
