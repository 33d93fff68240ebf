"""How values of the core are called in labels and attributes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from sidecar.core.directive import Directive, Strength, strength_of
from sidecar.core.opening import Command, Continue, Idle, Reset, Verdict
from sidecar.core.reading import Reading, Severity

STRENGTH_NAMES: Final[Mapping[Strength, str]] = MappingProxyType(
    {strength: strength.name.lower() for strength in Strength}
)

COMMAND_NAMES: Final[Mapping[type, str]] = MappingProxyType(
    {Continue: "continue", Reset: "reset", Idle: "idle", Verdict: "verdict"}
)


def directive_name(directive: Directive) -> str:
    """proceed, rotate, commit or halt."""
    return STRENGTH_NAMES[strength_of(directive)]


def command_name(command: Command) -> str:
    """continue, reset, idle or verdict."""
    return COMMAND_NAMES[type(command)]


def severity_name(reading: Reading) -> str:
    """break, warning, or notice: a warning that the breaker does not count; none."""
    match reading.severity:
        case Severity.BREAK:
            return "break"
        case Severity.WARNING:
            return "notice" if reading.notice else "warning"
        case Severity.NONE:
            return "none"
        case _:
            assert_never(reading.severity)
