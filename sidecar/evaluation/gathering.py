"""From run files to cases: each file is read once, and each lens looks at it once."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sidecar.adapters.convert import TurnBounds
from sidecar.core.policy import Lens
from sidecar.core.turn import Turn
from sidecar.evaluation.cases import Case, Spending
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.labels import LABELS_FILE, Label, LabelsInvalidError, read_labels
from sidecar.evaluation.runs import RecordedRun, RunUnreadableError, read_run, run_files
from sidecar.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file that is not measured."""

    text: str
    """Names it, and says what was wrong and what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatherer:
    """Reads run files and has detectors mark them."""

    detectors: Sequence[PolicyDetector]
    labels: Mapping[str, Label]
    """By session."""
    task: re.Pattern[str] | None = None
    """Finds the task in a session id, where the label names none: its groups joined, or without
    groups what it matches."""
    bounds: TurnBounds = TurnBounds()

    def gather(self, files: Iterable[Path]) -> Iterator[tuple[Path, Case] | Fault]:
        """A case or a fault for each file."""
        known: dict[str, Path] = {}
        for path in files:
            try:
                run = replace(read_run(path), bounds=self.bounds)
            except RunUnreadableError as error:
                yield Fault(text=str(error))
                continue
            except OSError as error:
                yield Fault(text=f"{path}: {error.strerror or error}")
                continue
            earlier = known.setdefault(run.session_id, path)
            if earlier is not path:
                yield Fault(
                    text=f"{path}: session {run.session_id!r} is already in {earlier}; "
                    "every run needs a session_id of its own"
                )
                continue
            case = self._case(run)
            stuck_from = case.judged.from_turn if case.judged else None
            if stuck_from is not None and stuck_from > case.turns:
                yield Fault(
                    text=f"{path}: its label says from_turn {stuck_from}, and the run has "
                    f"{counted(case.turns, 'turn')}"
                )
                continue
            yield path, case

    def _case(self, run: RecordedRun) -> Case:
        label = self.labels.get(run.session_id)
        known = label or Label(session_id=run.session_id)
        last = run.turns[-1].sequence if run.turns else 0
        return Case(
            session_id=run.session_id,
            source=known.source or run.source,
            task=known.task or self._task(run.session_id),
            turns=max(last, known.turns or 0),
            labelled=label is not None,
            solved=known.solved,
            judged=known.judged,
            spending=_spending(run),
            marks={detector.name: detector.marks(run) for detector in self.detectors},
        )

    def _task(self, session_id: str) -> str:
        match = self.task.search(session_id) if self.task else None
        if match is None:
            return session_id
        return "".join(part for part in match.groups() if part) or match[0] or session_id


def files_of(paths: Iterable[Path]) -> Iterator[Path | Fault]:
    """The run files named and below the folders named, each once; a labels file among them is
    none."""
    known: set[Path] = set()
    for path in paths:
        if path.name == LABELS_FILE:
            continue
        try:
            for found in run_files([path]):
                if found.resolve() not in known:
                    known.add(found.resolve())
                    yield found
        except RunUnreadableError as error:
            yield Fault(text=str(error))


def labels_near(paths: Iterable[Path]) -> tuple[Path, ...]:
    """For each folder named, and each file's, its labels file, or else the one beside it."""
    found: dict[Path, None] = {}
    for path in paths:
        folder = (path if path.is_dir() else path.parent).resolve()
        places = (place / LABELS_FILE for place in (folder, folder.parent))
        nearest = next((place for place in places if place.is_file()), None)
        if nearest:
            found[nearest] = None
    return tuple(found)


def labels_in(files: Iterable[Path]) -> dict[str, Label]:
    """The labels of several files. Raises LabelsInvalidError, also for a session in two of them,
    and OSError."""
    labels: dict[str, Label] = {}
    origin: dict[str, Path] = {}
    for path in files:
        for session_id, label in read_labels(path).items():
            if session_id in labels:
                raise LabelsInvalidError(
                    f"{path}: session_id {session_id!r} is labelled in {origin[session_id]} too"
                )
            labels[session_id] = label
            origin[session_id] = path
    return labels


def _spending(run: RecordedRun) -> tuple[Spending, ...]:
    if not any(turn.HasField("usage") for turn in run.turns):
        return ()
    # What a turn says wrongly (NaN, a negative count) is taken as not said, as everywhere.
    turns = (event for event in run.events(Lens()) if isinstance(event, Turn))
    return tuple(found for found in map(_spent, turns) if found)


def _spent(turn: Turn) -> Spending | None:
    told = [
        count for count in (turn.usage.input_tokens, turn.usage.output_tokens) if count is not None
    ]
    cost_usd = turn.usage.cost_usd
    if not told and cost_usd is None:
        return None
    return Spending(sequence=turn.sequence, tokens=sum(told) if told else None, cost_usd=cost_usd)
