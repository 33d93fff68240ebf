"""Charts as inline SVG. Colours and fonts are classes of the page's style."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

from sidecar.evaluation.measures import PROMPT_TURNS, Measures
from sidecar.evaluation.sweep import Sweep
from sidecar.wording import counted

DELAY_LOW: Final = -10
DELAY_HIGH: Final = 20
"""Delays beyond are put into the outermost bars: most are well within, and one run's hundred turns
would leave no room for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    """Pixel of `low`."""
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        span = (self.high - self.low) or 1
        return round(self.start + (value - self.low) / span * (self.end - self.start), 1)


def delays(detectors: Iterable[Measures]) -> str:
    """A histogram for each detector that caught a run with a known start, on one scale."""
    found = [(one, _bars(one.delay.turns)) for one in detectors if one.delay.turns]
    tallest = max((max(bars.values()) for _, bars in found), default=0)
    return "".join(_histogram(one, bars, tallest) for one, bars in found)


def traded(sweep: Sweep) -> str:
    """Turns saved and lost over the threshold."""
    width, height = 720, 330
    values = [point.value for point in sweep.points]
    saved = [point.saved.turns for point in sweep.points]
    lost = [point.lost.turns for point in sweep.points]
    top = max(*saved, *lost, 1)
    across = Axis(low=min(values), high=max(values), start=70, end=width - 110)
    up = Axis(low=0, high=top, start=height - 90, end=20)
    parts = [_gridlines(up, _ticks(top), across)]
    own = across.at(sweep.value)
    parts += [
        f'<line class="own" x1="{own}" x2="{own}" y1="{up.start}" y2="{up.end}"/>',
        _text(own + 5, up.end + 4, f"{sweep.policy}: {sweep.value}", "small"),
    ]
    for name, turns in (("saved", saved), ("lost", lost)):
        points = [
            (across.at(value), up.at(count)) for value, count in zip(values, turns, strict=True)
        ]
        parts += [_line(points, name), _text(points[-1][0] + 10, points[-1][1] + 4, name, name)]
        parts += [
            f'<circle class="{name}" cx="{x}" cy="{y}" r="4"><title>{name} '
            f"{counted(count, 'turn')} at {value}</title></circle>"
            for (x, y), count, value in zip(points, turns, values, strict=True)
        ]
    rows = [("value", values), ("saved", saved), ("lost", lost)]
    rows += [
        ("stuck, BREAK", [point.stuck.count for point in sweep.points]),
        ("solved, BREAK", [point.solved.count for point in sweep.points]),
    ]
    for row, (name, numbers) in enumerate(rows):
        y = up.start + 18 + row * 15
        parts.append(_text(width - 95, y, name, "small"))
        parts += [
            _text(across.at(value), y, f"{number:,}", "small middle")
            for value, number in zip(values, numbers, strict=True)
        ]
    title = f"Turns saved and lost over {sweep.threshold}"
    return _svg(width, height, title, parts)


def _bars(turns: Iterable[int]) -> Counter[int]:
    return Counter(min(max(delay, DELAY_LOW), DELAY_HIGH) for delay in turns)


def _histogram(one: Measures, bars: Counter[int], tallest: int) -> str:
    width, height = 340, 150
    across = Axis(low=DELAY_LOW - 0.5, high=DELAY_HIGH + 0.5, start=28, end=width - 8)
    up = Axis(low=0, high=tallest, start=height - 26, end=28)
    bar = (across.end - across.start) / (DELAY_HIGH - DELAY_LOW + 1)
    parts = [_text(28, 14, f"{one.detector} ({counted(len(one.delay.turns), 'run')})", "name")]
    parts.append(_gridlines(up, _ticks(tallest, most=3), across))
    for delay, count in sorted(bars.items()):
        kind = "prompt" if delay <= PROMPT_TURNS else "late"
        x, y = across.at(delay - 0.5), up.at(count)
        parts.append(
            f'<rect class="{kind}" x="{x + 0.5:.1f}" y="{y}" width="{bar - 1:.1f}" '
            f'height="{up.start - y:.1f}"><title>{counted(delay, "turn")}: {counted(count, "run")}'
            "</title></rect>"
        )
    zero = across.at(0)
    parts.append(f'<line class="own" x1="{zero}" x2="{zero}" y1="{up.start}" y2="{up.end}"/>')
    labels = {DELAY_LOW: f"≤ {DELAY_LOW}", DELAY_HIGH: f"≥ {DELAY_HIGH}"}
    labels |= {delay: str(delay) for delay in (0, PROMPT_TURNS, 10)}
    parts += [
        _text(across.at(delay), height - 10, words, "small middle")
        for delay, words in labels.items()
    ]
    return _svg(width, height, f"Delay of {one.detector}", parts)


def _gridlines(up: Axis, ticks: Sequence[int], across: Axis) -> str:
    return "".join(
        f'<line class="grid" x1="{across.start}" x2="{across.end}" y1="{up.at(tick)}" '
        f'y2="{up.at(tick)}"/>' + _text(across.start - 5, up.at(tick) + 4, f"{tick:,}", "small end")
        for tick in ticks
    )


def _ticks(top: int, most: int = 6) -> list[int]:
    """Round numbers from 0 to at most `top`, of which there are at most `most` above 0."""
    size = max(10 ** floor(log10(top or 1)) // 10, 1)
    step = next(size * part for part in (1, 2, 5, 10, 20, 50, 100) if top // (size * part) <= most)
    return list(range(0, top + 1, step))


def _line(points: Iterable[tuple[float, float]], kind: str) -> str:
    path = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline class="line {kind}" points="{path}"/>'


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'


def _svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>\n"
    )
