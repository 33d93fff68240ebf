"""What a panel's queries have brought, as a person is shown it: lines, numbers, tables."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Point = tuple[float, float]
"""Seconds since the epoch, and a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series."""

    name: str
    points: Sequence[Point]


@dataclass(slots=True, kw_only=True)
class Frames:
    """All that a panel has."""

    lines: list[Line] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    exemplars: list[Point] = field(default_factory=list)
    note: str = ""
    """In place of data that is not to be had here."""


def line_of(target: Mapping[str, Any], series: Mapping[str, Any]) -> Line:
    """A series of Prometheus under its legend."""
    labels = series["metric"]
    legend = target.get("legendFormat") or ", ".join(map(str, labels.values()))
    name = re.sub(r"\{\{(\w+)\}\}", lambda match: str(labels.get(match[1], "")), legend)
    values = series.get("values") or [series["value"]]
    points = [(float(at), float(value)) for at, value in values]
    # A quantile of nothing is no number.
    return Line(name=name, points=[(at, value) for at, value in points if math.isfinite(value)])


def merged(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Frames:
    """Instant results by their query's letter, rows with the same labels put together."""
    frames = Frames()
    rows: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for letter, series in found.items():
        name = f"Value #{letter}" if len(found) > 1 else "Value"
        for each in series:
            labels = tuple(sorted(each["metric"].items()))
            row = rows.setdefault(labels, dict(labels))
            row[name] = float(each["value"][1])
    frames.rows = list(rows.values())
    for row in frames.rows:
        frames.columns += [name for name in row if name not in frames.columns]
    return frames


def organized(frames: Frames, transformations: Sequence[Mapping[str, Any]]) -> Frames:
    """The table after Grafana's transformation `organize`."""
    for each in transformations:
        if each["id"] != "organize":
            continue
        hidden = each["options"].get("excludeByName", {})
        names = each["options"].get("renameByName", {})
        kept = [name for name in frames.columns if not hidden.get(name)]
        rows = [
            {names.get(name, name): value for name, value in row.items()} for row in frames.rows
        ]
        places = each["options"].get("indexByName", {})
        kept.sort(key=lambda name: places.get(name, len(places)))
        return Frames(columns=[names.get(name, name) for name in kept], rows=rows)
    return frames


def lines_of(frames: Frames) -> list[Line]:
    """The numeric columns of a table with a time, as lines."""
    found = []
    for name in frames.columns:
        points = [
            (seconds(str(row["Time"])), float(row[name]))
            for row in frames.rows
            if name != "Time" and isinstance(row.get(name), int | float)
        ]
        if points:
            found.append(Line(name=name, points=points))
    return found


def seconds(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()


SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: object, unit: str, decimals: int | None = None) -> str:
    """A value in a unit, roughly as Grafana writes it."""
    if value is None:
        return ""
    if unit.startswith("dateTime"):
        return datetime.fromisoformat(str(value)).astimezone(UTC).strftime("%H:%M:%S")
    if isinstance(value, str):
        return value
    number = float(str(value))
    match unit:
        case "percentunit":
            return f"{_number(100 * number, decimals)} %"
        case "currencyUSD":
            return f"${number:,.{2 if decimals is None else decimals}f}"
        case "s":
            return _time(number)
        case "dtdurations":
            return f"{number / 60:.0f} min" if number >= 120 else f"{number:.0f} s"
        case "bytes":
            return f"{number / 2**20:.0f} MiB"
        case "opm":
            return f"{_number(number, decimals)}/min"
        case "ops":
            return f"{_number(number, decimals)}/s"
        case _:
            return _number(number, decimals)


def _time(number: float) -> str:
    if math.isinf(number):
        return "∞"
    if number >= 1:
        return f"{number:.3g} s"
    return f"{1e3 * number:.3g} ms" if number >= 1e-3 else f"{1e6 * number:.3g} µs"


def _number(number: float, decimals: int | None) -> str:
    if math.isinf(number):
        return "∞"
    if decimals is not None and abs(number) < 1e4:
        return f"{number:.{decimals}f}"
    for scale, letter in SCALES:
        if abs(number) >= scale:
            return f"{number / scale:.3g} {letter}"
    return f"{number:.3g}"
