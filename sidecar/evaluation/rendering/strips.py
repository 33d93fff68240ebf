"""A strip for each run: its turns as a bar, with the marks of one detector on it."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import Mark
from sidecar.wording import counted

WIDTH: Final = 640
TURN_MAX: Final = 9.0
"""Pixels of a turn where the longest run leaves room for it."""
TURN_MIN: Final = 2.0
"""Pixels of a turn at least; a longer run is shown wider than the others' column."""
TOP: Final = 3
BAR: Final = 8
HEIGHT: Final = 14


def strips(cases: Iterable[Case], detector: str) -> str:
    """All runs, those first that say most: judged, then by how they ended, marked ones first."""
    groups: dict[str, list[Case]] = {name: [] for name, _ in KINDS}
    longest = 1
    for case in cases:
        groups[next(name for name, holds in KINDS if holds(case))].append(case)
        longest = max(longest, case.turns)
    turn = min(TURN_MAX, max(TURN_MIN, WIDTH / longest))
    rows = "".join(
        f"<h4>{name} ({len(found)})</h4>\n" + _rows(found, detector, turn)
        for name, found in groups.items()
        if found
    )
    return f'<div class="wide">{rows}</div>\n'


KINDS: Final = (
    ("Judged stuck", lambda case: case.is_stuck),
    ("Judged not stuck", lambda case: case.is_not_stuck),
    ("Other solved", lambda case: case.is_solved),
    ("Other unsolved", lambda case: case.is_unsolved),
    ("Outcome not known", lambda case: True),
)


def _rows(cases: Sequence[Case], detector: str, turn: float) -> str:
    def weight(case: Case) -> tuple[bool, bool, str]:
        return (
            case.first(detector, Severity.BREAK) is None,
            case.first(detector, Severity.WARNING) is None,
            case.session_id,
        )

    return "".join(
        f'<div class="run"><span title="{escape(case.session_id)}">{escape(case.session_id)}'
        f"</span>{_strip(case, case.marks[detector], turn)}</div>\n"
        for case in sorted(cases, key=weight)
    )


def _strip(case: Case, marks: Iterable[Mark], turn: float) -> str:
    width = max(case.turns * turn, 1)
    kind = {True: "well", False: "badly", None: "unknown"}[case.solved]
    warned = {mark.sequence for mark in marks if mark.severity is Severity.WARNING}
    broken = {mark.sequence for mark in marks if mark.severity is Severity.BREAK}
    return (
        f'<svg width="{width + 8:.0f}" height="{HEIGHT}">'
        f"<title>{escape(_told(case, marks))}</title>"
        f'<path class="{kind}" d="M0 {TOP}h{width:g}v{BAR}h-{width:g}z"/>'
        + _ticks(warned - broken, turn, "warning", TOP, BAR)
        + _ticks(broken, turn, "break", 0, HEIGHT)
        + _start(case, turn)
        + "</svg>"
    )


def _ticks(sequences: Iterable[int], turn: float, kind: str, top: int, height: int) -> str:
    """One path for all turns: a page has thousands."""
    wide = max(turn - 1, 1)
    moves = "".join(
        f"M{(sequence - 1) * turn:g} {top}h{wide:g}v{height}h-{wide:g}z"
        for sequence in sorted(sequences)
    )
    return f'<path class="{kind}" d="{moves}"/>' if moves else ""


def _start(case: Case, turn: float) -> str:
    """A wedge above the turn from which a person found the run stuck."""
    if case.judged is None or case.judged.from_turn is None:
        return ""
    x = (case.judged.from_turn - 1) * turn
    return f'<path class="start" d="M{x - 4:g} 0h8l-4 6z M{x - 0.75:g} 0h1.5v{HEIGHT}h-1.5z"/>'


def _told(case: Case, marks: Iterable[Mark]) -> str:
    words = [f"{case.session_id}: {counted(case.turns, 'turn')}"]
    for severity in (Severity.WARNING, Severity.BREAK):
        mark = next((mark for mark in marks if mark.severity is severity), None)
        if mark:
            words.append(f"{severity.name} at {mark.sequence} ({mark.signal})")
    if case.judged:
        start = f" from {case.judged.from_turn}" if case.judged.from_turn else ""
        words.append(f"judged {'stuck' if case.judged.stuck else 'not stuck'}{start}")
    return ", ".join(words)
