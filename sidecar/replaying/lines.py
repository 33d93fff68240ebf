"""What a line of a run file must be, before it is replayed: alike in the fold and over the wire."""

from typing import Final

from sidecar.adapters.convert import limits_in
from sidecar.refusal import Reason, Refusal, message_too_large
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

ACTIONS: Final = '"continue", "reset", "idle", "verdict"'


UNOPENED: Final = (
    "the run is not open, and nothing is decided until it is: "
    'the first line of a run file is {"open": ...}'
)


OF_THE_FIRST: Final = ("inherited_json", "granted_limits")


class Recording:
    """One run file while it is read: whose run it is, and whether all of it could be read."""

    def __init__(self) -> None:
        self.has_lost_lines = False
        """Whether a line before could not be read. What is missing after it was in it."""
        self._first = run_pb2.Open()
        """The `open` that the run began with, as the file has it."""
        self._is_another = False
        """Whether the lines are of another session by now."""
        self._is_said_unopened = False

    def takes(
        self,
        line: pb.RunFileLine,
        *,
        session_id: str,
        last_sequence: int | None,
        message_bytes_max: int,
    ) -> bool:
        """Whether the line is of the run that the file began with; its turn gets a number. Of the
        lines before a run is open the first is refused, and no other is taken.

        `session_id` is of the session that is open, and `last_sequence` of its last turn; empty and
        None where nothing is open. `message_bytes_max` is in bytes. Raises Refusal for a line that
        cannot be replayed.
        """
        which = line.WhichOneof("message")
        if which != "open" or session_id:
            self._require_alone(line)
        if which == "open":
            self._open(line.open, session_id)
        elif not session_id:
            return self._without_open()
        if self._is_another:
            return False
        if last_sequence is not None and which == "turn":
            line.turn.sequence = line.turn.sequence or last_sequence + 1
        if last_sequence is not None and which == "command":
            self._check_command(line.command, last_sequence)
        # An agent sends neither commands nor rejected turns, nor what its session inherits.
        is_sent = which not in ("command", "rejected") and not line.inherited_json
        if is_sent and line.ByteSize() > message_bytes_max:
            self.has_lost_lines = True
            raise message_too_large(line.ByteSize(), message_bytes_max)
        return True

    def resumption(
        self, later: run_pb2.Open, *, begun: run_pb2.Open, is_policy_replaced: bool
    ) -> run_pb2.Open:
        """The `open` that a later one of the file stands for: as the run was begun, but for what
        the later one says and the file's first does not, which a session refuses."""
        first = self._first
        resumed = run_pb2.Open()
        resumed.CopyFrom(begun)
        resumed.first_available_sequence = later.first_available_sequence
        if later.policy and later.policy != first.policy and not is_policy_replaced:
            resumed.policy = later.policy
        if later.HasField("limits") and limits_in(later.limits) != limits_in(first.limits):
            # Begun under the limits that its journal says it was given, it would take those for
            # the ones that it was begun with.
            is_taken = limits_in(later.limits) == limits_in(begun.limits)
            resumed.limits.CopyFrom(first.limits if is_taken else later.limits)
        if later.mode and _is_observed(later) != _is_observed(first):
            resumed.mode = run_pb2.MODE_ENFORCE if _is_observed(begun) else run_pb2.MODE_OBSERVE
        return resumed

    def _open(self, wire: run_pb2.Open, session_id: str) -> None:
        named = wire.session_id
        if not session_id:
            self._first.CopyFrom(wire)
        self._is_another = bool(session_id and named and named != session_id)
        if self._is_another:
            raise Refusal(
                Reason.ALREADY_OPEN,
                f"session {named!r} begins here, and the file is of {session_id!r}: "
                "give each run a file of its own",
            )

    def _require_alone(self, line: pb.RunFileLine) -> None:
        for field, _ in line.ListFields():
            if field.name in OF_THE_FIRST:
                self.has_lost_lines = True
                raise Refusal(
                    Reason.REQUEST_INVALID,
                    f"{field.name} stands here: it is beside the `open` that a run begins with",
                )

    def _without_open(self) -> bool:
        if self._is_said_unopened:
            return False
        self._is_said_unopened = True
        raise Refusal(Reason.OPEN_REQUIRED, UNOPENED)

    def _check_command(self, command: run_pb2.Command, last_sequence: int) -> None:
        if command.WhichOneof("action") is None:
            raise Refusal(
                Reason.REQUEST_INVALID, f"a command without an action: expected one of {ACTIONS}"
            )
        after = command.after_sequence
        was_lost = self.has_lost_lines and after > last_sequence
        # Absent means at its place, as it does for a turn without a sequence.
        if after and after != last_sequence and not was_lost:
            raise Refusal(
                Reason.REQUEST_INVALID,
                f"a command after turn {after}, and the last turn before it is {last_sequence}: "
                f"expected after_sequence {last_sequence}",
            )


def _is_observed(opening: run_pb2.Open) -> bool:
    return opening.mode == run_pb2.MODE_OBSERVE
