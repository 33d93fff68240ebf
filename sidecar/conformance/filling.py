"""Variables in the values of a table.

`"${name}"` alone is the variable's value; within a longer text it is written out. `${name:8}` is
the first eight characters, `${name+1}` a number moved by one. `{"$repeat": ["x", 3]}` is "xxx", and
of anything but a text it makes a list.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from sidecar.conformance.faults import TableError

_VARIABLE: Final = re.compile(r"\$\{([a-z_]+)(?:([:+-])([0-9]+))?\}")


def fill(value: Any, variables: Mapping[str, Any]) -> Any:
    """The value with every variable in its place. Raises TableError for one that is not set."""
    match value:
        case str():
            whole = _VARIABLE.fullmatch(value)
            if whole is not None:
                return _value(whole, variables)
            return _VARIABLE.sub(lambda found: str(_value(found, variables)), value)
        case {"$repeat": [str(piece), times]}:
            return fill(piece, variables) * int(fill(times, variables))
        case {"$repeat": [piece, times]}:
            return [fill(piece, variables)] * int(fill(times, variables))
        case Mapping():
            return {str(fill(key, variables)): fill(item, variables) for key, item in value.items()}
        case list():
            return [fill(item, variables) for item in value]
        case _:
            return value


def _value(found: "re.Match[str]", variables: Mapping[str, Any]) -> Any:
    name, operation, number = found.groups()
    if name not in variables:
        raise TableError(f"no variable {name!r} here; there are {', '.join(sorted(variables))}")
    value = variables[name]
    match operation:
        case ":":
            return str(value)[: int(number)]
        case "+":
            return int(value) + int(number)
        case "-":
            return int(value) - int(number)
        case _:
            return value
