"""What was decided on a run and why, as a value: the table, the approaches, the panels.

The form is that of the founding loop file. `sidecar explain` shows it on a terminal, and the saved
state of a rested or tripped run is the same as Markdown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

ABSENT: Final = "-"

STATES: Final = MappingProxyType(
    {
        pb.STATE_HEALTHY: "HEALTHY",
        pb.STATE_WARNING: "WARNING",
        pb.STATE_TRIPPED: "TRIPPED",
        pb.STATE_RECOVERY: "RECOVERY",
    }
)

REASONS: Final = MappingProxyType(
    {
        "max_turns": "turn {value:g} of {threshold:g}",
        "token_overflow": "budget {value:g} of {threshold:g}",
        "loop": "repeated {value:g}x",
        "spin": "same error {value:g}x",
        "stall": "no progress {value:g}x",
        "decline": "output down {percent:.0f} %",
        "divergence": "confidence up, results down",
        "drift": "off the plan",
    }
)
"""Why a state was taken on, in the few words that fit into a table."""

DIAGNOSES: Final = MappingProxyType(
    {
        "max_turns": "The run has used up the turns it was given.",
        "token_overflow": "The run has used up the tokens, money or context it was given.",
        "loop": "The run repeats steps that taught it nothing.",
        "spin": "The run meets the same error again and again; its fixes do not reach the cause.",
        "stall": "The run goes on without changing anything.",
        "decline": "The run produces less and less; its context is worn out.",
        "divergence": "The run grows surer of itself while its results get worse.",
        "drift": "The run works on other things than its plan asks for.",
    }
)

WAYS_ON: Final = (
    (
        "resume with fresh context and the same state: open a new session with "
        'previous_session_id = "{session_id}"'
    ),
    "switch to the `debug` preset in a new session, to diagnose before changing anything",
    "fix it by hand, then `sidecar sessions continue {session_id} --reason ...`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One turn."""

    turn: str
    files_changed: str
    error: str
    output_lines: str
    state: str


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
    approaches: tuple[str, ...]
    rotations: tuple[str, ...]
    directives: tuple[str, ...]
    """Each directive with its evidence and its decision id."""
    panels: tuple[Panel, ...]


def explain(session: admin_pb.Session, turns: Sequence[admin_pb.TurnRecord]) -> Explanation:
    """The session and its turns, explained."""
    return Explanation(
        title=f"{session.session_id}: policy {session.policy} {session.policy_revision}, "
        f"{session.totals.turns} turns, {STATES.get(session.state, ABSENT)}",
        rows=tuple(_row(turn) for turn in turns),
        approaches=tuple(_approaches(session)),
        rotations=tuple(_rotations(session)),
        directives=tuple(_directives(turns)),
        panels=tuple(_panels(session, turns)),
    )


def markdown(explanation: Explanation) -> str:
    """The explanation as Markdown."""
    lines = [f"# {explanation.title}", ""]
    lines.append("| Iteration | Files Changed | Error Hash | Output Lines | State |")
    lines.append("|---|---|---|---|---|")
    for row in explanation.rows:
        cells = (row.turn, row.files_changed, row.error, row.output_lines, row.state)
        lines.append(f"| {' | '.join(cells)} |")
    for title, items in (
        ("Approaches Tried", explanation.approaches),
        ("Rotation Applied", explanation.rotations),
        ("Directives", explanation.directives),
    ):
        if items:
            lines += ["", f"## {title}", ""]
            lines += [f"{number}. {item}" for number, item in enumerate(items, 1)]
    for panel in explanation.panels:
        lines += ["", f"## {panel.title}", ""]
        lines += [f"- **{name}**: {text}" for name, text in panel.facts]
    return "\n".join(lines) + "\n"


def _row(turn: admin_pb.TurnRecord) -> Row:
    return Row(
        turn=str(turn.sequence),
        files_changed=str(turn.files_changed) if turn.HasField("files_changed") else ABSENT,
        error=turn.error or ABSENT,
        output_lines=str(turn.output_lines) if turn.HasField("output_lines") else ABSENT,
        state=_state(turn.decision),
    )


def _state(decision: pb.Decision) -> str:
    state = STATES.get(decision.state, ABSENT)
    if decision.HasField("rejection"):
        return f"{state} (not counted: {decision.rejection.reason})"
    reasons = ", ".join(_reason(reading) for reading in decision.readings)
    return f"{state} ({reasons})" if reasons else state


def _reason(reading: pb.Reading) -> str:
    form = REASONS.get(reading.signal, reading.signal)
    return form.format(
        value=reading.value, threshold=reading.threshold, percent=100 * reading.value
    )


