"""Whatever a caller gives, as values that the wire takes.

Nothing here raises for a value: one that cannot be sent becomes text or None, and the name of its
field is noted in `faults`.
"""

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.client.budget import Budget
from sidecar.client.interruption import is_from_signal
from sidecar.client.jsonable import COUNT_MAX, ITEMS_MAX, Jsonable
from sidecar.client.shape import Shape, shape_of
from sidecar.client.shrink import TEXT_BYTES_MAX, cut_lines

T = TypeVar("T")
C = TypeVar("C")

_SECONDS_MAX: Final = 253_402_300_799  # 9999-12-31T23:59:59Z, the bound of a Timestamp
_DURATION_MAX_S: Final = 315_576_000_000  # 10,000 years, the bound of a Duration
_FAULTS_MAX: Final = 1000
"""One is counted; of more names than anybody reads no more are kept."""


class Intake:
    """Reads one report; `faults` names the fields that could not be sent as they were."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._budget = Budget()

    def fault(self, field: str) -> None:
        """Notes that the field was changed or left out."""
        if len(self.faults) < _FAULTS_MAX:
            self.faults.append(field[:64].encode("ascii", "replace").decode())

    def guarded(self, field: str, read: Callable[[C], T], value: C | None) -> T | None:
        """What `read` makes of the value; None if it raises, or if there is none."""
        if value is None:
            return None
        try:
            return read(value)
        except Exception as error:  # a caller's object may raise anything; it is counted
            if is_from_signal(error):
                raise
            self.fault(field)
            return None

    def count(self, field: str, value: object, *, low: int = 0) -> int | None:
        """A whole number from `low` to 2^63 - 1."""
        return self.guarded(field, lambda given: _count(given, low), value)

    def measure(
        self, field: str, value: object, *, low: float = -math.inf, high: float = math.inf
    ) -> float | None:
        """A finite number within the bounds."""

        def read(given: object) -> float:
            number = float(_number(given))
            if not math.isfinite(number) or not low <= number <= high:
                raise ValueError(field)
            return number

        return self.guarded(field, read, value)

    def duration(self, field: str, seconds: object) -> Duration | None:
        """Seconds from 0 on."""
        length_s = self.measure(field, seconds, low=0.0, high=_DURATION_MAX_S)
        if length_s is None:
            return None
        whole = int(length_s)
        return Duration(seconds=whole, nanos=int((length_s - whole) * 1e9))

    def seconds(self, field: str, value: object) -> float | None:
        """A number of seconds, be it below 0 or without end; a text is none."""

        def read(given: object) -> float:
            seconds = float(_number(given))
            if math.isnan(seconds) or shape_of(given) in (Shape.TEXT, Shape.BYTES):
                raise ValueError(field)
            return seconds

        return self.guarded(field, read, value)

    def time(self, field: str, value: object) -> Timestamp | None:
        """A datetime or seconds since the epoch."""
        since_epoch = self.guarded(field, _since_epoch, value)
        since_epoch_s = self.measure(field, since_epoch, low=0.0, high=_SECONDS_MAX)
        if since_epoch_s is None:
            return None
        whole = int(since_epoch_s)
        return Timestamp(seconds=whole, nanos=int((since_epoch_s - whole) * 1e9))

    def choice(self, field: str, value: object, choices: Mapping[str, T]) -> T | None:
        """One of the choices by its name."""
        return self.guarded(field, lambda given: choices[self._string(given)], value)

    def text(self, field: str, value: object, bytes_max: int = TEXT_BYTES_MAX) -> str:
        """A text, cut to so many bytes; anything that is no text is a fault, and sent as one."""
        if value is None:
            return ""
        match shape_of(value):
            case Shape.TEXT:
                plain = str.__str__(value)
            case Shape.BYTES:
                self.fault(field)
                plain = self._decoded(value)
            case _:
                self.fault(field)
                self._budget.renew()
                plain = self._plain(field, value)
        return self.lines(field, [plain], bytes_max)

    def lines(self, field: str, texts: Sequence[str], bytes_max: int = TEXT_BYTES_MAX) -> str:
        """Texts, each on a line of its own, cut to so many bytes together."""
        if len(texts) == 1 and texts[0].isascii() and len(texts[0]) <= bytes_max:
            return texts[0]  # as nearly all are
        for text in texts:
            # Of a text that is cut only what may remain is looked at: it may be of any length.
            ends = (text,) if len(text) <= bytes_max else (text[:bytes_max], text[-bytes_max:])
            if not all(map(_is_encodable, ends)):
                self.fault(field)
        return cut_lines(texts, bytes_max)

    def name(self, field: str, value: object) -> str:
        """A short text, cut to 128 bytes: what names something is exported no longer than that."""
        text = self.text(field, value)
        return text if len(text) <= 32 else text.encode()[:128].decode("utf-8", "ignore")

    def any_text(self, field: str, value: object) -> str:
        """Text as it is; anything else as JSON, or as near to it as it comes. Neither cut nor held
        to be encodable."""
        self._budget.renew()
        match shape_of(value):
            case Shape.TEXT:
                return str.__str__(value)
            case Shape.BYTES:
                return self._decoded(value)
            case Shape.ERROR:
                return self.error_text(field, value)
            case _:
                return self._json(field, value)

    def error_text(self, field: str, error: object) -> str:
        """Type and message of an exception, as a traceback's last line has it."""
        message = self.message(field, error)
        kind = type(error).__name__
        return f"{kind}: {message}" if message else kind

    def message(self, field: str, error: object) -> str:
        """The message of an exception; empty where it has none, or none that can be had."""
        self._budget.renew()
        return self.guarded(field, self._string, error) or ""

    def items(self, field: str, value: object, items_max: int) -> list[object]:
        """The first of an iterable's items; more than that is a fault, and so is None for one."""
        found: list[object] = []

        def read(given: Iterable[object]) -> None:
            for item in islice(iter(given), items_max + 1):
                found.append(item)  # noqa: PERF402 (what came before the iterable raised is kept)

        self.guarded(field, read, value)  # type: ignore[arg-type]
        items = [item for item in found[:items_max] if item is not None]
        if len(items) < len(found):
            self.fault(field)
        return items

    def entries(self, field: str, value: object) -> dict[str, object]:
        """A mapping with names for keys; what came before it raised is kept."""
        found: dict[str, object] = {}

        def read(given: Mapping[object, object]) -> None:
            for key, item in islice(given.items(), ITEMS_MAX):
                name = key if type(key) is str else self.guarded(field, self._string, key)
                if name is not None:
                    found[name] = item

        self.guarded(field, read, value)  # type: ignore[arg-type]
        return found

    def _json(self, field: str, value: object) -> str:
        try:
            weight = self._budget.weigh(value)
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            self._budget.spend(weight)
        except Exception as error:  # a caller's object may raise anything; it is counted
            if is_from_signal(error):
                raise
            self.fault(field)
        else:
            return text
        readable = Jsonable(self._budget)
        as_json = self.guarded(field, lambda given: json.dumps(readable.of(given)), value)
        return as_json if as_json is not None else type(value).__name__

    def _plain(self, field: str, value: object) -> str:
        text = self.guarded(field, self._string, value)
        return type(value).__name__ if text is None else str.__str__(text)

    def _string(self, value: object) -> str:
        """Raises ValueError where the string takes more than is left of the report's budget, and
        whatever the value raises."""
        if shape_of(value) is Shape.TEXT:
            return str.__str__(value)  # of a member of an enumeration its value, and no name
        self._budget.spend(self._budget.weigh(value))
        return str(value)

    def _decoded(self, octets: Any) -> str:
        return self._budget.take_bytes(octets).decode("utf-8", "replace")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def _count(value: object, low: int) -> int:
    try:
        number = operator.index(_number(value))
    except TypeError:
        measured = float(_number(value))
        if not measured.is_integer():
            raise
        number = int(measured)
    if not low <= number <= COUNT_MAX:
        raise ValueError("no count")
    return number


def _number(value: object) -> Any:
    """The value; raises TypeError for a bool, which Python counts with and nobody means to."""
    if isinstance(value, bool):
        raise TypeError("no number")
    return value


def _since_epoch(value: object) -> float:
    match value:
        case datetime():
            return value.timestamp()
        case str():
            raise ValueError("a text is no time")  # "2026" may be a year
        case _:
            return float(_number(value))
