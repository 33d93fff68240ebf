"""The states of all watched signals, per run and per actor, and how they read one turn."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sidecar.core import snapshot
from sidecar.core.limits import Limits
from sidecar.core.novelty import Memory
from sidecar.core.opening import Verdict
from sidecar.core.policy import Policy, Watch
from sidecar.core.reading import QUIET, Reading
from sidecar.core.signal import Signal
from sidecar.core.snapshot import Json, SnapshotInvalid
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value

ACTORS_MAX = 8
"""Actors with detectors of their own; the one silent for longest goes first. Of the recorded
multi-agent runs none had more than 7."""


@value
class Watched:
    """A signal under the thresholds of one run."""

    signal: Signal[Any, Any]
    step: Callable[[Any, Turn, Any], tuple[Any, Reading]]
    """The signal's own, at hand since every turn needs it."""
    thresholds: Any
    rank: int
    """Its place in the order of precedence."""


@value
class Plan:
    """The signals that a run is held against, by whose states they keep."""

    own: tuple[Watched, ...]
    """One state for each actor."""
    shared: tuple[Watched, ...]
    """One state for the run."""

    @staticmethod
    def of(policy: Policy, limits: Limits) -> "Plan":
        """The policy's signals under these limits; runs under the same share one."""
        return _plan(policy.watches, limits)


@lru_cache(maxsize=256)
def _plan(watches: tuple[Watch, ...], limits: Limits) -> Plan:
    watched = [
        Watched(
            signal=watch.signal,
            step=watch.signal.step,
            thresholds=watch.signal.limited(watch.thresholds, limits)
            if watch.signal.limited
            else watch.thresholds,
            rank=rank,
        )
        for rank, watch in enumerate(watches)
    ]
    return Plan(
        own=tuple(each for each in watched if each.signal.per_actor),
        shared=tuple(each for each in watched if not each.signal.per_actor),
    )


@value
class Track:
    """One actor: what it has seen, and the states of its own signals, in the plan's order."""

    actor: str = ""
    memory: Memory = Memory()
    states: tuple[Any, ...] = ()
    others_progressed: bool = False
    """Whether others did since its last turn."""
    others_changed: bool = False
    """Whether others changed something since."""
    others_said: bool = False
    """Whether another said something since that it had not said just before."""
    text: bytes = b""
    """Digest of what it said last; empty: nothing yet."""

    def beside(self, *, progressed: bool, changed: bool, said: bool) -> "Track":
        """The track after a turn of another actor."""
        progressed, changed = progressed or self.others_progressed, changed or self.others_changed
        known, said = self.others_said, said or self.others_said
        if (progressed, changed, said) == (self.others_progressed, self.others_changed, known):
            return self  # a copy costs more than to see that there is nothing new
        return replace(self, others_progressed=progressed, others_changed=changed, others_said=said)


