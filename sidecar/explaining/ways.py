"""What a person can do about a run, as commands that can be pasted."""

import json
from collections.abc import Iterator
from enum import Enum
from typing import Final

from sidecar.core.wording import explaining, operand
from sidecar.v1 import session_service_pb2 as admin_pb

CONTINUE: Final = "`sidecar sessions continue --reason ... {operand}`"

DEBUG: Final = "`debug`"

WAYS_ON: Final = (
    (
        "{there}resume with fresh context and the same state: open a new session with "
        "previous_session_id = {quoted}"
    ),
    f"switch to the {DEBUG} preset in a new session, to diagnose before changing anything",
    f"{{there}}fix it by hand, then {CONTINUE}",
)


class Source(Enum):
    """Where a run was read: the words before what is done at its sidecar; None: it has none."""

    SIDECAR = ""
    FILE = "at the sidecar that holds it: "
    NAMELESS_FILE = None


def ways_on(session: admin_pb.Session, source: Source) -> Iterator[tuple[str, str]]:
    """The ways on of a tripped run, and where its state is."""
    word = operand(session.session_id)
    if source is Source.SIDECAR:
        in_journal = f"in the journal: `{explaining(session.session_id)}`"
        yield "State saved", session.saved_path or in_journal
    # Nobody can let a closed session go on, and none can be named that has no name.
    shut = CONTINUE if session.closed else ""
    nameless = "{there}" if source is Source.NAMELESS_FILE else ""
    here = DEBUG if session.policy == "debug" else ""
    left_out = [word for word in (shut, nameless, here) if word]
    open_ways = (way for way in WAYS_ON if not any(word in way for word in left_out))
    quoted = json.dumps(session.session_id, ensure_ascii=not session.session_id.isprintable())
    for number, way in enumerate(open_ways, 1):
        yield f"Way on {number}", way.format(operand=word, quoted=quoted, there=source.value)


def going_on(session_id: str) -> str:
    """The command that lets a run go on in spite of its signals."""
    return CONTINUE.format(operand=operand(session_id))


def override(session: admin_pb.Session, source: Source) -> Iterator[tuple[str, str]]:
    """How a run is let go on in spite of its signals; nothing where nobody can."""
    if not session.closed and source is not Source.NAMELESS_FILE:
        go_on = going_on(session.session_id)
        yield "Override", f"{source.value}FORCE CONTINUE: {go_on}"
