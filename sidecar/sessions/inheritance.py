"""The run that a session goes on with, as text, and back.

The text stands beside the opening in the journal, so that a session can be restored from its
journal alone, and in run files, so that a replay begins where the session did. A run file may be
anybody's: what could not be a run's is SnapshotInvalid, and what a run takes over from none (its
turns so far, its breaker) begins afresh, whatever the text says of it.
"""

import json
from typing import Final

from sidecar.core.bounds import COUNT_MAX
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.core.snapshot import SnapshotInvalid

INHERITED_BYTES_MAX: Final = 128 * 1024
"""Above what 32 approaches and 32 rotations take, each letter of their names escaped."""

NUMBER_MAX: Final = 2**96
"""Above what 2^32 turns of the largest amounts sum to, and far from what a float overflows at."""

TEXT_MAX: Final = 1024
"""Characters of one text: 64 error fingerprints take 684, a name at most 128 bytes."""

ITEMS_MAX: Final = 64
"""Of one list: as many suggestions are remembered, and fewer of all else."""


def written(run: Run) -> str:
    """A run as text, of ASCII characters."""
    return json.dumps(run.encode(), separators=(",", ":"))


def read_back(text: str, *, session_id: str, policy: Policy, observed: bool) -> Run:
    """The run that goes on with what `written` made a text of. Raises SnapshotInvalid."""
    if len(text) > INHERITED_BYTES_MAX:
        raise SnapshotInvalid("", f"at most {INHERITED_BYTES_MAX} bytes")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise SnapshotInvalid("", "not JSON") from None
    _require_ordinary(body)
    run = Run.decode(session_id, policy, body, observed=observed)
    claims = run.state.claims
    for limits in (run.state.limits, claims.asked):
        if max(limits.max_turns or 0, limits.input_tokens_max or 0) > COUNT_MAX:
            raise SnapshotInvalid("body.state.limits", f"at most {COUNT_MAX}")
    if max(claims.extra_turns, claims.extra_input_tokens) > COUNT_MAX:
        raise SnapshotInvalid("body.state.claims", f"at most {COUNT_MAX}")
    # What was written is a successor, and the successor of one is the same again.
    return run.successor(session_id, policy, observed=observed)


def _require_ordinary(body: object) -> None:
    """Raise SnapshotInvalid for what no run writes, wherever it stands."""
    pending = [body]
    while pending:
        match pending.pop():
            case bool() | None:
                pass
            case int() | float() as number if not 0 <= number <= NUMBER_MAX:
                raise SnapshotInvalid("", "a number below 0, or beyond what runs sum to")
            case str() as text if len(text) > TEXT_MAX or not _is_unicode(text):
                raise SnapshotInvalid("", f"a text above {TEXT_MAX} characters, or not Unicode")
            case list() as items if len(items) > ITEMS_MAX:
                raise SnapshotInvalid("", f"a list of more than {ITEMS_MAX}")
            case list() as items:
                pending += items
            case dict() as parts:
                pending += parts.keys()
                pending += parts.values()


def _is_unicode(text: str) -> bool:
    """Whether the wire can carry it: JSON can name half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
