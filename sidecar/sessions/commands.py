"""What an operator may say, before it is done to a run."""

from typing import Final

from sidecar.core.opening import Closing, Command, Continue, Idle, Reset, Verdict
from sidecar.refusal import Reason, Refusal

REASON_BYTES_MAX: Final = 1024
"""A few sentences. The journal keeps them for each command, the snapshot those of a close."""

REQUEST_ID_BYTES_MAX: Final = 128
"""As any id. A longer one is refused and not cut: cut, two requests could become one."""

EXTRA_MAX: Final = 2**31
"""More turns or tokens than any run takes, and far from what a sum could overflow at."""


def require_valid(command: Command | Closing) -> None:
    """Raise Refusal for texts that are too long to be kept, and for extensions beyond any use."""
    match command:
        case Continue():
            _require_short("reason", command.reason, REASON_BYTES_MAX)
            _require_short("request_id", command.request_id, REQUEST_ID_BYTES_MAX)
            _require_extension("extra_turns", command.extra_turns)
            _require_extension("extra_input_tokens", command.extra_input_tokens)
        case Reset():
            _require_short("reason", command.reason, REASON_BYTES_MAX)
            _require_short("request_id", command.request_id, REQUEST_ID_BYTES_MAX)
        case Closing():
            _require_short("reason", command.reason, REASON_BYTES_MAX)
        case Idle() | Verdict():
            pass


def _require_short(field: str, text: str, bytes_max: int) -> None:
    length = len(text.encode("utf-8", "replace"))
    if length > bytes_max:
        raise Refusal(
            Reason.REQUEST_INVALID,
            f"at most {bytes_max} bytes of {field}, not {length}",
            field=field,
        )


def _require_extension(field: str, count: int) -> None:
    if not 0 <= count <= EXTRA_MAX:
        raise Refusal(Reason.REQUEST_INVALID, f"from 0 to {EXTRA_MAX}, please", field=field)
