"""What an agent reports of a turn: all of it measured, but for the tokens, which are estimated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.client import ToolCall, TurnReport
from sidecar.demo.mind import Call, Context, Mind, Move, Result

CHARACTERS_PER_TOKEN: Final = 4
"""No model is asked here. Four characters a token is what English text and code come to."""

INSTRUCTIONS_TOKENS: Final = 1_200
"""What a small agent's instructions and descriptions of its tools take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens of one turn."""

    context: int
    """In the context after the turn."""
    input: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One turn as its agent did it."""

    move: Move
    results: tuple[Result, ...]
    durations_s: tuple[float, ...]
    """Of each call."""


def spend(before: int, turn: Measured, *, window: int) -> Spent:
    """The tokens of a turn, `before` of them in the context when it began."""
    move = turn.move
    said = _tokens([move.text, move.final_answer, *_contents(move.calls)])
    heard = _tokens(result.text for result in turn.results)
    start = before if move.context is Context.KEPT else INSTRUCTIONS_TOKENS
    return Spent(context=min(start + said + heard, window), input=before, output=said)


def report(turn: Measured, spent: Spent, mind: Mind) -> TurnReport:
    """What is told of a turn. What was not measured is left out: absent is not zero."""
    move = turn.move
    told = TurnReport(
        tool_calls=_tool_calls(turn),
        text=move.text,
        output_lines=_lines(move),
        input_tokens=spent.input,
        output_tokens=spent.output,
        context_tokens=spent.context,
        context_window=mind.window_tokens,
        approach=move.approach,
        final_answer=move.final_answer,
        confidence=move.confidence,
    )
    if mind.edits_files:
        told["files_changed"] = sum(result.files_changed for result in turn.results)
    passed = [result.tests_passed for result in turn.results if result.tests_passed is not None]
    failed = [result.tests_failed for result in turn.results if result.tests_failed is not None]
    if passed:
        told["tests_passed"], told["tests_failed"] = sum(passed), sum(failed)
        # The share of the tests that pass is as good a reward as any.
        told["reward"] = sum(passed) / max(1, sum(passed) + sum(failed))
    return told


def _tool_calls(turn: Measured) -> list[ToolCall]:
    return [
        ToolCall(
            name=call.tool.value,
            arguments=dict(call.arguments),
            result=result.text,
            outcome="error" if result.failed else "ok",
            duration_s=duration_s,
        )
        for call, result, duration_s in zip(
            turn.move.calls, turn.results, turn.durations_s, strict=True
        )
    ]


def _lines(move: Move) -> int:
    return sum(text.count("\n") + 1 for text in (move.text, *_contents(move.calls)))


def _contents(calls: Sequence[Call]) -> list[str]:
    return [text for call in calls for text in call.arguments.values()]


def _tokens(texts: Iterable[str]) -> int:
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN
