"""Taking the command off a result that begins by repeating it.

Some shells' results start with the line that was typed (in 244 of 244 recorded OpenHands runs).
Left there it makes a silent success look like news, and one refusal of many commands like many.
"""

import json
import re
from typing import Final

from sidecar.core.digests.measured import TEXT_MAX

_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
"""Characters that no JSON writer escapes."""
_COMMAND_KEYS: Final = ("command", "cmd", "input", "code", "keystrokes")
_PROMPT = re.compile(
    r"Command: |\$ |(?:\([^()\n]{1,64}\) )?[A-Za-z0-9._-]{1,64}@[^\s:$#]{1,64}:[^\n$#]{0,256}[$#] "
)
"""What stands before the command: Gemini CLI's word for it, and the usual prompts of a shell."""
_PEEK_LENGTH: Final = 8
"""Characters of the result that must stand in the arguments, as far as no JSON writer escapes
them, for the arguments to be read at all."""


def without_echo(result_text: str, arguments_json: str | None) -> str:
    """The result without the command that it begins with; the result where it begins otherwise.

    The command is the text under `command`, `cmd`, `input`, `code` or `keystrokes`; line ends may
    differ. A prompt may stand before it. Never raises.
    """
    if not arguments_json or not result_text or len(arguments_json) > TEXT_MAX:
        return result_text
    prompt = _PROMPT.match(result_text)
    shown = result_text[prompt.end() :] if prompt else result_text
    if _begins_otherwise(shown[:_PEEK_LENGTH], arguments_json):
        return result_text
    for command in _commands(arguments_json):
        rest = _after(shown, command.strip())
        if rest is not None:
            return rest
    return result_text


def _begins_otherwise(peek: str, arguments_json: str) -> bool:
    """Whether the arguments cannot hold a command that begins as the result does."""
    plain = _PLAIN.match(peek)
    if plain is None or plain[0] in arguments_json:
        return False
    # One that escapes what it need not escape is taken to have left all of the peek as it is.
    return plain[0] == peek or "\\u" not in arguments_json


def _commands(arguments_json: str) -> list[str]:
    try:
        arguments = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return []
    if not isinstance(arguments, dict):
        return []
    found = [arguments[key] for key in _COMMAND_KEYS if key in arguments]
    return [command for command in found if isinstance(command, str) and command.strip()]


def _after(text: str, command: str) -> str | None:
    """What follows the command at the start of the text; None: something else stands there."""
    for written in (command, command.replace("\n", "\r\n")):
        if text.startswith(written):
            rest = text[len(written) :]
            if not rest or rest[0] in "\r\n":
                return rest.lstrip("\r\n")
    return None
