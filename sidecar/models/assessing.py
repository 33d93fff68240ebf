"""Asking a model what it makes of material that others wrote.

The material goes to it as JSON data between two lines with a random word in them, and never into
the system prompt; of the reply only the fields of one tool are read, and not where they merely
repeat what stands in the material.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sidecar.core.answers.delimiting import delimited
from sidecar.core.answers.json_reply import objects, only_object
from sidecar.core.value import value
from sidecar.ports import Model, ModelReply, ModelRequest, Purpose, Tool

Nonce: TypeAlias = Callable[[], str]
"""Makes the word that delimits the material of one call."""

_ESCAPED: Final = re.compile(r"\\+u([0-9a-fA-F]{4})")
_NO_LETTER: Final = re.compile(r"\\+[bfnrt]|[^0-9A-Za-z]")


def random_word() -> str:
    """One that nobody can have guessed."""
    return secrets.token_hex(8)


@value
class Task:
    """What a model is to state, and how."""

    purpose: Purpose
    system: str
    tool: Tool
    field: str
    """One of the tool's, by which its fields are known in a reply without tools."""


@value
class Assessment:
    """What a model came back with."""

    reply: ModelReply
    given: Mapping[str, Any] | None
    """The fields of the tool; None: none that could be read."""


class Assessor:
    """Asks one model to do one task."""

    def __init__(self, model: Model, task: Task, *, output_tokens_max: int, nonce: Nonce) -> None:
        self._model = model
        self._task = task
        self._output_tokens_max = output_tokens_max
        self._nonce = nonce

    async def assess(
        self, material: Mapping[str, Any], *, timeout_s: float, session_id: str
    ) -> Assessment:
        """What the model states of the material. `timeout_s` bounds its call.

        Raises ModelFailure, and Refusal where somebody in between has a bound.
        """
        task = self._task
        content = delimited(material, self._nonce())
        reply = await self._model.ask(
            ModelRequest(
                messages=[{"role": "user", "content": content}],
                output_tokens_max=self._output_tokens_max,
                timeout_s=timeout_s,
                purpose=task.purpose,
                system=task.system,
                tool=task.tool,
                session_id=session_id,
            )
        )
        given = reply.tool_input
        if given is None:
            given = only_object(reply.text, task.field)
            if given is not None and _is_quoted(given, reply.text, content):
                given = None
        return Assessment(reply=reply, given=given)


def _is_quoted(given: Mapping[str, Any], reply: str, sent: str) -> bool:
    """Whether an object of a reply stands in what was sent, too: the model may quote it.

    Letters and digits alone are compared. What others wrote may have the object in a string of JSON
    within another, escaped, over several lines, or as Python writes it.
    """
    material = _letters(sent)
    return any(_letters(each) in material for found, each in objects(reply) if found == given)


def _letters(text: str) -> str:
    unescaped = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return _NO_LETTER.sub("", unescaped).lower()
