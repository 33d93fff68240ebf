"""Holds JSON that came against JSON that was expected.

An object is matched where everything that it names is there: more does no harm. A list is matched
item by item. An object whose only key begins with `$` is a condition, as `{"$max": 200}`; the
conditions are the functions below.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from sidecar.conformance.faults import TableError

_SHOWN_MAX: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The outcome: where it differs, and what was bound to a name on the way."""

    fault: str = ""
    """Path, what was expected, and what came; empty: it matches."""
    bound: Mapping[str, Any] = field(default_factory=dict)


def match(expected: Any, came: Any) -> Match:
    """Holds one against the other. Raises TableError for a condition that there is not."""
    bound: dict[str, Any] = {}
    return Match(fault=_fault(expected, came, "", bound), bound=bound)


def shown(value: Any) -> str:
    """A value for a person, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}... ({len(text)} characters)"


def _fault(expected: Any, came: Any, path: str, bound: dict[str, Any]) -> str:
    match expected:
        case Mapping() if len(expected) == 1 and next(iter(expected)).startswith("$"):
            return _conditional(expected, came, path, bound)
        case Mapping():
            if not isinstance(came, Mapping):
                return _differs(path, expected, came)
            faults = (
                _fault(item, came.get(key), f"{path}.{key}" if path else key, bound)
                for key, item in expected.items()
            )
            return next(filter(None, faults), "")
        case list():
            if not isinstance(came, list) or len(came) != len(expected):
                return "" if not expected and came is None else _differs(path, expected, came)
            faults = (
                _fault(item, other, f"{path}[{index}]", bound)
                for index, (item, other) in enumerate(zip(expected, came, strict=True))
            )
            return next(filter(None, faults), "")
        case _:
            return "" if _equal(expected, came) else _differs(path, expected, came)


def _equal(expected: Any, came: Any) -> bool:
    if came is None:
        # proto3 JSON leaves a field out that has its default.
        return expected is None or expected is False or expected in ("", 0)
    number = _number(came)
    if isinstance(expected, bool) or isinstance(came, bool) or number is None:
        return type(expected) is type(came) and bool(expected == came)
    return bool(expected == came or _number(expected) == number)


def _number(value: Any) -> float | None:
    """A number, also as proto3 JSON writes one of 64 bits: in a string."""
    match value:
        case bool():
            return None
        case int() | float():
            return float(value)
        case str() if re.fullmatch(r"-?[0-9]{1,19}", value):
            return float(value)
        case _:
            return None


def _differs(path: str, expected: Any, came: Any) -> str:
    return f"{path or 'it'}: expected {shown(expected)}, came {shown(came)}"


def _conditional(condition: Mapping[str, Any], came: Any, path: str, bound: dict[str, Any]) -> str:
    ((name, argument),) = condition.items()
    if name == "$as":
        bound[argument] = came
        return "" if came else _differs(path, condition, came)
    if name == "$all":
        return next(filter(None, (_fault(one, came, path, bound) for one in argument)), "")
    holds = CONDITIONS.get(name)
    if holds is None:
        raise TableError(f"no condition {name!r}; there are {', '.join(CONDITIONS)}, $as, $all")
    return "" if holds(argument, came) else _differs(path, condition, came)


def _min(argument: Any, came: Any) -> bool:
    number = _number(came)
    return number is not None and number >= argument


def _max(argument: Any, came: Any) -> bool:
    number = 0.0 if came is None else _number(came)
    return number is not None and number <= argument


def _one_of(argument: Any, came: Any) -> bool:
    return any(not match(one, came).fault for one in argument)


def _matches(argument: Any, came: Any) -> bool:
    return isinstance(came, str) and re.fullmatch(argument, came, re.DOTALL) is not None


def _bytes_max(argument: Any, came: Any) -> bool:
    return isinstance(came, str) and len(came.encode()) <= argument


def _includes(argument: Any, came: Any) -> bool:
    items = came if isinstance(came, list) else []
    return all(any(not match(one, item).fault for item in items) for one in argument)


def _absent(argument: Any, came: Any) -> bool:
    return (came is None) is bool(argument)


def _not(argument: Any, came: Any) -> bool:
    return bool(match(argument, came).fault)


def _length(argument: Any, came: Any) -> bool:
    return isinstance(came, list | str) and not match(argument, len(came)).fault


CONDITIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "$min": _min,
        "$max": _max,
        "$one_of": _one_of,
        "$matches": _matches,
        "$bytes_max": _bytes_max,
        "$includes": _includes,
        "$absent": _absent,
        "$not": _not,
        "$length": _length,
    }
)
