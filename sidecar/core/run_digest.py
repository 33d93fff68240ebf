"""A run in a few thousand words of JSON, for a judge: names, labels and counts of its last turns.

Digests are not shown but numbered in the order in which they occur (`c1`, `c2` ...): all that they
tell is what is equal to what, and that is all that leaves. Texts are shown where they are given.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sidecar.core.answers.condensing import clipped
from sidecar.core.texts import CallTexts, TurnTexts
from sidecar.core.turn import Outcome, ToolCall, Turn
from sidecar.core.value import value

TURNS_MAX: Final = 60
"""Of a run that is judged every 10 turns: all that came since the fifth verdict before."""

DIGEST_BYTES_MAX: Final = 48_000
"""Some 12,000 tokens."""

CALLS_MAX: Final = 8
"""Shown of one turn."""

NAME_BYTES_MAX: Final = 64
SAID_BYTES_MAX: Final = 600
ARGUMENTS_BYTES_MAX: Final = 300
RESULT_BYTES_MAX: Final = 800
"""The beginning and the end of each text: enough to see whether it says anything new."""

QUOTE_CHARACTERS_MIN: Final = 8
"""Of words within a text, white space apart: fewer occur by chance. It is longer than any label, of
which one may begin as another does (`c1`, `c10`)."""

NO_TEXTS: Final[Mapping[int, TurnTexts]] = {}


@value
class RunDigest:
    """What a judge is shown."""

    turns: tuple[Mapping[str, Any], ...]
    """Oldest first, each a JSON object with its sequence as `turn`."""
    last: int
    """Sequence of the last turn; 0: there is none."""
    left_out: int = 0
    """Turns before the first that is shown."""
    texts_shown: bool = False

    @property
    def data(self) -> Mapping[str, Any]:
        """All of it, and what it is, as JSON."""
        shown = "texts are shown, cut" if self.texts_shown else "names, labels and counts only"
        return {"shown": shown, "turns_left_out": self.left_out, "turns": list(self.turns)}

    def holds(self, sequence: int, quote: str) -> bool:
        """Whether a turn is shown and has these words in it, white space apart: a label, a name or
        a text as a whole, or at least QUOTE_CHARACTERS_MIN of one."""
        words = "".join(quote.split())
        shown = ("".join(text.split()) for turn in self._at(sequence) for text in _texts(turn))
        if len(words) < QUOTE_CHARACTERS_MIN:
            return bool(words) and words in list(shown)
        return any(words in text for text in shown)

    def _at(self, sequence: int) -> Iterator[Mapping[str, Any]]:
        return (turn for turn in self.turns if turn["turn"] == sequence)


def digest_of(
    turns: Sequence[Turn],
    texts: Mapping[int, TurnTexts] = NO_TEXTS,
    *,
    bytes_max: int = DIGEST_BYTES_MAX,
) -> RunDigest:
    """The digest of a run's turns, oldest first; `texts` by sequence, as far as there are any."""
    labels = _Labels()
    shown = [_turn(turn, texts.get(turn.sequence), labels) for turn in turns[-TURNS_MAX:]]
    room = bytes_max
    for kept, entry in enumerate(reversed(shown)):
        room -= len(json.dumps(entry))
        if room < 0:
            shown = shown[len(shown) - kept :]
            break
    sequences = {entry["turn"] for entry in shown}
    return RunDigest(
        turns=tuple(shown),
        last=turns[-1].sequence if turns else 0,
        left_out=(min(sequences) - 1) if sequences else 0,
        texts_shown=not sequences.isdisjoint(texts),
    )


class _Labels:
    """Numbers what is equal."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._counts: dict[str, int] = {}

    def of(self, kind: str, digest: bytes) -> str:
        number = self._numbers.get((kind, digest))
        if number is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            self._numbers[kind, digest] = number
        return f"{kind}{number}"


def _turn(turn: Turn, texts: TurnTexts | None, labels: _Labels) -> Mapping[str, Any]:
    progress = turn.progress
    given = texts.calls if texts is not None else ()
    calls = [
        _call(call, given[at] if at < len(given) else None, labels)
        for at, call in enumerate(turn.tool_calls[:CALLS_MAX])
    ]
    facts = {
        "actor": clipped(turn.actor, NAME_BYTES_MAX),
        "approach": clipped(turn.approach, NAME_BYTES_MAX),
        "said": "" if turn.text is None else labels.of("m", turn.text),
        "said_text": clipped(texts.said, SAID_BYTES_MAX) if texts is not None else "",
        "calls": calls,
        "calls_left_out": max(0, len(turn.tool_calls) - CALLS_MAX) or None,
        "errors": [labels.of("e", failure.fingerprint) for failure in turn.failures[:CALLS_MAX]],
        "files_changed": progress.files_changed,
        "tasks_completed": progress.tasks_completed,
        "tests_passed": progress.tests_passed,
        "tests_failed": progress.tests_failed,
        "a_person_spoke": turn.user_input,
        "final_answer": turn.has_final_answer,
    }
    # Absent and empty alike say nothing; a count of 0 says something.
    said = {name: fact for name, fact in facts.items() if fact or type(fact) is int}
    return {"turn": turn.sequence, **said}


def _call(call: ToolCall, texts: CallTexts | None, labels: _Labels) -> Mapping[str, Any]:
    facts = {
        "tool": clipped(call.name, NAME_BYTES_MAX),
        "call": labels.of("c", call.call),
        "arguments": clipped(texts.arguments, ARGUMENTS_BYTES_MAX) if texts else "",
        "result": "" if call.result is None else labels.of("r", call.result),
        "result_text": clipped(texts.result, RESULT_BYTES_MAX) if texts else "",
        "result_kind": call.result_kind.value if call.result is not None else "",
        "outcome": "" if call.outcome is Outcome.OK else call.outcome.value,
    }
    return {name: fact for name, fact in facts.items() if fact}


def _texts(fact: object) -> Iterator[str]:
    """The texts in an entry, however deep; its keys are nobody's words."""
    match fact:
        case str():
            yield fact
        case Mapping():
            for part in fact.values():
                yield from _texts(part)
        case list():
            for part in fact:
                yield from _texts(part)
