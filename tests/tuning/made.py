"""Cases without files, and folding that is a function."""

from collections.abc import Callable, Sequence

from sidecar.evaluation.cases import Case
from sidecar.evaluation.labels import Judged
from sidecar.tuning.figures import Breaks
from sidecar.tuning.space import Configuration


def case(
    name: str,
    *,
    task: str = "",
    solved: bool | None = None,
    stuck: bool | None = None,
    turns: int = 20,
) -> Case:
    """A run of which this is known."""
    return Case(
        session_id=name,
        source="made",
        task=task or name,
        turns=turns,
        solved=solved,
        judged=None if stuck is None else Judged(stuck=stuck),
    )


def many(*, solved: int, unsolved: int, stuck: int = 0) -> list[Case]:
    """So many runs of each kind, each of a task of its own."""
    return [
        *(case(f"solved-{number}", solved=True) for number in range(solved)),
        *(case(f"unsolved-{number}", solved=False) for number in range(unsolved)),
        *(case(f"stuck-{number}", solved=False, stuck=True) for number in range(stuck)),
    ]


class Counting:
    """Folds by a function of the configuration, and keeps what it was asked for."""

    def __init__(self, breaks: Callable[[Configuration], Breaks]) -> None:
        self.breaks = breaks
        self.asked: list[Configuration] = []

    def __call__(self, wanted: Sequence[Configuration]) -> list[Breaks]:
        self.asked += wanted
        return [self.breaks(each) for each in wanted]
