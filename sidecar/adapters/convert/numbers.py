"""Measurements off the wire. A number that makes no sense is taken as not measured, which is what
absent means, and what was wrong with it is noted, so that it can be counted."""

import math
import sys
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.core.bounds import COST_MAX_USD
from sidecar.core.turn import Progress, Usage
from sidecar.v1 import run_pb2 as pb

COUNT_MAX: Final = 2**53
"""Counts above it are taken as not said: no JSON number holds them exactly."""
FINITE_MAX: Final = sys.float_info.max
TIME_MAX_S: Final = 253_402_300_800
"""Where google.protobuf.Timestamp ends, in seconds since the epoch: the year 10000."""
_TIME_LAST_S: Final = math.nextafter(TIME_MAX_S, 0)
"""The last time before it: the last nanoseconds, as a double, round up to it."""
DURATION_MAX_S: Final = 315_576_000_000
"""Where google.protobuf.Duration ends: 10,000 years."""

NOT_A_NUMBER: Final = "not_a_number"
TOO_SMALL: Final = "too_small"
TOO_LARGE: Final = "too_large"
END_BEFORE_START: Final = "end_before_start"

Doubts = list[str]
"""What was wrong with each measurement that is taken as not said: one of the four above."""


def counted(value: int, doubts: Doubts) -> int | None:
    """A count from 0 to COUNT_MAX; None: it is none."""
    # Not by `within`: there are a dozen in a turn.
    if 0 <= value <= COUNT_MAX:
        return value
    doubts.append(TOO_SMALL if value < 0 else TOO_LARGE)
    return None


def within(value: float, least: float, most: float, doubts: Doubts) -> float | None:
    """A number from `least` to `most`; None: it is outside, or not a number."""
    if least <= value <= most:
        return value
    # NaN is neither below nor above.
    doubts.append(
        TOO_SMALL if value < least else TOO_LARGE if value > most else NOT_A_NUMBER,
    )
    return None


def finite(value: float, doubts: Doubts) -> float | None:
    """Any number; None: it is an infinity, or not a number."""
    return within(value, -FINITE_MAX, FINITE_MAX, doubts)


def times(wire: pb.Turn, doubts: Doubts) -> tuple[float | None, float | None]:
    """Start and end of a turn in seconds since the epoch; None for what was not said."""
    has = wire.HasField
    start_s = _time_s(wire.start_time, doubts) if has("start_time") else None
    end_s = _time_s(wire.end_time, doubts) if has("end_time") else None
    if start_s is not None and end_s is not None and end_s < start_s:
        doubts.append(END_BEFORE_START)
        return None, end_s
    return start_s, end_s


def duration_s(wire: Duration, doubts: Doubts) -> float | None:
    """Seconds; None: no clock shows so many."""
    return within(wire.seconds + wire.nanos / 1e9, 0, DURATION_MAX_S, doubts)


def usage(wire: pb.Usage, doubts: Doubts) -> Usage:
    """Tokens and cost, as far as they make sense."""
    has = wire.HasField
    return Usage(
        input_tokens=counted(wire.input_tokens, doubts) if has("input_tokens") else None,
        output_tokens=counted(wire.output_tokens, doubts) if has("output_tokens") else None,
        cache_read_input_tokens=counted(wire.cache_read_input_tokens, doubts)
        if has("cache_read_input_tokens")
        else None,
        cache_write_input_tokens=counted(wire.cache_write_input_tokens, doubts)
        if has("cache_write_input_tokens")
        else None,
        context_tokens=counted(wire.context_tokens, doubts) if has("context_tokens") else None,
        context_window=counted(wire.context_window, doubts) if has("context_window") else None,
        cost_usd=within(wire.cost_usd, 0, COST_MAX_USD, doubts) if has("cost_usd") else None,
    )


def progress(wire: pb.Progress, doubts: Doubts) -> Progress:
    """What moved, as far as it makes sense."""
    has = wire.HasField
    return Progress(
        files_changed=counted(wire.files_changed, doubts) if has("files_changed") else None,
        files_changed_outside_plan=counted(wire.files_changed_outside_plan, doubts)
        if has("files_changed_outside_plan")
        else None,
        tasks_completed=counted(wire.tasks_completed, doubts) if has("tasks_completed") else None,
        tasks_aligned=counted(wire.tasks_aligned, doubts) if has("tasks_aligned") else None,
        tests_passed=counted(wire.tests_passed, doubts) if has("tests_passed") else None,
        tests_failed=counted(wire.tests_failed, doubts) if has("tests_failed") else None,
        test_coverage_ratio=within(wire.test_coverage_ratio, 0, 1, doubts)
        if has("test_coverage_ratio")
        else None,
    )


def _time_s(wire: Timestamp, doubts: Doubts) -> float | None:
    return within(wire.seconds + wire.nanos / 1e9, 0, _TIME_LAST_S, doubts)
