"""From a block of the configuration to one signal's thresholds.

A signal's thresholds are a `value`, and its fields are the keys: `break_` is written
`break`. What a single field accepts is read off its annotation; what it must be beyond that, the
dataclass itself refuses; what two fields must be to one another is held here, for all signals.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Final, Optional, get_args, get_type_hints

from msgspec import Meta

from sidecar.config.given import Block, ConfigError, Given, Path, dotted, unknown_name, wrong_value
from sidecar.config.values import described, typed
from sidecar.core.signal import Signal
from sidecar.signals import SIGNALS_BY_NAME

COUNT_MAX: Final = 1_000_000_000
"""Above any count of turns, calls or tokens of one run, and exact as a double."""

AMOUNT_MAX: Final = 1e12

CIRCUIT_BREAKER: Final = "circuit_breaker"
"""The founding policy file's block, and the policy that it becomes."""

FOUNDING_SIGNALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no_file_changes": "stall",
        "same_error_hash": "spin",
        "output_decline": "decline",
        "confidence_outcome_divergence": "divergence",
        "kpi_drift": "drift",
    }
)
"""Names in the founding circuit breaker, accepted wherever a policy names a signal."""

FOUNDING_THRESHOLDS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("stall", "warning_threshold"): "warning",
        ("stall", "break_threshold"): "break",
        ("spin", "warning_threshold"): "warning",
        ("spin", "break_threshold"): "break",
        ("decline", "warning_pct"): "warning_ratio",
        ("decline", "break_pct"): "break_ratio",
        ("decline", "baseline_iterations"): "baseline_turns",
    }
)

PERCENT: Final = "_pct"
"""Ends the names of thresholds that are written in per cent, and kept as shares."""

Percent = Annotated[float, Meta(gt=0, le=100)]
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Reached = Annotated[int, Meta(ge=1, le=COUNT_MAX)]
Amount = Annotated[float, Meta(ge=0, le=AMOUNT_MAX)]
Spent = Annotated[float, Meta(gt=0, le=AMOUNT_MAX)]

_OTHER_PAIRS: Final = (
    ("answer_warning", "answer_fruitless_break"),
    ("answer_fruitless_break", "answer_break_window"),
)
"""Those whose names do not say so, as `_pairs` has them."""

_REACHED: Final = ("warning", "break", "window")
"""Ends of the names of counts that 0 would reach before anything has happened."""

_BUDGETS: Final = ("turns_max", "duration_max_s", "input_tokens_max", "cost_usd_max")
"""Limits of a run that 0 would use up as early."""


def signal_name(name: str) -> str:
    """This project's name of a signal, whichever name it is given and however it is written."""
    return FOUNDING_SIGNALS.get(name.lower(), name.lower())


def signal_of(block: Block) -> Signal[Any, Any]:
    """The signal that the last part of the block's key names. Raises ConfigError."""
    signal = SIGNALS_BY_NAME.get(signal_name(block.path[-1]))
    if signal is None:
        raise unknown_name(block, SIGNALS_BY_NAME, kind="signal")
    return signal


def threshold_types(signal: Signal[Any, Any]) -> Mapping[str, Any]:
    """What each threshold of a signal accepts, by the name it is written under."""
    hints = get_type_hints(type(signal.defaults))
    return {
        _written(field.name): _bounded(_written(field.name), hints[field.name])
        for field in fields(signal.defaults)
    }


def _written(field_name: str) -> str:
    return field_name.removesuffix("_")


def _bounded(name: str, hint: Any) -> Any:
    """The annotation with the range that msgspec is to hold it to."""
    if NoneType in get_args(hint):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        return Optional[_bounded(name, inner)]  # noqa: UP045 - `|` refuses a type made at run time
    if hint is float:
        return Spent if name in _BUDGETS else Amount
    if hint is int:
        return Reached if name.endswith(_REACHED) or name in _BUDGETS else Count
    return hint


def thresholds_of(block: Block, signal: Signal[Any, Any], base: Any) -> Any:
    """The base thresholds with those that the block gives. Raises ConfigError."""
    types = threshold_types(signal)
    name_here = block.path[-1]
    is_founding = block.path[0] == CIRCUIT_BREAKER or name_here.lower() in FOUNDING_SIGNALS
    first = [key for of, key in FOUNDING_THRESHOLDS if is_founding and of == signal.name]
    known = ", ".join((*first, *types))
    changes: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for key, part in block.parts(f"off, on, or a table of {known}").items():
        name = FOUNDING_THRESHOLDS.get((signal.name, key.lower()), key)
        if name not in types:
            kind = f"threshold of {name_here}"
            raise unknown_name(part, types, kind=kind, first=first)
        if name in changes:
            raise ConfigError(
                f"{dotted(part.path)} and {dotted(paths[name])} are the same threshold",
                where=part.first.where,
            )
        paths[name] = part.path
        changes[name] = _threshold(key, part, types[name])
    return _built(block, base, changes, paths)


