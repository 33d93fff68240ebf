"""Panels of each kind, with what all of a kind have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    heatmap,
    logs,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import heatmap as heatmap_options

from grafana.src.queries import INFINITY_SOURCE, PROMETHEUS_SOURCE

GREEN, YELLOW, ORANGE, RED, BLUE, GREY = "green", "yellow", "orange", "red", "blue", "text"
STATE_COLORS: Final = {"healthy": GREEN, "warning": YELLOW, "tripped": RED, "recovery": BLUE}
DIRECTIVE_COLORS: Final = {"proceed": GREEN, "rotate": YELLOW, "commit": ORANGE, "halt": RED}
SEVERITY_COLORS: Final = {"notice": BLUE, "warning": YELLOW, "break": RED}

Steps = Sequence[tuple[float | None, str]]
Fields = Mapping[str, Mapping[str, Any]]
"""Overrides: of a field's name, the properties by their ids."""


def steps(*pairs: tuple[float | None, str]) -> build.ThresholdsConfig:
    """Absolute thresholds; the first has no value."""
    made = [model.Threshold(value=value, color=color) for value, color in pairs]
    return build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(made)


PLAIN: Final[Steps] = ((None, GREEN),)


def stat_panel(
    title: str, description: str, *queries: Any, unit: str, at: Steps = PLAIN, **more: Any
) -> Any:
    """One number, with a spark line where the query is over time."""
    panel = _common(stat.Panel(), title, description, queries, unit, at, **more)
    reduce = common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)
    if "fields" in more:
        reduce = reduce.fields(more["fields"])
    return (
        panel.reduce_options(reduce)
        .color_scheme(_BY_THRESHOLD)
        .color_mode(options.BigValueColorMode.VALUE)
        .graph_mode(options.BigValueGraphMode.AREA)
        .text_mode(options.BigValueTextMode.VALUE if "fields" in more else _AUTO)
    )


_AUTO: Final = options.BigValueTextMode.AUTO
_BY_THRESHOLD: Final = build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS)


def lines(
    title: str, description: str, *queries: Any, unit: str, at: Steps = PLAIN, **more: Any
) -> Any:
    """Lines over time; the thresholds are drawn where there is more than one."""
    panel = _common(timeseries.Panel(), title, description, queries, unit, at, **more)
    if len(at) > 1:
        style = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
        panel = panel.thresholds_style(style)
    return _legend(panel).line_width(1).fill_opacity(8).show_points(options.VisibilityMode.AUTO)


def stacked(title: str, description: str, *queries: Any, unit: str, **more: Any) -> Any:
    """Bars over time, one upon the other."""
    panel = _common(timeseries.Panel(), title, description, queries, unit, PLAIN, **more)
    stacking = common.StackingConfig().mode(options.StackingMode.NORMAL).group("A")
    return (
        _legend(panel)
        .draw_style(options.GraphDrawStyle.BARS)
        .line_width(1)
        .fill_opacity(70)
        .stacking(stacking)
    )


def points(
    title: str, description: str, *queries: Any, unit: str, at: Steps = PLAIN, **more: Any
) -> Any:
    """Points over time: for what is not measured at every moment."""
    panel = lines(title, description, *queries, unit=unit, at=at, **more)
    return (
        panel.draw_style(options.GraphDrawStyle.POINTS)
        .point_size(7)
        .show_points(options.VisibilityMode.ALWAYS)
    )


def heat_map(title: str, description: str, query: Any, *, unit: str, **more: Any) -> Any:
    """Buckets over time, exemplars upon them."""
    panel = _common(heatmap.Panel(), title, description, [query], unit, PLAIN, **more)
    color = (
        heatmap.HeatmapColorOptions()
        .mode(heatmap_options.HeatmapColorMode.SCHEME)
        .scheme("Oranges")
        .scale(heatmap_options.HeatmapColorScale.EXPONENTIAL)
        .exponent(0.5)
        .steps(64)
    )
    return (
        panel.calculate(False)
        .color(color)
        .cell_gap(1)
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(options.AxisPlacement.LEFT))
        .exemplars_color("rgba(115, 191, 105, 0.9)")
        .show_legend()
        .hide_from(common.HideSeriesConfig().tooltip(False).legend(False).viz(False))
    )


