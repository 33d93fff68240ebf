"""How many turns a run has, in the words of its title."""

from collections.abc import Sequence

from sidecar.v1 import session_service_pb2 as admin_pb
from sidecar.wording import counted


def turns_told(session: admin_pb.Session, turns: Sequence[admin_pb.TurnRecord]) -> str:
    """All turns up to the last sequence, which `sidecar sessions` shows, and those that the run
    inherited beside them; how many of these never counted, as far as the turns tell it."""
    totals = session.totals
    rejected = sum(turn.decision.HasField("rejection") for turn in turns)
    known = totals.turns + totals.turns_missing + rejected
    inherited = max(0, known - session.last_sequence) if session.previous_session_id else 0
    kinds = (inherited, "inherited"), (totals.turns_missing, "missing"), (rejected, "rejected")
    parts = [f"{count} {kind}" for count, kind in kinds if count]
    if parts:
        count, _, kind = parts[0].partition(" ")
        parts[0] = f"{count} of them {kind}"
    return ", ".join([counted(session.last_sequence + inherited, "turn"), *parts])
