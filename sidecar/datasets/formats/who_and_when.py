"""Who&When: one JSON file for each failed run of a multi-agent system.

`Who&When/Algorithm-Generated` of mingyin1/Agents_Failure_Attribution holds teams of CaptainAgent,
where experts talk and a terminal runs the code they write; `Hand-Crafted` holds Magentic-One, where
an orchestrator sends its agents. All runs failed; the notes name the decisive mistake.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from sidecar.datasets.moves import Answered, Call, Document, Finding, Move, Recording, Said
from sidecar.datasets.orchestrated import orchestrated
from sidecar.datasets.shapes import each, outcome, slug

EXPECTED: Final = "a run of Who&When: history, a list of messages with content and role or name"

TERMINAL: Final = "Computer_terminal"
_CODE: Final = re.compile(r"```[ \t]*\w+[ \t]*\r?\n(.*?)```", re.DOTALL)
"""The terminal runs blocks that name their language."""
_EXIT_CODE: Final = re.compile(r"\s*exitcode: (-?\d+)")


class _Message(msgspec.Struct, frozen=True):
    content: str
    role: str = ""
    name: str = ""


class _Run(msgspec.Struct, frozen=True):
    history: list[_Message]
    question_ID: str = ""  # noqa: N815 (as the file has it)
    is_correct: bool | None = None
    is_corrected: bool | None = None
    mistake_agent: str = ""
    mistake_step: str = ""
    mistake_reason: str = ""


def convert(document: Document) -> Iterator[Finding]:
    """The recording in the file."""
    return each(document.records, _Run, EXPECTED, lambda run: _read(run, document.stem))


def _read(run: _Run, stem: str) -> Iterator[Finding]:
    named = any(message.name for message in run.history)
    system = "captain" if named else "magentic"
    pairs = ((message.role, message.content) for message in run.history)
    yield Recording(
        session_id=slug("whowhen", system, stem),
        agent=slug("whowhen", system),
        task=run.question_ID,
        solved=bool(run.is_correct or run.is_corrected),
        moves=tuple(_talk(run.history) if named else orchestrated(pairs)),
        facts={
            "mistake": {
                "agent": run.mistake_agent,
                "step": run.mistake_step,
                "reason": run.mistake_reason,
            }
        },
    )


def _talk(history: list[_Message]) -> Iterator[Move]:
    """A turn for each expert; the terminal answers the code in the message before it.

    The experts are one team in one conversation, so no turn names its actor: what one tries again
    after another is a repeat.
    """
    for place, message in enumerate(history):
        if message.name == TERMINAL:
            exit_code = _EXIT_CODE.match(message.content)
            failed = exit_code is not None and exit_code[1] != "0"
            yield Answered(text=message.content, outcome=outcome(failed))
            continue
        answered = place + 1 < len(history) and history[place + 1].name == TERMINAL
        code = _CODE.findall(message.content) if answered else []
        calls = (Call(name="run_code", arguments={"code": "\n".join(code)}),) if code else ()
        yield Said(text=message.content, calls=calls)
