"""Panels drawn as SVG and HTML: not as Grafana draws them, but of the same data."""

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tests.observability.frames import Frames, Line, lines_of, seconds, shown

COLORS: Final = {
    "green": "#3f9a46",
    "yellow": "#d9a600",
    "orange": "#f2750d",
    "red": "#d92b3f",
    "blue": "#2f6fd0",
    "purple": "#8f4bc4",
    "text": "#8a8f98",
}
PALETTE: Final = (
    "#2f6fd0", "#3f9a46", "#f2750d", "#8f4bc4", "#d9a600", "#1a9fb0", "#d92b3f", "#7a5c3e",
    "#c2569b", "#6b7280", "#86b53c", "#4455aa",
)  # fmt: skip
LEGEND_MAX: Final = 14
ROWS_MAX: Final = 14
EXEMPLARS_MAX: Final = 80
LEFT, BOTTOM = 64, 20


def draw(panel: Mapping[str, Any], frames: Frames, width: int, height: int) -> str:
    """What stands in a panel of so many pixels."""
    if frames.note:
        return f'<p class="note">{html.escape(frames.note)}</p>'
    match panel["type"]:
        case "stat":
            return _stat(panel, frames, width, height)
        case "bargauge":
            return _bars(panel, frames)
        case "table":
            return _table(panel, frames)
        case "heatmap":
            return _heatmap(panel, frames, width, height)
        case "state-timeline":
            return _timeline(panel, frames, width, height)
        case _:
            return _series(panel, frames, width, height)


