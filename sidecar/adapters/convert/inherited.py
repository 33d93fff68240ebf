"""Errors of a run that goes on from another, read from a run file.

A run tells distinct errors apart by their keyed fingerprints, those that it inherited among them,
and an exported fingerprint has the error's kind in it already. Read like an agent's, which has not,
it would take the kind in again and be none of the inherited ones, whose kinds nobody knows any
more. So here both are keyed once more as they stand.
"""

from dataclasses import replace

from sidecar.adapters.convert.turns_in import TurnReader, keyed
from sidecar.core.run import Run
from sidecar.core.story import ERROR_BYTES
from sidecar.core.turn import Failure, Turn
from sidecar.core.value import value
from sidecar.ports import Rejected
from sidecar.v1 import run_pb2 as pb


@value
class SuccessorReader:
    """Reads the exported turns of a run that goes on from another."""

    reader: TurnReader

    def read(self, wire: pb.Turn) -> Turn | Rejected:
        """The turn, or why it cannot be counted. Never raises."""
        turn = self.reader.read(wire)
        match turn:
            case Turn() if wire.failures:
                pairs = zip(turn.failures, wire.failures, strict=True)
                failures = tuple(self._failure(failure, exported) for failure, exported in pairs)
                return replace(turn, failures=failures)
            case _:
                return turn

    def inherited(self, run: Run) -> Run:
        """The run that it goes on with, its errors keyed as those of the turns will be."""
        packed = run.state.totals.errors
        errors = b"".join(
            self._keyed(packed[at : at + ERROR_BYTES].hex())
            for at in range(0, len(packed), ERROR_BYTES)
        )
        totals = replace(run.state.totals, errors=errors)
        return replace(run, state=replace(run.state, totals=totals))

    def _failure(self, read: Failure, exported: pb.Failure) -> Failure:
        if not exported.fingerprint:
            return read
        strict = exported.fingerprint_strict or exported.fingerprint
        return Failure(
            kind=read.kind,
            fingerprint=self._keyed(exported.fingerprint),
            strict=self._keyed(strict),
        )

    def _keyed(self, fingerprint: str) -> bytes:
        return keyed(self.reader.key, fingerprint)
