"""Whatever a caller gives, as values that the wire takes.

Nothing here raises for a value: one that cannot be sent becomes text or None, and the name of its
field is noted in `faults`.
"""

import json
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.client.interruption import is_from_signal
from sidecar.client.shrink import TEXT_BYTES_MAX, cut

T = TypeVar("T")
C = TypeVar("C")

COUNT_MAX: Final = 2**63 - 1  # the wire's int64
_SECONDS_MAX: Final = 253_402_300_799  # 9999-12-31T23:59:59Z, the bound of a Timestamp
_DURATION_MAX_S: Final = 315_576_000_000  # 10,000 years, the bound of a Duration
_DEPTH_MAX: Final = 32
_ITEMS_MAX: Final = 1000
_PARTS_MAX: Final = 200_000
"""Of one value, a shared part as often as it is written: 40 lists, each with the one before it
twice, would be a terabyte, and the encoder lets no other thread run. So many take some 20 ms."""
_LEVELS_MAX: Final = 1000
"""As many as Python writes out, by its default bound on recursion."""
_WITH_PARTS: Final = (dict, list, tuple, set, frozenset, BaseException)


class Intake:
    """Reads one report; `faults` names the fields that could not be sent as they were."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def fault(self, field: str) -> None:
        """Notes that the field was changed or left out."""
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
            if math.isnan(seconds) or issubclass(type(given), (str, bytes, bytearray)):
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
        return self.guarded(field, lambda given: choices[string(given)], value)

    def text(self, field: str, value: object, bytes_max: int = TEXT_BYTES_MAX) -> str:
        """A text, cut to so many bytes; anything that is no text is a fault, and sent as one."""
        if value is None:
            return ""
        match value:
            case str():
                plain = str.__str__(value)
            case bytes() | bytearray():
                self.fault(field)
                plain = bytes(value).decode("utf-8", "replace")
            case _:
                self.fault(field)
                plain = self._plain(field, value)
        return self._encodable(field, plain, bytes_max)

    def name(self, field: str, value: object) -> str:
        """A short text, cut to 128 bytes: what names something is exported no longer than that."""
        text = self.text(field, value)
        return text.encode()[:128].decode("utf-8", "ignore")

    def any_text(self, field: str, value: object) -> str:
        """Text as it is; anything else as JSON, or as near to it as it comes. Not cut."""
        match value:
            case str():
                plain = str.__str__(value)
            case bytes() | bytearray():
                plain = bytes(value).decode("utf-8", "replace")
            case BaseException():
                plain = self.error_text(field, value)
            case _:
                plain = self._json(field, value)
        return self._encodable(field, plain, None)

    def error_text(self, field: str, error: BaseException) -> str:
        """Type and message of an exception, as a traceback's last line has it."""
        message = self.guarded(field, string, error) or ""
        kind = type(error).__name__
        return f"{kind}: {message}" if message else kind

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
        """A mapping with names for keys."""

        def read(given: Mapping[object, object]) -> dict[str, object]:
            pairs = islice(given.items(), _ITEMS_MAX)
            return {str(key): item for key, item in pairs}

        return self.guarded(field, read, value) or {}  # type: ignore[arg-type]

    def _json(self, field: str, value: object) -> str:
        try:
            _require_bounded(value)
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except Exception as error:  # a caller's object may raise anything; it is counted
            if is_from_signal(error):
                raise
            self.fault(field)
        as_json = self.guarded(field, lambda given: json.dumps(_Jsonable().of(given)), value)
        return as_json if as_json is not None else type(value).__name__

    def _plain(self, field: str, value: object) -> str:
        text = self.guarded(field, string, value)
        return type(value).__name__ if text is None else str.__str__(text)

    def _encodable(self, field: str, text: str, bytes_max: int | None) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates
            self.fault(field)
            text = text.encode("utf-8", "replace").decode()
        return text if bytes_max is None else cut(text, bytes_max)


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


def string(value: object) -> str:
    """The value's string. Raises ValueError where that takes more than its bounds, and
    whatever the value raises."""
    _require_bounded(value)
    return str(value)


def _require_bounded(value: object) -> None:
    """Raise ValueError for a value of more than _PARTS_MAX parts or _LEVELS_MAX levels, such as one
    that holds itself."""
    level: list[Any] = [(value,)]
    parts = 0
    for _ in range(_LEVELS_MAX):
        inner = [_parts_of(each) for each in level]
        parts += sum(map(len, inner))
        if parts > _PARTS_MAX:
            raise ValueError("too many parts")
        level = [each for some in inner for each in some if isinstance(each, _WITH_PARTS)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _parts_of(value: Any) -> Collection[object]:
    match value:
        case dict():
            return value.values()
        case BaseException():
            return value.args
        case _:
            items: Collection[object] = value
            return items


class _Jsonable:
    """What JSON has in one value; the rest by its string or, failing that, by its type."""

    def __init__(self) -> None:
        self._parts_left = _PARTS_MAX

    def of(self, value: object, depth: int = 0) -> object:
        """The value, or what stands for it at this depth."""
        self._parts_left -= 1
        if depth >= _DEPTH_MAX or self._parts_left < 0:
            return type(value).__name__
        match value:
            case None | bool() | str():
                return value
            case float() if math.isfinite(value):
                return value
            case int() if abs(value) <= COUNT_MAX:
                return value
            case Mapping():
                pairs = islice(value.items(), _ITEMS_MAX)
                return {_string(key): self.of(item, depth + 1) for key, item in pairs}
            case list() | tuple() | set() | frozenset():
                return [self.of(item, depth + 1) for item in islice(value, _ITEMS_MAX)]
            case _:
                return _string(value)


def _string(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # the caller notes the fault
        if is_from_signal(error):
            raise
        return type(value).__name__
