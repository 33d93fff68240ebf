"""A run as it is measured: what is known of it, and where each detector spoke."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sidecar.core.reading import Severity
from sidecar.evaluation.detecting import Mark, first
from sidecar.evaluation.labels import Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one turn said that it used; at least one of the two."""

    sequence: int
    tokens: int | None = None
    """Input and output tokens together, as far as told."""
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run, its label and its marks; no content."""

    session_id: str
    source: str
    task: str
    """Runs of one task are resampled together."""
    turns: int
    """As recorded, or more where the label knows that the recording was cut."""
    labelled: bool = True
    solved: bool | None = None
    """None: unknown."""
    judged: Judged | None = None
    """None: nobody has read it."""
    spending: tuple[Spending, ...] = ()
    """Of the turns that told any, in their order."""
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    """By the name of the detector."""

    @property
    def is_stuck(self) -> bool:
        """Whether it was judged stuck."""
        return self.judged is not None and self.judged.stuck

    @property
    def is_not_stuck(self) -> bool:
        """Whether it was judged not stuck."""
        return self.judged is not None and not self.judged.stuck

    @property
    def is_solved(self) -> bool:
        """Whether it ended well, and not by way of a stuck stretch: to stop a solved run that was
        judged stuck is no mistake."""
        return self.solved is True and not self.is_stuck

    @property
    def is_unsolved(self) -> bool:
        """Whether it ended badly."""
        return self.solved is False

    @property
    def truth(self) -> bool | None:
        """Whether a detector should have spoken: the judgement, and without one not on a run that
        ended well; None: not known."""
        if self.judged is not None:
            return self.judged.stuck
        return False if self.solved else None

    def first(self, detector: str, severity: Severity) -> Mark | None:
        """The detector's first mark of at least this severity."""
        return first(self.marks[detector], severity)


def are_tasks_unnamed(cases: Iterable[Case]) -> bool:
    """Whether every run is its own task, since neither a label nor `--task` says otherwise."""
    return all(case.task == case.session_id for case in cases)