def silenced(thresholds: Any) -> Any:
    """The same with everything off that can be."""
    hints = get_type_hints(type(thresholds))
    return replace(
        thresholds,
        **{name: None for name, hint in hints.items() if NoneType in get_args(hint)},
    )


def _threshold(key: str, block: Block, type_: Any) -> Any:
    if key.lower().endswith(PERCENT):
        return typed(block.path, block.value("a number"), Percent) / 100
    return threshold_value(block.path, block.value(described(type_)), type_)


def threshold_value(path: Path, given: Given, type_: Any) -> Any:
    """The value of one threshold; a flag with nothing in it is not off. Raises ConfigError."""
    if given.is_text and not given.value and NoneType in get_args(type_):
        raise wrong_value(path, given, described(type_))
    return typed(path, given, type_)


def _built(block: Block, base: Any, changes: Mapping[str, Any], paths: Mapping[str, Path]) -> Any:
    names = {_written(field.name): field.name for field in fields(base)}
    try:
        thresholds = replace(base, **{names[name]: value for name, value in changes.items()})
    except ValueError as error:
        problem, _, expected = str(error).partition(": it must be ")
        path = paths.get(_written(problem.split(" ")[0]))
        if path is None or not expected:
            raise ConfigError(f"{dotted(block.path)}: {error}", where=block.first.where) from None
        raise wrong_value(path, block.tree[path], expected) from None
    values = threshold_values(thresholds)
    for low, high in _pairs(values):
        if values[high] < values[low]:
            raise _out_of_order(block, low, high, values, paths)
    return thresholds


def threshold_values(thresholds: Any) -> dict[str, Any]:
    """The thresholds by the names they are written under."""
    return {_written(field.name): getattr(thresholds, field.name) for field in fields(thresholds)}


def brought_along(values: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The changes to one signal's thresholds, and those that their order then asks for: a break
    that falls below its warning takes it along, and a count that outgrows its window does too.

    Of two changed thresholds neither follows the other, so the outcome may still be out of order.
    """
    after = {**values, **changes}
    for low, high in _pairs(after):
        if after[high] < after[low] and (low in changes) is not (high in changes):
            follower, leader = (high, low) if low in changes else (low, high)
            return brought_along(values, {**changes, follower: after[leader]})
    return changes


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names of which the first's value must not be above the second's: a notice comes before the
    warning, the warning before the break, and a count fits into its window."""
    pairs = [
        (name, name.replace(low, high))
        for name in values
        for low, high in (("notice", "warning"), ("warning", "break"))
        if low in name and not name.endswith("_window")
    ]
    for name in values:
        if name.endswith("_window"):
            stem = name.removesuffix("_window")
            pairs += [(count, name) for count in (stem, f"{stem}_warning", f"{stem}_break")]
    return [
        (low, high)
        for low, high in (*pairs, *_OTHER_PAIRS)
        if values.get(low) is not None and values.get(high) is not None
    ]


def _out_of_order(
    block: Block, low: str, high: str, values: Mapping[str, Any], paths: Mapping[str, Path]
) -> ConfigError:
    name, bound, at = (high, low, "least") if high in paths else (low, high, "most")
    path = paths[name]
    key = path[-1].lower()
    is_percent = key.endswith(PERCENT)
    # In the unit and by the names of the file, which need not be those of the thresholds.
    limit = values[bound] * 100 if is_percent else values[bound]
    theirs = paths[bound][-1] if bound in paths else _named_like(key, block, bound)
    return wrong_value(path, block.tree[path], f"at {at} {limit:g}, its {theirs}")


def _named_like(key: str, block: Block, threshold: str) -> str:
    """The name of a threshold of the block's signal, a founding one where the key's is."""
    signal = signal_name(block.path[-1])
    if (signal, key) not in FOUNDING_THRESHOLDS:
        return threshold
    founding = {modern: old for (of, old), modern in FOUNDING_THRESHOLDS.items() if of == signal}
    return founding.get(threshold, threshold)
