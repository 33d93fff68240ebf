"""What was decided on a run and why, as a value: the table, the approaches, the panels.

The form is that of the founding loop file. `sidecar explain` shows it on a terminal, and the saved
state of a rested or tripped run is the same as Markdown (explaining_markdown.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from sidecar.explaining.gaps import unrecorded
from sidecar.explaining.measures import against_limit, diagnosis, in_few_words
from sidecar.explaining.turn_counts import turns_told
from sidecar.explaining.ways import Source, override, ways_on
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb
from sidecar.wording import counted

ABSENT: Final = "-"

STATES: Final = MappingProxyType(
    {
        pb.STATE_HEALTHY: "HEALTHY",
        pb.STATE_WARNING: "WARNING",
        pb.STATE_TRIPPED: "TRIPPED",
        pb.STATE_RECOVERY: "RECOVERY",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One turn, or something that was done to the run between two of them."""

    turn: int | None = None
    """Its sequence; None: no turn."""
    files_changed: int | None = None
    """None: not reported, as for the others."""
    error: str = ""
    output_lines: int | None = None
    state: str
    time: str = ""
    """When the turn ended, or the command was given, in UTC; empty: not known."""
    command: str = ""
    """What was done, empty for a turn: continue, reset, idle or verdict."""
    reason: str = ""
    """Why it was done."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row under COLUMNS: only its state where it is no turn's."""
        if self.turn is None:
            return ("", "", "", "", self.state)
        counts = self.files_changed, self.output_lines
        files, lines = (ABSENT if count is None else str(count) for count in counts)
        return (str(self.turn), files, self.error or ABSENT, lines, self.state)


COLUMNS: Final = ("Iteration", "Files Changed", "Error Hash", "Output Lines", "State")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A warning or a trip, with what can be done about it."""

    title: str
    facts: tuple[tuple[str, str], ...]
    """Name and text, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A run, explained."""

    title: str
    rows: tuple[Row, ...]
    """Turns and commands, in the order in which they happened."""
    unrecorded: str
    """Which turns are not among the rows; empty: all are."""
    approaches: tuple[str, ...]
    rotations: tuple[str, ...]
    directives: tuple[str, ...]
    """Each directive with its evidence and its decision id."""
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One row, and what was decided there."""

    sequence: int
    """Of the turn, or of the last one before a command."""
    label: str
    state_before: pb.State
    decision: pb.Decision
    row: Row
    extra_turns: int = 0
    """That a person granted."""


def explain(found: admin_pb.GetSessionResponse, *, source: Source = Source.SIDECAR) -> Explanation:
    """The session, its turns and what was done to it, explained."""
    session, steps = found.session, _steps(found)
    policy = " ".join(filter(None, (session.policy, session.policy_revision)))
    return Explanation(
        title=f"{session.session_id}: policy {policy}, "
        f"{turns_told(session, found.turns)}, {STATES.get(session.state, ABSENT)}"
        f"{', only observed' if _is_observed(session) else ''}{_closed(session)}",
        rows=tuple(step.row for step in steps),
        unrecorded=unrecorded((turn.sequence for turn in found.turns), last=session.last_sequence),
        approaches=tuple(_approaches(session)),
        rotations=tuple(_rotations(session)),
        directives=tuple(_directives(session, steps)),
        panels=tuple(_panels(session, steps, source)),
    )


def _is_observed(session: admin_pb.Session) -> bool:
    """Whether all is decided, and the agent told nothing of it."""
    return session.mode == pb.MODE_OBSERVE


def _closed(session: admin_pb.Session) -> str:
    if not session.closed:
        return ""
    return f", closed: {_line(session.close_reason)}" if session.close_reason else ", closed"


def _steps(found: admin_pb.GetSessionResponse) -> list[_Step]:
    """Turns and commands in the order in which they happened."""
    placed = [((turn.sequence, 0), _turn(turn)) for turn in found.turns]
    placed += [((done.command.after_sequence, 1), _command(done)) for done in found.commands]
    return [step for _, step in sorted(placed, key=itemgetter(0))]


def _turn(turn: admin_pb.TurnRecord) -> _Step:
    row = Row(
        turn=turn.sequence,
        files_changed=turn.files_changed if turn.HasField("files_changed") else None,
        error=turn.error,
        output_lines=turn.output_lines if turn.HasField("output_lines") else None,
        state=_state(turn.decision),
        time=_time(turn),
    )
    return _Step(
        sequence=turn.sequence,
        label=f"turn {turn.sequence}",
        state_before=turn.state_before,
        decision=turn.decision,
        row=row,
    )


