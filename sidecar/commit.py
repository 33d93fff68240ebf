"""An answer from a run that cannot finish: one model call without tools, then the history.

A model never fails a commit: where it is down, slow, or says nothing, the history is scanned.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sidecar.core.answers.answer import Extraction, Source, extract, settle
from sidecar.core.answers.condensing import clipped, condensed
from sidecar.core.answers.form import ANSWER_FORM, form_of
from sidecar.core.value import value
from sidecar.ports import Model, ModelFailure, ModelReply, ModelRequest, Purpose, Spent, Stop

OUTPUT_TOKENS_MAX: Final = 1_024
"""A sentence of thought and one line; more would be exploration."""

BYTES_PER_TOKEN: Final = 2
"""Of UTF-8, and fewer than any text has on average (English four, digits and base64 over two,
Chinese three): a history that is too long for the window fails the one call there is."""

_CUT: Final = "its reply was cut at the output limit"


@value
class Committed:
    """What a forced commit came to."""

    answer: str | None = None
    source: Source = Source.NONE
    """MODEL, HISTORY or NONE."""
    signal: str = ""
    """Signal that caused it; empty: asked for by hand."""
    spent: Spent
    """Of the model call; no tokens where there was no reply. The latency is that of the whole
    commit."""
    model_error: str = ""
    """Why the model gave no answer, without content; empty: it did."""


class ForceCommit:
    """Gets an answer out of a run, now."""

    def __init__(
        self,
        model: Model,
        *,
        output_tokens_max: int = OUTPUT_TOKENS_MAX,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask `model` for at most so many tokens; one that thinks first needs some for that."""
        self._model = model
        self._output_tokens_max = output_tokens_max
        self._monotonic_s = monotonic_s

    async def commit(
        self,
        messages: Sequence[object],
        *,
        timeout_s: float,
        question: str = "",
        answer_form: str = ANSWER_FORM,
        signal: str = "",
        session_id: str = "",
    ) -> Committed:
        """The answer to the question that a history is about, oldest message first.

        `question` is repeated where the first message does not have it. `answer_form` is that of
        the run's policy; `timeout_s` is the model's. Raises nothing that a model or a history could
        cause.
        """
        began_s = self._monotonic_s()
        request = ModelRequest(
            # By a thread, as what follows below: a history can be long, and others wait.
            messages=await asyncio.to_thread(self._asked, messages, question, answer_form),
            output_tokens_max=self._output_tokens_max,
            timeout_s=timeout_s,
            purpose=Purpose.COMMIT,
            session_id=session_id,
        )
        try:
            reply = await self._model.ask(request)
        except ModelFailure as failure:
            found = await asyncio.to_thread(extract, messages, (answer_form,))
            spent, error = failure.spent, str(failure)
        else:
            found, error = await asyncio.to_thread(_settled, reply, messages, answer_form)
            spent = reply.spent
        return Committed(
            answer=found.answer,
            source=found.source,
            signal=signal,
            spent=replace(spent, latency_s=self._monotonic_s() - began_s),
            model_error=error,
        )

    def _asked(
        self, messages: Sequence[object], question: str, answer_form: str
    ) -> list[Mapping[str, Any]]:
        tokens_max = self._model.window_tokens - self._output_tokens_max
        bytes_max = tokens_max * BYTES_PER_TOKEN
        said = condensed(
            messages,
            bytes_max=bytes_max,
            closing=instruction(clipped(question, bytes_max // 2), answer_form),
        )
        return [{"role": each.role, "content": each.text} for each in said]


def instruction(question: str, answer_form: str) -> str:
    """What is added to the history."""
    about = f"The question was: {question}\n\n" if question.strip() else ""
    return (
        f"{about}This run has ended and no tool can be called any more. Give the final answer now, "
        "from what is known above; where it is not certain, the best answer there is. Do not "
        "explore further and do not ask back. End with one line in this form:\n"
        f"{_line(answer_form)}"
    )


def _line(answer_form: str) -> str:
    """The form with a marker in it, by which the answer is found."""
    if form_of(answer_form).marker in answer_form:
        return answer_form
    return f"{ANSWER_FORM}\nwhere the answer is: {answer_form}"


def _settled(
    reply: ModelReply, messages: Sequence[object], answer_form: str
) -> tuple[Extraction, str]:
    """The answer, and why it is not the model's."""
    error = _without_answer(reply)
    found = settle(None if error else reply.text, messages, (answer_form,))
    if found.source is Source.MODEL and reply.stop is Stop.MAX_TOKENS and _is_at_end(found, reply):
        # What follows is missing, and half an answer is a wrong one.
        return extract(messages, (answer_form,)), _CUT
    if found.source is Source.MODEL:
        return found, ""
    cut = _CUT if reply.stop is Stop.MAX_TOKENS else "its reply has no answer in the form asked for"
    return found, error or cut


def _without_answer(reply: ModelReply) -> str:
    if reply.stop is Stop.REFUSAL:
        return "it refused"
    return "" if reply.text.strip() else "its reply is empty"


def _is_at_end(found: Extraction, reply: ModelReply) -> bool:
    end = (found.offset or 0) + len(found.answer or "")
    return not reply.text[end:].strip()
