"""MAST: the traces of seven multi-agent systems, one log each.

As rows of a list (`MAD_full_dataset.json`, `MAD_human_labelled_dataset.json` of mcemri/MAST-Data),
or as a file each (`annotated_traces` of the repository). Each system logs in a way of its own:
`SYSTEMS` says by what lines a turn is known. The annotations name what went wrong, which is not
whether the task was solved: only AG2's files say that.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Final

import msgspec

from sidecar.datasets.json_text import decode
from sidecar.datasets.moves import (
    Answered,
    Call,
    Document,
    Finding,
    Move,
    Person,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.orchestrated import PEOPLE, orchestrated
from sidecar.datasets.shapes import Content, each, slug, words

EXPECTED: Final = "a row of MAST (mas_name, trace_id, trace) or a file of one of its traces"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """How one system logs. Each pattern matches the head of a block, which goes on to the next."""

    said: str
    """An agent speaks; a group `tool` names its action."""
    answered: str | None = None
    """A tool answers the block before it; a group `tool` names it."""
    other: str | None = None
    """Anything else that ends a block."""

    @property
    def heads(self) -> re.Pattern[str]:
        """One pattern for all, with the kind as the name of the group that matched."""
        kinds = {"said": self.said, "answered": self.answered, "other": self.other}
        parts = (f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items() if pattern)
        return re.compile("|".join(parts), re.MULTILINE)


_CHATDEV_LINE: Final = r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO\] "
_OPENMANUS_LINE: Final = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \| \w+ +\| "
_HYPERAGENT_LINE: Final = r"^\s*HyperAgent_\S+ - \w+ - "

SYSTEMS: Final = MappingProxyType(
    {
        "ChatDev": System(
            said=_CHATDEV_LINE + r"(?!System:)[A-Z][A-Za-z ]+: \*\*[^\n]* turn \d+\*\*",
            other=_CHATDEV_LINE,
        ),
        "MetaGPT": System(
            said=r"^\[[\d\- :]+\] NEW MESSAGES:\s*\n+\s*\w+:"
            r"|^[^\n]*_act:\d+ - \w+\([\w ]+\): to do \w+[^\n]*$",
            other=r"^\[[\d\- :]+\] FROM: |^-{20,}$",
        ),
        "HyperAgent": System(
            said=_HYPERAGENT_LINE + r"[\w\- ]+'s Response:",
            answered=_HYPERAGENT_LINE + r"\w+->\w+:",
            other=_HYPERAGENT_LINE,
        ),
        "AppWorld": System(
            said=r"^[ \t]*Response from (?!send_message)[^\n]+ Agent[ \t]*$",
            answered=r"^[ \t]*(?:Code Execution Output|Response from send_message API)[ \t]*$",
            other=r"^[ \t]*(?:Message to|Reply from|Entering|Exiting) [^\n]+$",
        ),
        "OpenManus": System(
            said=_OPENMANUS_LINE + r"[^\n]*?\u2728 \w+'s thoughts: ",
            answered=_OPENMANUS_LINE + r"[^\n]*?\U0001f3af Tool '(?P<tool>[^']+)'[^\n]*?Result: ",
            other=_OPENMANUS_LINE,
        ),
    }
)
_MAGENTIC: Final = re.compile(r"^-{4,} (?:\w+Message \()?([\w ]+?)\)? -{4,}$", re.MULTILINE)
_FOOTER: Final = re.compile(
    r"^(?:SCENARIO\.PY (?:COMPLETE|RUNTIME)|RUN\.SH COMPLETE)", re.MULTILINE
)


class _Trace(msgspec.Struct, frozen=True):
    trajectory: Any = None
    key: str = ""


class _Row(msgspec.Struct, frozen=True):
    mas_name: str
    trace_id: int | str
    trace: str | _Trace
    benchmark_name: str = ""
    llm_name: str = ""
    mast_annotation: dict[str, Any] = {}
    annotations: list[Any] = []


class _Solution(msgspec.Struct, frozen=True):
    correct: bool | None = None


class _Note(msgspec.Struct, frozen=True):
    options: dict[str, str] = {}


class _ChatFile(msgspec.Struct, frozen=True):
    """Of AG2 and HyperAgent."""

    instance_id: str
    trajectory: list[Any]
    other_data: _Solution = _Solution()
    note: _Note = _Note()


class _LogFile(msgspec.Struct, frozen=True):
    """Of MetaGPT."""

    run_id: int
    content: str


class _Message(msgspec.Struct, frozen=True):
    content: Content = None
    name: str = ""
    role: str = ""


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each log with turns in it."""
    for record in document.records:
        names = record.value if isinstance(record.value, Mapping) else ()
        if "instance_id" in names:
            yield from each((record,), _ChatFile, EXPECTED, _read_chat_file)
        elif "run_id" in names:
            yield from each((record,), _LogFile, EXPECTED, _read_log_file)
        else:
            yield from each((record,), _Row, EXPECTED, _read_row)


