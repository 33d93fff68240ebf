"""The formats, and files of them turned into run files."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from sidecar.datasets.documents import read_records, read_text
from sidecar.datasets.formats import (
    claude_code,
    codex,
    gemini,
    inspect_ai,
    llm_agents_study,
    mast,
    mini_swe_agent,
    openhands,
    otlp,
    swe_agent,
    tau2_bench,
    tau_bench,
    who_and_when,
)
from sidecar.datasets.moves import Broken, Document, Finding, Recording, Skipped
from sidecar.datasets.turns import DEFAULT_BOUNDS, Bounds, fold
from sidecar.datasets.writing import RunWriter

Convert: TypeAlias = Callable[[Document], Iterator[Finding]]
Beside: TypeAlias = Callable[[Path], Mapping[str, Path]]


def _nothing(path: Path) -> Mapping[str, Path]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format."""

    convert: Convert
    about: str
    """What files it is for, in one line."""
    files: tuple[str, ...]
    """Patterns of such files within a folder, as PurePath.match has them."""
    texts: tuple[str, ...] = ()
    """Of these, those that are text and no JSON."""
    beside: Beside = _nothing
    """The files that are read beside one, by their role; they need not be there."""
    bounds: Bounds = DEFAULT_BOUNDS


def _study(path: Path) -> Mapping[str, Path]:
    """trajectories/AGENT/parsed/thoughts_actions/RUN has its results two folders on."""
    parsed = path.parent.parent
    repository = parsed.parent.parent.parent
    table = "codeact" if parsed.parent.name == "openhands" else parsed.parent.name
    return {
        llm_agents_study.RESULTS: parsed / "results_actions" / path.name,
        llm_agents_study.SOLVED: repository / "rq1" / f"{table}_iterations.csv",
        llm_agents_study.README: repository / "README.md",
    }


def _trial(path: Path) -> Mapping[str, Path]:
    return {mini_swe_agent.RESULTS: path.parent.parent / "results.json"}


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "tau-bench": Format(
            convert=tau_bench.convert,
            about="tau-bench, historical_trajectories/*.json",
            files=("*.json",),
        ),
        "tau2-bench": Format(
            convert=tau2_bench.convert,
            about="tau2-bench, results/*.json and data/simulations/*.json",
            files=("*.json",),
        ),
        "openhands": Format(
            convert=openhands.convert,
            about="OpenHands, events as JSON or JSON Lines, and output.jsonl of evaluations",
            files=("*.json", "*.jsonl"),
        ),
        "swe-agent": Format(
            convert=swe_agent.convert, about="SWE-agent, *.traj", files=("*.traj",)
        ),
        "mini-swe-agent": Format(
            convert=mini_swe_agent.convert,
            about="mini-swe-agent, *.traj.json, and agent.log of Terminal-Bench trials",
            files=("*.traj.json", "agent.log"),
            texts=("*.log",),
            beside=_trial,
        ),
        "who-and-when": Format(
            convert=who_and_when.convert,
            about="Who&When, one JSON file a run",
            files=("*.json",),
            # Its messages are plans, documents and programs; the run is not in their length.
            bounds=Bounds(text_max=1_500, argument_max=1_500),
        ),
        "llm-agents-study": Format(
            convert=llm_agents_study.convert,
            about="llm-agents-study, trajectories/*/parsed/thoughts_actions/*",
            files=("thoughts_actions/*",),
            texts=("*",),
            beside=_study,
        ),
        "mast": Format(
            convert=mast.convert,
            about="MAST, MAD_full_dataset.json and MAD_human_labelled_dataset.json",
            files=("*.json",),
        ),
        "inspect": Format(
            convert=inspect_ai.convert,
            about="Inspect, logs as JSON (`inspect log dump` of an .eval file)",
            files=("*.json",),
        ),
        "claude-code": Format(
            convert=claude_code.convert,
            about="Claude Code, transcripts below ~/.claude/projects",
            files=("*.jsonl",),
        ),
        "codex": Format(
            convert=codex.convert,
            about="Codex, rollouts below ~/.codex/sessions",
            files=("rollout-*.jsonl",),
        ),
        "gemini": Format(
            convert=gemini.convert,
            about="Gemini CLI, sessions below ~/.gemini/tmp",
            files=("session-*.json", "session-*.jsonl"),
        ),
        "otlp": Format(
            convert=otlp.convert,
            about="OTLP JSON of GenAI spans, one export or one a line",
            files=("*.json", "*.jsonl"),
        ),
    }
)


@dataclass(kw_only=True)
class Converted:
    """What came of one file."""

    path: Path
    runs: int = 0
    turns: int = 0
    broken: list[Broken] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    """Records that were passed over, by kind."""


def files_of(form: Format, paths: Iterable[Path]) -> Iterator[Path]:
    """The files named, and those of the format below the folders named, in order and each once."""
    known: set[Path] = set()
    for path in paths:
        for found in _files_below(form, path) if path.is_dir() else [path]:
            if found.resolve() not in known:
                known.add(found.resolve())
                yield found


def _files_below(form: Format, folder: Path) -> list[Path]:
    return sorted(
        found
        for found in folder.rglob("*")
        if found.is_file() and any(found.match(pattern) for pattern in form.files)
    )


def convert_file(
    form: Format, path: Path, writer: RunWriter, *, bounds: Bounds | None = None, source: str
) -> Converted:
    """Writes the runs of one file. Raises OSError when a run file cannot be written.

    `source` names where the runs are from, for their labels.
    """
    text = any(path.match(pattern) for pattern in form.texts)
    # Results and sources of solved runs are looked for beside the file as it is named.
    read = (read_text if text else read_records)(path, form.beside(path.absolute()))
    converted = Converted(path=path, broken=list(read.broken))
    if read.document is None:
        return converted
    for finding in form.convert(read.document):
        match finding:
            case Recording():
                folded = fold(finding, bounds or form.bounds)
                if folded.strays:
                    converted.skipped["result without a call"] += folded.strays
                if not folded.turns:
                    converted.skipped["run without turns"] += 1
                    continue
                writer.write(finding, folded, source=source)
                converted.runs += 1
                converted.turns += len(folded.turns)
            case Broken():
                converted.broken.append(finding)
            case Skipped(kind=kind, count=count):
                converted.skipped[kind] += count
    return converted
