"""What an opening may say, before a session is made of it."""

from typing import Final

from sidecar.core.opening import Opening
from sidecar.refusal import Reason, Refusal

SESSION_ID_BYTES_MAX: Final = 128
FIRST_AVAILABLE_MAX: Final = 2**31
"""Half of what a sequence can count to: the turns that follow need numbers too."""


def require_valid(opening: Opening) -> None:
    """Raise Refusal for names that are too long to be kept, and for a sequence near the end."""
    names = {
        "session_id": opening.session_id,
        "previous_session_id": opening.previous_session_id,
    }
    for field, name in names.items():
        if len(name.encode("utf-8", "replace")) > SESSION_ID_BYTES_MAX:
            raise Refusal(
                Reason.OPEN_INVALID,
                f"a session id has at most {SESSION_ID_BYTES_MAX} bytes",
                field=f"open.{field}",
            )
    if opening.first_available_sequence > FIRST_AVAILABLE_MAX:
        raise Refusal(
            Reason.OPEN_INVALID,
            f"the first available sequence is at most {FIRST_AVAILABLE_MAX}",
            field="open.first_available_sequence",
        )