def _approaches(session: admin_pb.Session) -> Iterator[str]:
    for approach in session.approaches:
        span = _span(approach.first_sequence, approach.last_sequence)
        outcome = f": {approach.outcome}" if approach.outcome else ""
        yield f"{approach.name} (iterations {span}){outcome}"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _rotations(session: admin_pb.Session) -> Iterator[str]:
    for rotation in session.rotations:
        previous, following = rotation.previous or ABSENT, rotation.next or ABSENT
        yield (
            f"iteration {rotation.sequence} ({rotation.signal}): "
            f"previous {previous}, new {following}"
        )


def _directives(turns: Sequence[admin_pb.TurnRecord]) -> Iterator[str]:
    for turn in turns:
        decision = turn.decision
        name = decision.WhichOneof("directive") or "proceed"
        if name == "proceed" and not decision.overridden:
            continue
        withheld = "withheld by force_continue" if decision.overridden else name
        evidence = " ".join(
            f"{reading.signal}: {reading.summary}." for reading in decision.readings
        )
        yield f"turn {turn.sequence}: {withheld} [{decision.decision_id}] {evidence}".rstrip()


def _panels(session: admin_pb.Session, turns: Sequence[admin_pb.TurnRecord]) -> Iterator[Panel]:
    warned = _last(turns, pb.SEVERITY_WARNING)
    tripped = next(
        (
            turn
            for turn in reversed(turns)
            if turn.decision.state == pb.STATE_TRIPPED and turn.state_before != pb.STATE_TRIPPED
        ),
        None,
    )
    if warned is not None:
        yield _warning(session, warned)
    if tripped is not None:
        yield _trip(session, tripped)


def _last(
    turns: Sequence[admin_pb.TurnRecord], severity: pb.Severity
) -> admin_pb.TurnRecord | None:
    for turn in reversed(turns):
        if any(reading.severity == severity for reading in turn.decision.readings):
            return turn
    return None


def _warning(session: admin_pb.Session, turn: admin_pb.TurnRecord) -> Panel:
    readings = [
        reading for reading in turn.decision.readings if reading.severity == pb.SEVERITY_WARNING
    ]
    rotation = next(
        (rotation for rotation in session.rotations if rotation.sequence == turn.sequence), None
    )
    action = (
        "none needed yet"
        if rotation is None
        else (f"rotate: previous {rotation.previous or ABSENT}, new {rotation.next or ABSENT}")
    )
    return Panel(
        title="CIRCUIT BREAKER: WARNING",
        facts=(
            *_evidence(readings),
            ("Iteration", _of_maximum(session, turn)),
            ("Action", action),
            ("Override", f"FORCE CONTINUE: {_continue(session)}"),
        ),
    )


def _trip(session: admin_pb.Session, turn: admin_pb.TurnRecord) -> Panel:
    readings = [
        reading for reading in turn.decision.readings if reading.severity == pb.SEVERITY_BREAK
    ] or list(turn.decision.readings)
    totals = session.totals
    counts = (
        f"{totals.turns} iterations run, {totals.files_changed} files changed, "
        f"{totals.errors_distinct} distinct errors, {len(session.approaches)} approaches tried"
    )
    saved = session.saved_path or f"in the journal: `sidecar explain {session.session_id}`"
    return Panel(
        title="CIRCUIT BREAKER: TRIPPED",
        facts=(
            *_evidence(readings),
            ("Iteration", _of_maximum(session, turn)),
            ("Totals", counts),
            ("State saved", saved),
            *(
                (f"Way on {number}", way.format(session_id=session.session_id))
                for number, way in enumerate(WAYS_ON, 1)
            ),
            ("Override", f"FORCE CONTINUE: {_continue(session)}"),
        ),
    )


def _evidence(readings: Sequence[pb.Reading]) -> Iterator[tuple[str, str]]:
    for reading in readings:
        yield "Signal", f"{reading.signal} ({_reason(reading)})"
        yield "Count / limit", f"{reading.value:g} / {reading.threshold:g}"
        yield "Evidence", reading.summary
        yield "Diagnosis", DIAGNOSES.get(reading.signal, "See the evidence.")


def _of_maximum(session: admin_pb.Session, turn: admin_pb.TurnRecord) -> str:
    limits = session.limits
    most = str(limits.max_turns) if limits.HasField("max_turns") else "no limit"
    return f"{turn.sequence} / {most}"


def _continue(session: admin_pb.Session) -> str:
    return f"`sidecar sessions continue {session.session_id} --reason ...`"
