#!/usr/bin/env python3
"""Writes copies of Prometheus rules whose windows and `for` are divided by one factor.

usage: scripts/scale_rules.py FACTOR DIRECTORY RULES.yaml...

So a test, or a person who tries an alert out, sees within a minute what takes an hour otherwise. In
DIRECTORY each file is written under its own name. Divided are `for`, and in expressions the ranges
(`[5m]`, `[1h:5m]`), the offsets, and the seconds that an uptime is compared with; nothing else is touched,
names and other thresholds least of all. Prometheus then has to scrape and evaluate as much more often.

Exit code 2 where a duration would be less than a millisecond.
"""

import re
import sys
from pathlib import Path

UNITS_MS = {
    "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000,
}  # fmt: skip
PART = re.compile(r"(\d+)(ms|[smhdwy])")
DURATION = rf"(?:{PART.pattern})+"
PLACES = re.compile(
    rf"(?P<before>^\s*for:\s*|\boffset\s+|\[)(?P<first>{DURATION})(?P<between>:?)(?P<second>(?:{DURATION})?)",
    re.MULTILINE,
)
AGE = re.compile(r"(uptime_seconds\[\w+\]\) < )(\d+)\b")


def milliseconds(duration: str) -> int:
    """A duration as Prometheus writes it (`1h30m`), in milliseconds."""
    return sum(int(count) * UNITS_MS[unit] for count, unit in PART.findall(duration))


def divided(duration: str, factor: int) -> str:
    """The same divided, in whole milliseconds. Raises ValueError where less than one is left."""
    left_ms = milliseconds(duration) // factor
    if left_ms < 1:
        raise ValueError(f"{duration} divided by {factor} is less than a millisecond")
    return f"{left_ms}ms"


def scaled(text: str, factor: int) -> str:
    """A file of rules with its durations divided. Raises ValueError as `divided` does."""

    def scale(place: re.Match[str]) -> str:
        second = place["second"] and divided(place["second"], factor)
        return f"{place['before']}{divided(place['first'], factor)}{place['between']}{second}"

    text = AGE.sub(lambda age: f"{age[1]}{int(age[2]) / factor}", text)
    return PLACES.sub(scale, text)


def main(arguments: list[str]) -> int:
    """Write the copies; the exit code."""
    if len(arguments) < 3 or not arguments[0].isdecimal() or int(arguments[0]) < 1:
        print(__doc__, file=sys.stderr)
        return 2
    factor, directory = int(arguments[0]), Path(arguments[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in arguments[2:]:
        path = Path(name)
        try:
            text = scaled(path.read_text(encoding="utf-8"), factor)
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        (directory / path.name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