def _read_row(row: _Row) -> Iterator[Finding]:
    trace = row.trace if isinstance(row.trace, str) else row.trace.trajectory
    annotations = row.mast_annotation or row.annotations
    yield _recording(
        trace,
        system=row.mas_name,
        names=(row.benchmark_name, row.llm_name, row.trace_id),
        model=row.llm_name,
        facts={"mast": annotations} if annotations else {},
    )


def _read_chat_file(file: _ChatFile) -> Iterator[Finding]:
    yield _recording(
        file.trajectory,
        names=(file.instance_id,),
        task=file.instance_id,
        solved=file.other_data.correct,
        facts={"mast": file.note.options} if file.note.options else {},
    )


def _read_log_file(file: _LogFile) -> Iterator[Finding]:
    yield _recording(file.content, names=(file.run_id,))


def _recording(trace: Any, *, system: str = "", names: tuple[Any, ...], **known: Any) -> Finding:
    """Of a trace; the system is the one that logs like this where the source does not name it."""
    logs_like, moves = _told(_unwrapped(trace))
    system = system or logs_like
    if not any(isinstance(move, Said) for move in moves):
        return Skipped(kind=f"trace of {system or 'an unknown system'} without known turns")
    agent = slug("mast", system)
    return Recording(session_id=slug(agent, *names), agent=agent, moves=moves, **known)


def _told(log: str | list[Any]) -> tuple[str, tuple[Move, ...]]:
    """The system that logs like this, and what happened."""
    if isinstance(log, list):
        return "AG2", tuple(_chat(log))
    if _MAGENTIC.search(log):
        return "Magentic-One", tuple(orchestrated(_blocks(log)))
    for name, system in SYSTEMS.items():
        if re.search(system.said, log, re.MULTILINE):
            return name, tuple(_logged(log, system))
    return "", ()


def _unwrapped(trace: Any) -> str | list[Any]:
    """The log, out of the JSON objects that some systems wrap it in: text, or chat messages."""
    while True:
        if isinstance(trace, Mapping):
            trace = trace.get("trajectory", trace.get("content", ""))
        elif isinstance(trace, str) and trace.lstrip().startswith("{"):
            try:
                trace = decode(trace)
            except ValueError:
                break
        else:
            break
    if isinstance(trace, list) and all(isinstance(line, str) for line in trace):
        return "\n".join(trace)
    return trace if isinstance(trace, str | list) else ""


def _chat(messages: list[Any]) -> Iterator[Move]:
    """AG2 keeps a chat: the task, and then each message is a turn of the agent that it names."""
    is_task = True
    for value in messages:
        try:
            message = msgspec.convert(value, _Message)
        except msgspec.ValidationError:
            continue  # Not a message: a note of the recording between them.
        yield Person() if is_task else Said(text=words(message.content))
        is_task = False


def _blocks(log: str) -> Iterator[tuple[str, str]]:
    for head, body in _bodies(_MAGENTIC, log):
        speaker = head[1].casefold() if head[1].casefold() in PEOPLE else head[1]
        yield speaker, _FOOTER.split(body)[0].strip()


def _logged(log: str, system: System) -> Iterator[Move]:
    said: str | None = None
    answers: list[tuple[str, str]] = []
    for head, body in _bodies(system.heads, log):
        if head["said"] is not None:
            yield from _turn(said, answers)
            said, answers = body.strip(), []
        elif system.answered and head["answered"] is not None:
            answers.append((head.groupdict().get("tool") or "run", body.strip()))
    yield from _turn(said, answers)


def _bodies(heads: re.Pattern[str], log: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each head with what follows it up to the next."""
    found = list(heads.finditer(log))
    for head, following in zip_longest(found, found[1:]):
        yield head, log[head.end() : following.start() if following else len(log)]


def _turn(said: str | None, answers: list[tuple[str, str]]) -> Iterator[Move]:
    """What was said is what the tools were given: the logs have no arguments."""
    if said is not None:
        calls = (Call(name=tool, arguments={"said": said}) for tool, _ in answers)
        yield Said(text=said, calls=tuple(calls))
        for _, text in answers:
            yield Answered(text=text)
