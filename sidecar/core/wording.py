"""The texts that reach an agent: facts first, since orders from nowhere look like an attack."""

import shlex
from collections.abc import Sequence
from typing import Final

from sidecar.core.directive import Action, Commit, Halt, Rotate
from sidecar.core.reading import Reading

SUGGESTIONS_PER_ROTATE: Final = 2
"""Two ways leave the agent a choice, and something new for the next time."""


def suggest(ways: tuple[str, ...], *, rotates: int) -> tuple[str, ...]:
    """The suggestions after those of so many rotates; from the start once all are given."""
    start = rotates * SUGGESTIONS_PER_ROTATE % len(ways)
    return ways[start : start + SUGGESTIONS_PER_ROTATE]


def rotate(
    readings: Sequence[Reading],
    *,
    action: Action,
    approaches: tuple[str, ...],
    ways: tuple[str, ...],
    wait_max_s: float,
) -> Rotate:
    """A rotate that names its evidence, what was tried, and `ways` that were not."""
    lines = [_evidence(readings)]
    if approaches:
        lines.append(f"Approaches tried so far: {'; '.join(approaches)}.")
    # Who audits, probes or checks what must be refused can read this, and is right to go on.
    lines.append(
        "This has not changed the outcome. Unless it is as intended, a different approach is "
        "needed."
    )
    lines.append(f"Ways not tried yet: {'; '.join(ways)}.")
    waits = action in (Action.PAUSE, Action.ASK_USER)
    if waits:
        lines.append("The run is waiting for a person to decide how to go on.")
    return Rotate(
        instruction=" ".join(lines),
        approaches_tried=approaches,
        suggestions=ways,
        wait_max_s=wait_max_s if waits else None,
    )


def commit(
    readings: Sequence[Reading], *, action: Action, gathered: str, answer_form: str
) -> Commit:
    """A commit that says what there is to answer from, and in which form."""
    handover = action is Action.REST
    lines = [_evidence(readings), f"Gathered so far: {gathered}."]
    if handover:
        lines.append(
            "This run rests here: the next message is a hand-over summary of what was done, "
            "what is known and what is open, for a run that goes on with fresh context."
        )
    else:
        lines.append(
            "No further tool calls are useful; the next message is the final answer from what is "
            f"known, in the form `{answer_form}`."
        )
    return Commit(instruction=" ".join(lines), handover=handover)


def halt(readings: Sequence[Reading], *, action: Action, session_id: str) -> Halt:
    """A halt that says why, and where the state is."""
    lines = [_evidence(readings)]
    match action:
        case Action.ASK_USER:
            lines.append("A person is asked to decide how to go on.")
        case _:
            lines.append("The run is stopped.")
    lines.append(kept(session_id))
    return Halt(reason=" ".join(lines))


def idle(waited_s: float, session_id: str) -> Halt:
    """The halt of a run that nobody came back to, or, after no time, of one that cannot wait."""
    why = (
        f"Nobody decided within {waited_s:g} s"
        if waited_s
        else "A person is to decide how to go on, and who reports without a stream cannot wait"
    )
    return Halt(reason=f"{why}, so the run is stopped. {kept(session_id)}")


def kept(session_id: str) -> str:
    """Where the state of a run is to be found."""
    return f"Its state is kept: `{explaining(session_id)}` shows it."


def explaining(session_id: str) -> str:
    """The command that explains a session: by the option, since an operand may name a file."""
    return f"sidecar explain --session {_word(session_id)}"


def operand(session_id: str) -> str:
    """The id as the last word of a command that is pasted into a shell, and no option there."""
    word = _word(session_id)
    return f"-- {word}" if session_id.startswith("-") else word


def _word(session_id: str) -> str:
    """The id as one word of a shell: whoever drives the agent chooses it, and the shell is the
    operator's."""
    return shlex.quote(session_id) if session_id.isprintable() else _escaped(session_id)


def _escaped(word: str) -> str:
    """The word as ANSI-C quoting has it (bash, zsh, POSIX.1-2024): what is not printable would not
    come through a terminal and a clipboard as it is."""
    return f"$'{''.join(map(_escaped_character, word))}'"


def _escaped_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def _evidence(readings: Sequence[Reading]) -> str:
    return " ".join(f"{_sentence(reading.summary)} ({reading.signal})." for reading in readings)


def _sentence(summary: str) -> str:
    text = summary.rstrip(". ")
    return text[:1].upper() + text[1:]
