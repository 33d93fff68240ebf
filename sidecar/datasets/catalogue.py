"""The public sources: what there is, under which licence, where, and with which checksums.

`pinned/NAME.txt` has a line for each file of a source: its SHA-256, its size in bytes and its path
in the repository. A source without pinned files cannot be fetched: nothing would say whether what
came is what was meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import resources
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

GITHUB: Final = "https://raw.githubusercontent.com"
HUGGING_FACE: Final = "https://huggingface.co"

MIT: Final = "MIT"
NONE: Final = "none stated"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """One file of a source."""

    path: str
    """In the repository, with slashes."""
    size: int
    """Bytes."""
    sha256: str
    """64 hex digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One public source."""

    name: str
    about: str
    format: str
    """Of `sidecar.datasets.converting.FORMATS`."""
    repository: str
    licence: str
    """SPDX identifier, or NONE."""
    commit: str = ""
    paths: str = ""
    """Where in the repository, for people; `files` has each."""
    host: str = GITHUB
    note: str = ""
    files: tuple[PinnedFile, ...] = ()
    """None where they are not pinned."""

    @property
    def permitted(self) -> bool:
        """Whether the licence lets anybody use the data."""
        return self.licence != NONE

    @property
    def pinned(self) -> bool:
        """Whether it can be fetched."""
        return bool(self.files)

    @property
    def size(self) -> int:
        """Of all files, in bytes."""
        return sum(file.size for file in self.files)

    @property
    def sha256(self) -> str:
        """Of the one file, or of the table of all of them; empty where nothing is pinned."""
        match self.files:
            case ():
                return ""
            case (only,):
                return only.sha256
        lines = "".join(f"{file.sha256} {file.size} {file.path}\n" for file in self.files)
        return sha256(lines.encode()).hexdigest()

    @property
    def address(self) -> str:
        """Where it is, for people."""
        if self.host == HUGGING_FACE:
            return f"{HUGGING_FACE}/datasets/{self.repository}"
        return f"https://github.com/{self.repository}/tree/{self.commit}/{self.paths}"

    def url(self, path: str, mirror: str = "") -> str:
        """Of one file; a mirror has the same paths under an address of its own."""
        base = mirror.rstrip("/") or self.host
        if self.host == HUGGING_FACE:
            return f"{base}/datasets/{self.repository}/resolve/{self.commit}/{quote(path)}"
        return f"{base}/{self.repository}/{self.commit}/{quote(path)}"


_STUDY: Final = "e84f66f8d494e46ef336edfa137db25a629614fb"
_WHO_AND_WHEN: Final = "3d9d568840f004b389638f97adf3e0ab8b5a9514"

_ALL: Final = (
    Source(
        name="tau-bench",
        about="customer service with tools and a simulated person: gpt-4o, airline",
        format="tau-bench",
        repository="sierra-research/tau-bench",
        commit="59a200c6d575d595120f1cb70fea53cef0632f6b",
        paths="historical_trajectories/gpt-4o-airline.json",
        licence=MIT,
        note="the other files of historical_trajectories are not pinned: convert a copy of them",
    ),
    Source(
        name="tau2-bench",
        about="the same, newer tasks: whissle, airline",
        format="tau2-bench",
        repository="sierra-research/tau2-bench",
        commit="bbcb86ff2e6414631352a7b808b886691f419e3e",
        paths="results/whissle/airline_run1.json",
        licence=MIT,
        note="data/tau2/results/final and retail_run1.json are not pinned: convert a copy of them",
    ),
    Source(
        name="llm-agents-study-openhands",
        about="OpenHands on SWE-bench",
        format="llm-agents-study",
        repository="sola-st/llm-agents-study",
        commit=_STUDY,
        paths="trajectories/openhands/parsed",
        licence=MIT,
    ),
    Source(
        name="llm-agents-study-repairagent",
        about="RepairAgent on Defects4J",
        format="llm-agents-study",
        repository="sola-st/llm-agents-study",
        commit=_STUDY,
        paths="trajectories/repairagent/parsed",
        licence=MIT,
    ),
    Source(
        name="who-and-when-captain",
        about="failures of CaptainAgent teams, with the decisive mistake",
        format="who-and-when",
        repository="mingyin1/Agents_Failure_Attribution",
        commit=_WHO_AND_WHEN,
        paths="Who&When/Algorithm-Generated",
        licence=MIT,
    ),
    Source(
        name="who-and-when-magentic",
        about="failures of Magentic-One on the web, with the decisive mistake",
        format="who-and-when",
        repository="mingyin1/Agents_Failure_Attribution",
        commit=_WHO_AND_WHEN,
        paths="Who&When/Hand-Crafted",
        licence=MIT,
    ),
    Source(
        name="swe-agent-demonstrations",
        about="demonstrations of SWE-agent on issues and capture-the-flag tasks",
        format="swe-agent",
        repository="SWE-agent/SWE-agent",
        commit="3ea751c087f32b16e039a2233dd6eefecef325d5",
        paths="trajectories/demonstrations",
        licence=MIT,
    ),
    Source(
        name="openhands-examples",
        about="examples of OpenHands on Multi-SWE-bench",
        format="openhands",
        repository="All-Hands-AI/OpenHands",
        commit="156d0686c46aafb0fa9d291da6421fb6f64dddc0",
        paths="evaluation/benchmarks/multi_swe_bench/examples/output.jsonl",
        licence=MIT,
    ),
    Source(
        name="terminal-bench-mini-swe-agent",
        about="mini-swe-agent with Claude Sonnet 4 on Terminal-Bench 0.1.1, trials that it began",
        format="mini-swe-agent",
        repository="laude-institute/terminal-bench-leaderboard",
        commit="8e1925a397d7ed859c027cc19b3a3d90c16ef8df",
        paths="results/terminal-bench-core@0.1.1/20250825_swe-agent-mini_claude-4-sonnet",
        licence=NONE,
        note="the repository states no licence",
    ),
    Source(
        name="mast-annotated",
        about="AG2, HyperAgent and MetaGPT, 61 of them annotated by people with what went wrong",
        format="mast",
        repository="multi-agent-systems-failure-taxonomy/MASFT",
        commit="37d1ebd2ee18a812cfae64b0023697841c9d9837",
        paths="annotated_traces",
        licence=NONE,
        note="the repository states no licence",
    ),
    Source(
        name="mast",
        about="traces of seven multi-agent systems, annotated with what went wrong",
        format="mast",
        repository="mcemri/MAST-Data",
        licence="CC-BY-4.0",
        host=HUGGING_FACE,
        note="not pinned: download MAD_full_dataset.json (200 MB) and convert it",
    ),
)


def _pinned(name: str) -> Iterator[PinnedFile]:
    table = resources.files("sidecar.datasets") / "pinned" / f"{name}.txt"
    if table.is_file():
        for line in table.read_text("utf-8").splitlines():
            digest, size, path = line.split(" ", 2)
            yield PinnedFile(path=path, size=int(size), sha256=digest)


SOURCES: Final[Mapping[str, Source]] = MappingProxyType(
    {source.name: replace(source, files=tuple(_pinned(source.name))) for source in _ALL}
)