def _command(done: admin_pb.CommandRecord) -> _Step:
    what = done.command.WhichOneof("action") or ABSENT
    reason, time = _why(done.command), _time(done)
    told = f"{what} at {time}" if time else what
    state = STATES.get(done.decision.state, ABSENT)
    after = done.command.after_sequence
    return _Step(
        sequence=after,
        label=f"{what} after turn {after}",
        state_before=done.state_before,
        decision=done.decision,
        extra_turns=getattr(done.command, "continue").extra_turns,
        row=Row(
            state=f"{state} ({told}: {reason})" if reason else f"{state} ({told})",
            time=time,
            command=what,
            reason=reason,
        ),
    )


def _why(command: pb.Command) -> str:
    """Why it was done, and how much was granted."""
    match command.WhichOneof("action"):
        case "continue":
            action: pb.ContinueCommand = getattr(command, "continue")
            granted = (
                (action.extra_turns, "more turn"),
                (action.extra_input_tokens, "more input token"),
            )
            parts = [action.reason, *(counted(count, what) for count, what in granted if count)]
            return _line(", ".join(filter(None, parts)))
        case "reset":
            return _line(command.reset.reason)
        case "idle":
            return f"nobody came within {command.idle.waited.ToTimedelta().total_seconds():g} s"
        case "verdict":
            verdict = command.verdict
            found = "stuck" if verdict.stuck else "not stuck"
            since = f" since turn {verdict.since_sequence}" if verdict.since_sequence else ""
            cited = ", ".join(map(str, verdict.cited_sequences))
            said = ", ".join(filter(None, [cited and f"see turns {cited}", verdict.summary]))
            return _line(f"{found}{since} ({verdict.confidence:.0%} sure){said and f', {said}'}")
        case _:
            return ""


def _time(record: admin_pb.TurnRecord | admin_pb.CommandRecord) -> str:
    if not record.HasField("time"):
        return ""
    return record.time.ToDatetime().strftime("%Y-%m-%d %H:%M:%S UTC")


def _line(text: str) -> str:
    """What a person wrote, on one line."""
    return " ".join(text.split())


def _state(decision: pb.Decision) -> str:
    state = STATES.get(decision.state, ABSENT)
    if decision.HasField("rejection"):
        return f"{state} (not counted: {decision.rejection.reason})"
    reasons = ", ".join(in_few_words(reading) for reading in decision.readings)
    return f"{state} ({reasons})" if reasons else state


def _approaches(session: admin_pb.Session) -> Iterator[str]:
    for approach in session.approaches:
        span = _span(approach.first_sequence, approach.last_sequence)
        outcome = f": {approach.outcome}" if approach.outcome else ""
        yield f"{approach.name} (iterations {span}){outcome}"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _rotations(session: admin_pb.Session) -> Iterator[str]:
    if _is_observed(session):
        return
    for rotation in session.rotations:
        yield f"iteration {rotation.sequence} ({rotation.signal}): {_change(rotation)}"


def _change(rotation: admin_pb.Rotation) -> str:
    if not (rotation.previous or rotation.next):
        return "the agent names no approaches"
    return f"previous {rotation.previous or ABSENT}, new {rotation.next or ABSENT}"


def _directives(session: admin_pb.Session, steps: Sequence[_Step]) -> Iterator[str]:
    for step in steps:
        decision = step.decision
        name = decision.WhichOneof("directive") or "proceed"
        if name == "proceed" and not decision.overridden:
            continue
        told = f"{name}, which the agent was not told" if _is_observed(session) else name
        withheld = "withheld by force_continue" if decision.overridden else told
        evidence = " ".join(f"{each.signal}: {each.summary}." for each in decision.readings)
        yield f"{step.label}: {withheld} [{decision.decision_id}] {evidence}".rstrip()


def _trips(step: _Step) -> bool:
    return _is_tripped(step) and step.state_before != pb.STATE_TRIPPED


def _is_tripped(step: _Step) -> bool:
    return step.decision.state == pb.STATE_TRIPPED


