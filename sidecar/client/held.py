"""Directives that reached the client when nobody was waiting for them."""

from collections.abc import Callable

from sidecar.client.decision import is_unasked, kind_of, says_nothing
from sidecar.client.directive import Kind
from sidecar.v1 import run_pb2 as pb


class Held:
    """At most one decision of each kind that turns got, and one of each that no turn asked for.

    The newer takes the place of the older. A weaker one is of no use once a stronger and newer one
    was handed over.
    """

    def __init__(self) -> None:
        self._decisions: list[pb.Decision] = []
        self._unasked_seen = ""
        """Id of the last one handed over that no turn asked for."""

    def __repr__(self) -> str:
        return f"Held({[(str(kind_of(one)), one.sequence) for one in self._decisions]})"

    def add(self, decision: pb.Decision) -> None:
        """Keeps a decision for the next report, unless it says nothing."""
        if says_nothing(decision):
            return
        if kind_of(decision) is Kind.PROCEED and is_unasked(decision):
            # Somebody let the run go on: what was said of it before is settled.
            self._keep(lambda one: is_unasked(one) or one.sequence > decision.sequence)
        for twin in self._decisions:
            if kind_of(twin) is kind_of(decision) and is_unasked(twin) is is_unasked(decision):
                if twin.sequence > decision.sequence:
                    return
                self._keep(lambda one, twin=twin: one is not twin)  # type: ignore[misc]
        self._decisions.append(decision)

    def add_unasked(self, decision: pb.Decision) -> None:
        """Keeps one that no turn asked for, unless it was handed over last: until a turn follows it
        the sidecar says it again on each stream."""
        if not decision.decision_id or decision.decision_id != self._unasked_seen:
            self.add(decision)

    def strongest(self, own: pb.Decision | None) -> pb.Decision | None:
        """Takes the strongest of those held and the one given, which is held if it is not it."""
        if own is not None:
            self.add(own)
        if not self._decisions:
            return own
        best = max(self._decisions, key=_rank)
        self._handed_over(best)
        return best

    def strongest_unasked(self) -> pb.Decision | None:
        """Takes the strongest that no turn asked for."""
        best = max(filter(is_unasked, self._decisions), key=_rank, default=None)
        if best is not None:
            self._handed_over(best)
        return best

    @property
    def has_unasked(self) -> bool:
        """Whether one is held that no turn asked for."""
        return any(map(is_unasked, self._decisions))

    def part(self) -> None:
        """The session is another now: what is held stays of use, but answers no turn of it."""
        for index, decision in enumerate(self._decisions):
            parted = pb.Decision()
            parted.CopyFrom(decision)
            parted.sequence = 0
            self._decisions[index] = parted

    def _handed_over(self, best: pb.Decision) -> None:
        if is_unasked(best):
            self._unasked_seen = best.decision_id
        strength = kind_of(best).strength
        self._keep(
            lambda one: (
                one is not best
                and (one.sequence > best.sequence or kind_of(one).strength > strength)
            )
        )

    def _keep(self, wanted: Callable[[pb.Decision], bool]) -> None:
        self._decisions = [one for one in self._decisions if wanted(one)]


def _rank(decision: pb.Decision) -> tuple[int, bool, int]:
    return kind_of(decision).strength, is_unasked(decision), decision.sequence