def _defaults(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    defaults: Mapping[str, Any] = panel["fieldConfig"]["defaults"]
    return defaults


def _properties(panel: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {
        each["id"]: each["value"]
        for over in panel["fieldConfig"]["overrides"]
        if over["matcher"]["options"] == name
        for each in over["properties"]
    }


def _threshold_color(steps: Sequence[Mapping[str, Any]], value: float) -> str:
    color = str(steps[0]["color"])
    for step in steps[1:]:
        if value >= step["value"]:
            color = step["color"]
    return COLORS.get(color, color)


def _mapped(mappings: Sequence[Mapping[str, Any]], value: object) -> tuple[str, str] | None:
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    for each in mappings:
        if text in each["options"]:
            found: Mapping[str, str] = each["options"][text]
            return found["text"], COLORS.get(found["color"], found["color"])
    return None


def _empty(panel: Mapping[str, Any]) -> str:
    return f'<p class="none">{html.escape(_defaults(panel).get("noValue", "No data"))}</p>'


def _stat(panel: Mapping[str, Any], frames: Frames, width: int, height: int) -> str:
    defaults = _defaults(panel)
    value: Any = None
    line = ""
    if frames.rows:
        value = frames.rows[-1][frames.columns[0]]
    elif frames.lines:
        points = frames.lines[0].points
        value = points[-1][1]
        if len(points) > 1:
            line = _spark(points, width, height)
    if value is None:
        return _empty(panel)
    mapped = _mapped(defaults.get("mappings", []), value)
    text = shown(value, defaults["unit"], defaults.get("decimals"))
    color = COLORS["text"]
    if mapped:
        text, color = mapped
    elif not isinstance(value, str):
        color = _threshold_color(defaults["thresholds"]["steps"], float(value))
    return f'{line}<p class="big" style="color:{color}">{html.escape(text)}</p>'


def _spark(points: Sequence[tuple[float, float]], width: int, height: int) -> str:
    most = max(value for _, value in points) or 1
    first, last = points[0][0], points[-1][0]
    path = " ".join(
        f"{(at - first) / (last - first) * width:.0f},{height - value / most * height * 0.45:.0f}"
        for at, value in points
    )
    return (
        f'<svg class="spark" width="{width}" height="{height}">'
        f'<polyline points="{path}" fill="none" stroke="#9db7e8" stroke-width="1.5"/></svg>'
    )


def _bars(panel: Mapping[str, Any], frames: Frames) -> str:
    defaults = _defaults(panel)
    pairs = [(line.name, line.points[-1][1]) for line in frames.lines]
    if frames.rows:
        name, number = frames.columns
        pairs = [(str(row[name]), float(row[number])) for row in frames.rows]
    if panel["targets"][0].get("format") == "heatmap":
        pairs = _per_bucket(pairs)
    if not pairs:
        return _empty(panel)
    most = defaults.get("max") or max(value for _, value in pairs) or 1
    drawn = []
    for name, value in pairs[:ROWS_MAX]:
        fixed = _properties(panel, name).get("color", {}).get("fixedColor")
        color = COLORS.get(fixed) or _threshold_color(defaults["thresholds"]["steps"], value)
        text = shown(value, defaults["unit"], defaults.get("decimals"))
        drawn.append(
            f'<div class="bar"><span class="label">{html.escape(name)}</span><span class="track">'
            f'<span style="width:{100 * value / most:.1f}%;background:{color}"></span></span>'
            f'<span class="value" style="color:{color}">{html.escape(text)}</span></div>'
        )
    return "".join(drawn)


def _per_bucket(pairs: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Counts of buckets that include those below them, each by itself."""
    ordered = sorted(pairs, key=lambda pair: float(pair[0]))
    befores = [0.0, *(value for _, value in ordered)]
    return [
        (name, max(0.0, value - before))
        for (name, value), before in zip(ordered, befores, strict=False)
    ]


def _table(panel: Mapping[str, Any], frames: Frames) -> str:
    hidden = {name for name in frames.columns if _properties(panel, name).get("custom.hidden")}
    columns = [name for name in frames.columns if name not in hidden]
    if not frames.rows:
        return _empty(panel)
    rows = list(frames.rows)
    for sort in reversed(panel["options"].get("sortBy", [])):
        rows.sort(key=lambda row: row.get(sort["displayName"]) or 0, reverse=sort["desc"])
    head = "".join(
        f'<th class="{_kind(rows[0].get(name))}">'
        f"{html.escape(_properties(panel, name).get('displayName', name))}</th>"
        for name in columns
    )
    body = "".join(
        "<tr>" + "".join(_cell(panel, name, row.get(name)) for name in columns) + "</tr>"
        for row in rows[:40]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(panel: Mapping[str, Any], name: str, value: object) -> str:
    own = _properties(panel, name)
    defaults = _defaults(panel)
    decimals = own.get("decimals", defaults.get("decimals"))
    is_time = name in ("Time", "Opened", "Active")
    unit = "dateTime" if is_time and value else own.get("unit", defaults["unit"])
    text = shown(value, unit, decimals if isinstance(value, float) else None)
    style = ""
    mapped = _mapped(own.get("mappings", []), value)
    if mapped:
        text = mapped[0]
        style = f' style="color:{mapped[1]};font-weight:600"'
    elif "thresholds" in own and isinstance(value, int | float):
        style = f' style="color:{_threshold_color(own["thresholds"]["steps"], value)}"'
    text = html.escape(text)
    text = f"<a>{text}</a>" if "links" in own else text
    return f'<td class="{_kind(value)}"{style}>{text}</td>'


def _kind(value: object) -> str:
    return "num" if isinstance(value, int | float) else "txt"


class _Axes:
    """Where a time and a value are in a chart."""

    def __init__(
        self, width: int, height: int, times: tuple[float, float], most: float, unit: str
    ) -> None:
        self.width, self.height, self.most, self.unit = width, height, most or 1.0, unit
        self.first, self.last = times
        if self.last <= self.first:
            self.last = self.first + 1

    def x(self, at: float) -> float:
        share = (at - self.first) / (self.last - self.first)
        return LEFT + 7 + share * (self.width - LEFT - 22)

    def y(self, value: float) -> float:
        return 6 + (1 - min(value, self.most) / self.most) * (self.height - BOTTOM - 6)

    def grid(self) -> str:
        drawn = []
        for step in range(5):
            value = self.most * step / 4
            y = self.y(value)
            drawn.append(
                f'<line x1="{LEFT}" x2="{self.width - 8}" y1="{y:.0f}" y2="{y:.0f}" class="grid"/>'
                f'<text x="{LEFT - 6}" y="{y + 4:.0f}" class="tick" text-anchor="end">'
                f"{html.escape(shown(value, self.unit))}</text>"
            )
        return "".join(drawn) + self.times()

    def times(self) -> str:
        drawn = []
        for step in range(4):
            at = self.first + (self.last - self.first) * step / 3
            text = datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
            anchor = "end" if step == 3 else "start" if step == 0 else "middle"
            drawn.append(
                f'<text x="{self.x(at):.0f}" y="{self.height - 5}" class="tick" '
                f'text-anchor="{anchor}">{text}</text>'
            )
        return "".join(drawn)


def _series(panel: Mapping[str, Any], frames: Frames, width: int, height: int) -> str:
    lines = frames.lines or lines_of(frames)
    if not lines:
        return _empty(panel)
    defaults = _defaults(panel)
    custom = defaults.get("custom", {})
    style = custom.get("drawStyle", "line")
    times = [at for line in lines for at, _ in line.points]
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    totals: dict[float, float] = {}
    for line in lines:
        for at, value in line.points:
            totals[at] = totals.get(at, 0) + value if stacked else max(totals.get(at, 0), value)
    most = max(totals.values()) * 1.05
    limits = [step["value"] for step in defaults["thresholds"]["steps"][1:]]
    if limits and custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        most = max(most, limits[0] * 1.1)
    axes = _Axes(width, height, (min(times), max(times)), most, defaults["unit"])
    colors = [_color(panel, line.name, at) for at, line in enumerate(lines)]
    drawn = [axes.grid()]
    if style == "bars":
        drawn.append(_stack(axes, lines, colors))
    else:
        drawn += [
            _line(axes, each, color, style) for each, color in zip(lines, colors, strict=True)
        ]
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        drawn += [_limit(axes, step) for step in defaults["thresholds"]["steps"][1:]]
    chart = f'<svg width="{width}" height="{height}">{"".join(drawn)}</svg>'
    return chart + _legend([line.name for line in lines], colors)


def _color(panel: Mapping[str, Any], name: str, at: int) -> str:
    fixed = _properties(panel, name).get("color", {}).get("fixedColor")
    return COLORS.get(fixed, PALETTE[at % len(PALETTE)])


def _line(axes: _Axes, line: Line, color: str, style: str) -> str:
    if style == "points" or len(line.points) == 1:
        return "".join(
            f'<circle cx="{axes.x(at):.1f}" cy="{axes.y(value):.1f}" r="4" fill="{color}"/>'
            for at, value in line.points
        )
    path = " ".join(f"{axes.x(at):.1f},{axes.y(value):.1f}" for at, value in line.points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>'


def _stack(axes: _Axes, lines: Sequence[Line], colors: Sequence[str]) -> str:
    times = sorted({at for line in lines for at, _ in line.points})
    wide = max(1.5, (axes.width - LEFT - 8) / max(1, len(times)) * 0.8)
    below = dict.fromkeys(times, 0.0)
    drawn = []
    for line, color in zip(lines, colors, strict=True):
        for at, value in line.points:
            top, bottom = axes.y(below[at] + value), axes.y(below[at])
            below[at] += value
            drawn.append(
                f'<rect x="{axes.x(at) - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" '
                f'height="{bottom - top:.1f}" fill="{color}"/>'
            )
    return "".join(drawn)


def _limit(axes: _Axes, step: Mapping[str, Any]) -> str:
    if step["value"] > axes.most:
        return ""
    y, color = axes.y(step["value"]), COLORS.get(step["color"], step["color"])
    return (
        f'<line x1="{LEFT}" x2="{axes.width - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="{color}" '
        'stroke-width="1.2" stroke-dasharray="6 4"/>'
    )


def _legend(names: Sequence[str], colors: Sequence[str]) -> str:
    items = [
        f'<span><i style="background:{color}"></i>{html.escape(name)}</span>'
        for name, color in list(zip(names, colors, strict=True))[:LEGEND_MAX]
    ]
    more = f"<span>and {len(names) - LEGEND_MAX} more</span>" if len(names) > LEGEND_MAX else ""
    return f'<div class="legend">{"".join(items)}{more}</div>'


def _heatmap(panel: Mapping[str, Any], frames: Frames, width: int, height: int) -> str:
    lines = sorted(frames.lines, key=lambda line: float(line.name))
    if not lines:
        return _empty(panel)
    times = [at for at, _ in lines[0].points]
    axes = _Axes(width, height, (times[0], times[-1]), 1.0, "s")
    tall = (height - BOTTOM - 6) / len(lines)
    wide = (width - LEFT - 8) / max(1, len(times))
    below = dict.fromkeys(times, 0.0)
    cells: list[tuple[float, int, float]] = []
    for row, line in enumerate(lines):
        for at, value in line.points:
            cells.append((at, row, max(0.0, value - below.get(at, 0.0))))
            below[at] = value
    most = max(count for *_, count in cells) or 1
    unit = panel["fieldConfig"]["defaults"]["unit"]
    drawn = [axes.times()]
    for at, row, count in cells:
        if count > 0:
            drawn.append(
                f'<rect x="{axes.x(at) - wide / 2:.1f}" y="{_row_y(height, tall, row):.1f}" '
                f'width="{wide - 0.5:.1f}" height="{tall - 1:.1f}" fill="#f2750d" '
                f'fill-opacity="{0.12 + 0.88 * (count / most) ** 0.5:.2f}"/>'
            )
    for row, line in enumerate(lines):
        drawn.append(
            f'<text x="{LEFT - 6}" y="{_row_y(height, tall, row) + 4:.0f}" class="tick" '
            f'text-anchor="end">{html.escape(shown(float(line.name), unit))}</text>'
        )
    bounds = [float(line.name) for line in lines]
    for at, value in frames.exemplars[:: max(1, len(frames.exemplars) // EXEMPLARS_MAX)]:
        if times[0] <= at <= times[-1]:
            row = next(number for number, bound in enumerate(bounds) if value <= bound)
            drawn.append(
                f'<circle cx="{axes.x(at):.1f}" cy="{_row_y(height, tall, row) + tall / 2:.1f}" '
                'r="3" fill="#3f9a46"/>'
            )
    return f'<svg width="{width}" height="{height}">{"".join(drawn)}</svg>'


def _row_y(height: int, tall: float, row: int) -> float:
    return height - BOTTOM - tall * (row + 1)


def _timeline(panel: Mapping[str, Any], frames: Frames, width: int, height: int) -> str:
    mappings = _defaults(panel)["mappings"]
    if frames.rows:
        series = [
            ("State", [(seconds(row["Time"]), row["State"]) for row in frames.rows if row["Time"]])
        ]
    else:
        series = [(line.name, list(line.points)) for line in frames.lines]
    if not series:
        return _empty(panel)
    times = [at for _, points in series for at, _ in points]
    axes = _Axes(width, height, (min(times), max(times)), 1.0, "none")
    tall = (height - BOTTOM) / len(series)
    drawn = [axes.times()]
    for row, (name, points) in enumerate(series):
        drawn.append(
            f'<text x="2" y="{row * tall + 12:.0f}" class="tick">{html.escape(name)}</text>'
        )
        for (at, value), end in zip(
            points, [*[at for at, _ in points[1:]], axes.last], strict=True
        ):
            text, color = _mapped(mappings, value) or (str(value), COLORS["text"])
            drawn.append(
                f'<rect x="{axes.x(at):.1f}" y="{row * tall + 16:.1f}" fill="{color}" '
                f'width="{max(1.0, axes.x(end) - axes.x(at)):.1f}" height="{tall - 20:.1f}">'
                f"<title>{html.escape(text)}</title></rect>"
            )
    results = mappings[0]["options"].values()
    names = [each["text"] for each in results]
    colors = [COLORS.get(each["color"], each["color"]) for each in results]
    return f'<svg width="{width}" height="{height}">{"".join(drawn)}</svg>{_legend(names, colors)}'