def _trip_of(session: admin_pb.Session, steps: Sequence[_Step]) -> tuple[_Step | None, str]:
    """The step that tripped the run last, and of a run that is tripped what stands in for it where
    nothing was recorded of it."""
    since = list(takewhile(_is_tripped, reversed(steps)))
    if session.state != pb.STATE_TRIPPED or any(map(_trips, since)):
        return next(filter(_trips, reversed(steps)), None), ""
    if since:
        step = since[-1]
        return step, f"no record of it was found: this is {step.label}, the first found after it"
    decision = session.last_directive
    if decision.state != pb.STATE_TRIPPED:
        return None, ""
    sequence = decision.sequence
    row = Row(turn=sequence, state=_state(decision))
    step = _Step(
        sequence=sequence,
        label=f"turn {sequence}",
        state_before=decision.state,
        decision=decision,
        row=row,
    )
    return step, f"no record of it was found: this is the last directive, of turn {sequence}"


def _panels(session: admin_pb.Session, steps: Sequence[_Step], source: Source) -> Iterator[Panel]:
    latest = list(reversed(steps))
    # A warning beside a break is answered with the break, so its panel would say nothing of it.
    warned = (
        step
        for step in latest
        if _has(step, pb.SEVERITY_WARNING) and not _has(step, pb.SEVERITY_BREAK)
    )
    for step in islice(warned, 1):
        facts = _warning(session, step, _of_maximum(session, step, steps))
        yield Panel(title="CIRCUIT BREAKER: WARNING", facts=(*facts, *override(session, source)))
    tripped, stands_in = _trip_of(session, steps)
    if tripped is not None:
        yield Panel(
            title="CIRCUIT BREAKER: TRIPPED",
            facts=(
                *([("Trip", stands_in)] if stands_in else []),
                *_trip(session, tripped, steps),
                *ways_on(session, source),
                *override(session, source),
            ),
        )


def _has(step: _Step, severity: pb.Severity) -> bool:
    return any(reading.severity == severity for reading in step.decision.readings)


def _warning(session: admin_pb.Session, step: _Step, iteration: str) -> Iterator[tuple[str, str]]:
    readings = [
        reading for reading in step.decision.readings if reading.severity == pb.SEVERITY_WARNING
    ]
    yield from _evidence(readings)
    yield "Iteration", iteration
    yield "Action", _action(session, step)


def _action(session: admin_pb.Session, step: _Step) -> str:
    """What the agent was told."""
    decision = step.decision
    if decision.overridden:
        return "none, since force_continue withholds it"
    if _is_observed(session):
        return "none, since the run is only observed"
    match decision.WhichOneof("directive"):
        case "rotate":
            rotations = (one for one in session.rotations if one.sequence == step.sequence)
            return ": ".join(["rotate", *map(_change, rotations)])
        case "commit" if decision.commit.handover:
            return "rest: hand over to a new session"
        case "commit":
            return "commit: end with the best answer so far"
        case "halt":
            return f"halt: {_line(decision.halt.reason)}"
        case _:
            return "none needed yet"


def _trip(
    session: admin_pb.Session, step: _Step, steps: Sequence[_Step]
) -> Iterator[tuple[str, str]]:
    readings = [
        reading for reading in step.decision.readings if reading.severity == pb.SEVERITY_BREAK
    ] or list(step.decision.readings)
    totals = session.totals
    files_are_told = any(each.row.files_changed is not None for each in steps)
    files = totals.files_changed if totals.files_changed or files_are_told else None
    counts = ", ".join(
        counted(count, one, many)
        for count, one, many in (
            (totals.turns, "iteration run", "iterations run"),
            (files, "file changed", "files changed"),
            (totals.errors_distinct, "distinct error", "distinct errors"),
            (len(session.approaches), "approach tried", "approaches tried"),
        )
        if count is not None  # absent is not zero
    )
    yield from _evidence(readings)
    yield "Iteration", _of_maximum(session, step, steps)
    yield "Totals", counts
    yield "Action", _action(session, step)


def _evidence(readings: Sequence[pb.Reading]) -> Iterator[tuple[str, str]]:
    for reading in readings:
        yield "Signal", f"{reading.signal} ({in_few_words(reading)})"
        yield "Count / limit", against_limit(reading)
        yield "Evidence", reading.summary
        yield "Diagnosis", diagnosis(reading)


def _of_maximum(session: admin_pb.Session, step: _Step, steps: Sequence[_Step]) -> str:
    """The turn, and the limit that it had: what a person has granted since is in that of now."""
    limits = session.limits
    since = takewhile(lambda each: each is not step, reversed(steps))
    granted = sum(each.extra_turns for each in since if each.sequence >= step.sequence)
    most = str(limits.max_turns - granted) if limits.HasField("max_turns") else "no limit"
    return f"{step.sequence} / {most}"
