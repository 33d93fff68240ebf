"""Durations and times as JSON has them, in seconds and nanoseconds as the wire has them.

Not by protobuf's own: it refuses what is beyond its range, which is no wrong form and is treated as
over gRPC, and takes blanks, underscores, digits of other scripts and offsets of 99 hours.
"""

import re
from datetime import date
from typing import Final

Span = tuple[int, int]
"""Seconds, and nanoseconds from 0; of a duration both have its sign."""

SECONDS_MAX: Final = 2**63 - 1
"""As many as the wire has. What has more digits is beyond any range, as this is."""

SECONDS_DIGITS_MAX: Final = 18
DAY_S: Final = 86_400
EPOCH_DAYS: Final = date(1970, 1, 1).toordinal()

_DURATION: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?s")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
"""Of RFC 3339, section 5.6; a leap second is the first of the next minute, as POSIX counts."""


def duration_of(text: str) -> Span | None:
    """The duration, also one that is beyond the wire's range; None: it is none."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction = found.groups()
    digits = whole.lstrip("0")
    seconds = int(digits or "0") if len(digits) <= SECONDS_DIGITS_MAX else SECONDS_MAX
    nanos = _nanos(fraction)
    return (-seconds, -nanos) if sign else (seconds, nanos)


def time_of(text: str) -> Span | None:
    """The time since the epoch, also one that is beyond the wire's range; None: it is none."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    fraction, sign, hours, minutes = found.groups()[6:]
    try:
        # The calendar repeats itself after 400 years, and Python's has no year 0.
        days = date(year or 400, month, day).toordinal() - EPOCH_DAYS - (0 if year else 146_097)
    except ValueError:  # no such day
        return None
    offset_s = (int(hours) * 60 + int(minutes)) * 60 if sign else 0
    seconds = days * DAY_S + (hour * 60 + minute) * 60 + second
    return seconds - offset_s if sign != "-" else seconds + offset_s, _nanos(fraction)


def _nanos(fraction: str | None) -> int:
    return int((fraction or "0")[:9].ljust(9, "0"))
