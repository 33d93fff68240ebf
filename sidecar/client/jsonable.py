"""What JSON has in a value that is not all JSON, or too large."""

import math
from collections import UserDict
from itertools import islice
from typing import Any, Final

from sidecar.client.budget import Budget
from sidecar.client.interruption import is_from_signal
from sidecar.client.shape import Shape, shape_of_type

ITEMS_MAX: Final = 1000
"""Of one mapping or list."""
COUNT_MAX: Final = 2**63 - 1  # the wire's int64
_DEPTH_MAX: Final = 32


class Jsonable:
    """Reads one value; what is no JSON in it goes by its string or, failing that, by its type."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._shapes: dict[type, Shape] = {}

    def of(self, value: Any, depth: int = 0) -> object:
        """The value, or what stands for it at this depth."""
        kind = type(value)
        if depth >= _DEPTH_MAX or not self._budget.take_part():
            return kind.__name__
        if kind not in self._shapes:
            self._shapes[kind] = shape_of_type(kind)
        match self._shapes[kind]:
            case Shape.TRUTH:
                return value
            case Shape.TEXT:
                return self._budget.take_text(str.__str__(value))
            case Shape.REAL if math.isfinite(value):
                return value
            case Shape.WHOLE if abs(value) <= COUNT_MAX:
                return value
            case Shape.MAPPING:
                # The data of a UserDict, since its own views are slow.
                mapping = value.data if issubclass(kind, UserDict) else value
                pairs = islice(mapping.items(), ITEMS_MAX)
                return {self._key(key): self.of(item, depth + 1) for key, item in pairs}
            case Shape.ITEMS:
                return [self.of(item, depth + 1) for item in islice(value, ITEMS_MAX)]
            case _:
                return value if value is None else self._string(value)

    def _key(self, key: object) -> str:
        return self._budget.take_text(key) if type(key) is str else self._string(key)

    def _string(self, value: object) -> str:
        try:
            self._budget.spend(self._budget.weigh(value))
            return self._budget.take_text(str(value))
        except Exception as error:  # the caller notes the fault
            if is_from_signal(error):
                raise
            return type(value).__name__