def bars(
    title: str,
    description: str,
    *queries: Any,
    unit: str,
    at: Steps = PLAIN,
    rows: bool = False,
    **more: Any,
) -> Any:
    """A bar for each series, or, where `rows`, for each row of a table."""
    panel = _common(bargauge.Panel(), title, description, queries, unit, at, **more)
    reduce = common.ReduceDataOptions().calcs(["lastNotNull"]).values(rows)
    return (
        panel.reduce_options(reduce)
        .color_scheme(_BY_THRESHOLD)
        .display_mode(options.BarGaugeDisplayMode.GRADIENT)
        .orientation(options.VizOrientation.HORIZONTAL)
        .show_unfilled(True)
    )


def grid(title: str, description: str, *queries: Any, **more: Any) -> Any:
    """A table. `sort` has the columns that it is sorted by, and whether the most comes first."""
    unit = more.pop("unit", "short")
    panel = _common(table.Panel(), title, description, queries, unit, PLAIN, **more)
    sort: Mapping[str, bool] = more.get("sort", {})
    if sort:
        panel = panel.sort_by(
            [
                common.TableSortByFieldState().display_name(name).desc(is_falling)
                for name, is_falling in sort.items()
            ]
        )
    return panel.cell_height(options.TableCellHeight.SM).filterable(True)


def timeline(
    title: str,
    description: str,
    *queries: Any,
    mappings: list[Any],
    unit: str = "none",
    **more: Any,
) -> Any:
    """What something was, over time."""
    panel = _common(statetimeline.Panel(), title, description, queries, unit, PLAIN, **more)
    return (
        panel.mappings(mappings)
        .merge_values(True)
        .show_value(options.VisibilityMode.AUTO)
        .row_height(0.8)
        .line_width(0)
        .fill_opacity(70)
        .legend(_legend_options())
    )


def log_panel(title: str, description: str, query: Any, *, source: Any, **more: Any) -> Any:
    """Log lines."""
    panel = logs.Panel().title(title).description(description).datasource(source)
    return (
        _sized(panel, **more).with_target(query.ref_id("A")).show_time(True).wrap_log_message(True)
    )


def named(colors: Mapping[str, str], texts: Mapping[str, str] | None = None) -> list[Any]:
    """Value mappings: a colour, and where it has one another text, for each value."""
    given = texts or {}
    results = {
        value: model.ValueMappingResult(text=given.get(value, value), color=color, index=index)
        for index, (value, color) in enumerate(colors.items())
    }
    return [model.ValueMap(options=results)]


def _common(
    panel: Any,
    title: str,
    description: str,
    queries: Sequence[Any],
    unit: str,
    at: Steps,
    **more: Any,
) -> Any:
    panel = panel.title(title).description(" ".join(description.split())).unit(unit)
    panel = _sized(panel.thresholds(steps(*at)), **more)
    panel = panel.datasource(more.get("source", PROMETHEUS_SOURCE))
    for letter, query in zip("ABCDEFGHIJ", queries, strict=False):
        panel = panel.with_target(_lettered(query, letter))
    for name in ("decimals", "min", "max", "no_value", "transformations", "interval", "links"):
        if name in more:
            panel = getattr(panel, name)(more[name])
    if "data_links" in more:
        panel = panel.data_links(more["data_links"])
    colors: Mapping[str, str] = more.get("colors", {})
    for name, color in colors.items():
        fixed = {"mode": "fixed", "fixedColor": color}
        panel = panel.override_by_name(name, [model.DynamicConfigValue("color", fixed)])
    fields: Fields = more.get("fields_by_name", {})
    for name, properties in fields.items():
        values = [model.DynamicConfigValue(each, value) for each, value in properties.items()]
        panel = panel.override_by_name(name, values)
    return panel


def _lettered(query: Any, letter: str) -> Any:
    if hasattr(query, "ref_id"):
        return query.ref_id(letter)
    query.query.data["refId"] = letter
    return query


def _sized(panel: Any, **more: Any) -> Any:
    return panel.height(more.get("height", 8)).span(more.get("span", 8))


def _legend(panel: Any) -> Any:
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI)
    return panel.legend(_legend_options()).tooltip(tooltip.sort(options.SortOrder.DESCENDING))


def _legend_options() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(options.LegendDisplayMode.LIST)
        .placement(options.LegendPlacement.BOTTOM)
        .show_legend(True)
    )


API: Final[dict[str, Any]] = {"source": INFINITY_SOURCE}
"""For a panel that reads the sidecar's JSON API."""
