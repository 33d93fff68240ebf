"""What a driver's reply has to look like, whatever it says."""

from typing import Any, Final

from sidecar.conformance.driver import Reply
from sidecar.conformance.faults import Departure
from sidecar.conformance.matching import shown

KINDS: Final = ("proceed", "rotate", "commit", "halt")
REASONS: Final = ("", "connect", "timeout", "stream", "rejected", "draining", "internal")

_NUMBER_MAX: Final = 2**53
"""As far as JSON's numbers are exact; beyond 2**1024 an integer is no float any more."""


def check_reply(reply: Reply, slack_ms: float) -> None:
    """Raises Departure where the time that the driver says is not what passed here."""
    elapsed_ms = reply.body.get("elapsed_ms")
    if elapsed_ms is None:
        return
    if not is_number(elapsed_ms) or elapsed_ms < 0:
        raise Departure(f"elapsed_ms is milliseconds, 0 or more, not {elapsed_ms!r}")
    took_ms = reply.took_s * 1000
    # Two processes have to be scheduled for a reply to be read: twice the slack, and some.
    if abs(took_ms - elapsed_ms) > 2.5 * slack_ms:
        raise Departure(f"the driver says {elapsed_ms:.0f} ms; its reply took {took_ms:.0f} ms")


def check_directive(body: dict[str, Any]) -> dict[str, Any]:
    """The directive of a reply, with elapsed_ms beside its fields. Raises Departure."""
    directive = body.get("directive")
    if not isinstance(directive, dict) or not is_number(body.get("elapsed_ms")):
        raise Departure(
            f"a reply has `directive`, an object, and `elapsed_ms`, a number, not {shown(body)}"
        )
    for field, good in (
        ("kind", directive.get("kind") in KINDS),
        ("instruction", isinstance(directive.get("instruction"), str)),
        ("late", isinstance(directive.get("late"), bool)),
        ("fail_open_reason", directive.get("fail_open_reason") in REASONS),
        ("wait_max_ms", is_number(directive.get("wait_max_ms"))),
        ("decision", isinstance(directive.get("decision", {}), dict)),
    ):
        if not good:
            raise Departure(f"directive.{field} cannot be {directive.get(field)!r}")
    if directive["fail_open_reason"] and _is_own(directive):
        raise Departure(
            "directive.fail_open_reason is for a turn without a decision of its own, not "
            f"{directive['fail_open_reason']!r} beside {shown(directive['decision'])}"
        )
    return {**directive, "elapsed_ms": body["elapsed_ms"]}


def _is_own(directive: dict[str, Any]) -> bool:
    """Whether it is that of the very turn that was reported."""
    cause = directive.get("decision", {}).get("cause")
    return cause == "CAUSE_TURN" and not directive["late"]


def is_number(value: Any) -> bool:
    """Whether it is a number that can be reckoned with, and not a truth."""
    is_any = isinstance(value, int | float) and not isinstance(value, bool)
    return is_any and abs(value) <= _NUMBER_MAX
