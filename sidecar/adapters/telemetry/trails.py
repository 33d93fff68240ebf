"""What telemetry remembers of each session between its turns."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from opentelemetry.trace import SpanContext

from sidecar.core.rotations import NONE_ROTATED, Rotated
from sidecar.ports import SessionFacts


@dataclass(slots=True, kw_only=True)
class Trail:
    """One session: what stays, worked out once, and what its spans left behind."""

    agent: str
    """As a label, like all up to `extra`."""
    model: str
    mode: str
    policy: str
    extra: tuple[str, ...] = ()
    """Values of the operator's label keys, in their order."""
    attributes: Mapping[str, str]
    """Of every span of the session."""
    previous: SpanContext | None = None
    """Of the last turn of the session that this one goes on from."""
    first: SpanContext | None = None
    """Of its first turn that was sampled."""
    last: SpanContext | None = None
    """Of its last one."""
    rotated: tuple[Rotated, ...] = NONE_ROTATED
    """Rotates sent whose effect does not show yet."""


class Trails:
    """The trails of the sessions that are held, and of those that left memory last."""

    def __init__(self, begin: Callable[[SessionFacts], Trail], *, trails_max: int) -> None:
        """Keep at most `trails_max` of sessions that left; one met again after that begins a new
        trail."""
        self._begin = begin
        self._trails_max = trails_max
        self._held: dict[str, Trail] = {}
        self._left: OrderedDict[str, Trail] = OrderedDict()

    def of(self, session: SessionFacts) -> Trail:
        """The session's trail."""
        session_id = session.opening.session_id
        trail = self._held.get(session_id)
        if trail is None:
            trail = self._left.pop(session_id, None) or self._begin(session)
            self._held[session_id] = trail
        return trail

    def begin(self, session: SessionFacts) -> Trail:
        """A new trail for a session that is opened for the first time."""
        self._held.pop(session.opening.session_id, None)
        self._left.pop(session.opening.session_id, None)
        return self.of(session)

    def leave(self, session_id: str) -> None:
        """The session is held no more."""
        trail = self._held.pop(session_id, None)
        if trail is None:
            return
        self._left[session_id] = trail
        if len(self._left) > self._trails_max:
            self._left.popitem(last=False)

    def find(self, session_id: str) -> Trail | None:
        """The trail of that session, where it is still remembered."""
        return self._held.get(session_id) or self._left.get(session_id)