@value
class Detectors:
    """Where every signal stands."""

    shared: tuple[Any, ...] = ()
    """In the plan's order."""
    tracks: tuple[Track, ...] = ()
    """The latest active actor last."""

    @staticmethod
    def start(plan: Plan) -> "Detectors":
        """Every signal at its beginning."""
        return Detectors(shared=_initial(plan.shared))

    def read(
        self, turn: Turn, plan: Plan
    ) -> tuple["Detectors", Turn, tuple[Reading, ...], tuple[Reading, ...]]:
        """The states after the turn, the turn with its news, the readings above NONE, BREAK before
        WARNING, each group in the order of precedence, and those of NONE, in no order."""
        track = self._track(turn.actor, plan)
        memory, turn = track.memory.look(turn)
        if track.others_progressed or track.others_changed or track.others_said:
            turn = replace(
                turn,
                others_progressed=track.others_progressed,
                others_changed=track.others_changed,
                others_said=track.others_said,
            )
        found: list[tuple[int, int, Reading]] = []
        below: list[Reading] = []
        own = _step(plan.own, track.states, turn, found, below)
        shared = _step(plan.shared, self.shared, turn, found, below)
        text = track.text if turn.text is None else turn.text
        after = Track(actor=turn.actor, memory=memory, states=own, text=text)
        readings: tuple[Reading, ...] = ()
        if found:
            found.sort()
            readings = tuple([reading for _, _, reading in found])
        tracks = _with(self.tracks, after, turn, said=text != track.text)
        detectors = Detectors(shared=shared, tracks=tracks)
        return detectors, turn, readings, tuple(below)

    def heard(self, plan: Plan, verdict: Verdict, sequence: int) -> "Detectors":
        """The states after a judge's verdict, given after the turn of that sequence."""
        return replace(
            self,
            shared=tuple(
                each.signal.heard(state, verdict, sequence, each.thresholds)
                if each.signal.heard
                else state
                for each, state in zip(plan.shared, self.shared, strict=True)
            ),
        )

    def restarted(
        self,
        plan: Plan,
        again: Callable[[Signal[Any, Any], str | None], bool],
        *,
        forgetting: bool,
    ) -> "Detectors":
        """The same with those signals at their beginning for which `again(signal, actor)` holds
        (actor None: the whole run's). `forgetting` empties the memory of calls as well."""
        return Detectors(
            shared=_restarted(plan.shared, self.shared, again, None),
            tracks=tuple(
                replace(
                    track,
                    memory=Memory() if forgetting else track.memory,
                    states=_restarted(plan.own, track.states, again, track.actor),
                )
                for track in self.tracks
            ),
        )

    def succeeded(self, plan: Plan, following: Plan) -> "Detectors":
        """Where a run under the following plan goes on from: what was spent stays spent, all else
        is at its beginning."""
        spent = {
            each.signal.name: state
            for each, state in zip(plan.shared, self.shared, strict=True)
            if each.signal.budget
        }
        return Detectors(
            shared=tuple(
                spent.get(each.signal.name, each.signal.initial) for each in following.shared
            )
        )

    def encode(self, plan: Plan) -> Json:
        """As JSON, each state under its signal's name."""
        return {
            "shared": _encode(plan.shared, self.shared),
            "tracks": [
                {
                    "actor": track.actor,
                    "memory": snapshot.encode(track.memory),
                    "states": _encode(plan.own, track.states),
                    "others_progressed": track.others_progressed,
                    "others_changed": track.others_changed,
                    "others_said": track.others_said,
                    "text": snapshot.encode(track.text),
                }
                for track in self.tracks
            ],
        }

    @staticmethod
    def decode(plan: Plan, json: object) -> "Detectors":
        """What `encode` wrote. A signal that was not there begins; one that is gone is dropped.

        Raises SnapshotInvalid for anything else.
        """
        body = _object(json, "detectors")
        tracks = body.get("tracks")
        if type(tracks) is not list:
            raise SnapshotInvalid("tracks", "expected a list")
        return Detectors(
            shared=_decode(plan.shared, body.get("shared")),
            tracks=tuple(
                Track(
                    actor=snapshot.decode(str, part.get("actor")),
                    memory=snapshot.decode(Memory, part.get("memory")),
                    states=_decode(plan.own, part.get("states")),
                    others_progressed=snapshot.decode(bool, part.get("others_progressed")),
                    others_changed=snapshot.decode(bool, part.get("others_changed", False)),
                    others_said=snapshot.decode(bool, part.get("others_said", False)),
                    text=snapshot.decode(bytes, part.get("text", "")),
                )
                for part in (_object(track, "tracks") for track in tracks)
            ),
        )

    def _track(self, actor: str, plan: Plan) -> Track:
        for track in self.tracks:
            if track.actor == actor:
                return track
        return Track(actor=actor, states=_initial(plan.own))


def _step(
    watched: tuple[Watched, ...],
    states: tuple[Any, ...],
    turn: Turn,
    found: list[tuple[int, int, Reading]],
    below: list[Reading],
) -> tuple[Any, ...]:
    """The states after the turn; what was found goes into `found` in the order of readings, what
    is below every threshold into `below`."""
    after = []
    for each, state in zip(watched, states, strict=True):
        state, reading = each.step(state, turn, each.thresholds)
        after.append(state)
        if reading is not QUIET:
            reading = replace(reading, signal=each.signal.name)
            if reading.severity:
                found.append((-reading.severity, each.rank, reading))
            else:
                below.append(reading)
    return tuple(after)


def _initial(watched: tuple[Watched, ...]) -> tuple[Any, ...]:
    return tuple(each.signal.initial for each in watched)


def _restarted(
    watched: tuple[Watched, ...],
    states: tuple[Any, ...],
    again: Callable[[Signal[Any, Any], str | None], bool],
    actor: str | None,
) -> tuple[Any, ...]:
    return tuple(
        each.signal.initial if again(each.signal, actor) else state
        for each, state in zip(watched, states, strict=True)
    )


def _with(tracks: tuple[Track, ...], track: Track, turn: Turn, *, said: bool) -> tuple[Track, ...]:
    """The tracks after this turn of one of them, which `said` something else than before."""
    if len(tracks) == 1 and tracks[0].actor == track.actor:
        return (track,)
    others = tuple(other for other in tracks if other.actor != track.actor)
    progressed, changed = turn.progressed, turn.changed
    if progressed or changed or said:
        others = tuple(
            other.beside(progressed=progressed, changed=changed, said=said) for other in others
        )
    return (*others[-(ACTORS_MAX - 1) :], track)


def _encode(watched: tuple[Watched, ...], states: tuple[Any, ...]) -> Json:
    return {
        each.signal.name: snapshot.encode(state)
        for each, state in zip(watched, states, strict=True)
    }


def _decode(watched: tuple[Watched, ...], json: object) -> tuple[Any, ...]:
    body = _object(json, "states")
    return tuple(
        snapshot.decode(type(each.signal.initial), body[each.signal.name])
        if each.signal.name in body
        else each.signal.initial
        for each in watched
    )


def _object(json: object, path: str) -> Mapping[str, object]:
    if type(json) is not dict:
        raise SnapshotInvalid(path, "expected an object")
    return json
