"""MAST: the traces of seven multi-agent systems, a JSON list of rows with one log each.

`MAD_full_dataset.json` and `MAD_human_labelled_dataset.json` of mcemri/MAST-Data. Each system logs
in a way of its own: `SYSTEMS` says by what lines a turn is known. The annotations name what went
wrong, which is not whether the task was solved, so nothing is labelled solved.
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
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.orchestrated import PEOPLE, orchestrated
from sidecar.datasets.shapes import Content, each, slug, words

EXPECTED: Final = "a row of MAST: mas_name, benchmark_name, trace_id and trace"


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
        "chatdev": System(
            said=_CHATDEV_LINE + r"(?!System:)[A-Z][A-Za-z ]+: \*\*[^\n]* turn \d+\*\*",
            other=_CHATDEV_LINE,
        ),
        "metagpt": System(
            said=r"^\[[\d\- :]+\] NEW MESSAGES:\s*\n+\s*\w+:"
            r"|^[^\n]*_act:\d+ - \w+\([\w ]+\): to do \w+[^\n]*$",
            other=r"^\[[\d\- :]+\] FROM: |^-{20,}$",
        ),
        "hyperagent": System(
            said=_HYPERAGENT_LINE + r"[\w\- ]+'s Response:",
            answered=_HYPERAGENT_LINE + r"\w+->\w+:",
            other=_HYPERAGENT_LINE,
        ),
        "appworld": System(
            said=r"^[ \t]*Response from (?!send_message)[^\n]+ Agent[ \t]*$",
            answered=r"^[ \t]*(?:Code Execution Output|Response from send_message API)[ \t]*$",
            other=r"^[ \t]*(?:Message to|Reply from|Entering|Exiting) [^\n]+$",
        ),
        "openmanus": System(
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


class _Message(msgspec.Struct, frozen=True):
    content: Content = None
    name: str = ""
    role: str = ""


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each row whose log has turns in it."""
    return each(document.records, _Row, EXPECTED, _read)


def _read(row: _Row) -> Iterator[Finding]:
    moves = tuple(_moves(row))
    if not any(isinstance(move, Said) for move in moves):
        yield Skipped(kind=f"trace of {row.mas_name} without known turns")
        return
    annotations = row.mast_annotation or row.annotations
    yield Recording(
        session_id=slug("mast", row.mas_name, row.benchmark_name, row.llm_name, row.trace_id),
        agent=slug("mast", row.mas_name),
        model=row.llm_name,
        moves=moves,
        facts={"mast": annotations} if annotations else {},
    )


def _moves(row: _Row) -> Iterator[Move]:
    log = _unwrapped(row.trace if isinstance(row.trace, str) else row.trace.trajectory)
    if isinstance(log, list):
        return _chat(log)
    if _MAGENTIC.search(log):
        return orchestrated(_blocks(log))
    system = SYSTEMS.get(row.mas_name.casefold().replace("-", "").replace("_", ""))
    return _logged(log, system) if system else iter(())


def _unwrapped(trace: Any) -> str | list[Any]:
    """The log, out of the JSON objects that some systems wrap it in: text, or chat messages."""
    if isinstance(trace, str) and trace.lstrip().startswith("{"):
        try:
            return _unwrapped(decode(trace))
        except ValueError:
            return trace
    if isinstance(trace, Mapping):
        return _unwrapped(trace.get("trajectory", trace.get("content", "")))
    if isinstance(trace, list) and all(isinstance(line, str) for line in trace):
        return "\n".join(trace)
    return trace if isinstance(trace, str | list) else ""


def _chat(messages: list[Any]) -> Iterator[Move]:
    """AG2 keeps a chat; each message is a turn of the agent that it names."""
    for value in messages:
        try:
            message = msgspec.convert(value, _Message)
        except msgspec.ValidationError:
            continue  # Not a message: a note of the recording between them.
        yield Said(text=words(message.content))


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
