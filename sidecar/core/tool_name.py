"""The words of a tool's name, and what they say where nothing else does."""

import re
from functools import lru_cache
from typing import Final

_CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SEPARATORS = str.maketrans("-./:", "____")
_OWN_LISTS: Final = frozenset(
    "todowrite writetodos updatetodos updatetodolist managetodolist todo todos todolist "
    "updateplan plan tasktracker".split()
)
"""Names, without what separates their words, of the tools in which agents keep what they intend:
Claude Code's and OpenCode's, Gemini CLI's, Roo Code's and Cline's, Copilot's, Codex's, OpenHands'.
"""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case."""
    if name.islower():
        return name.translate(_SEPARATORS).split("_")
    return [word.lower() for word in _CAMEL_WORD.findall(name)]


@lru_cache(maxsize=1024)
def only_plans(name: str) -> bool:
    """Whether the tool of this name keeps the agent's own list of what it is going to do: to write
    it anew changes nothing else, and teaches nothing."""
    return "".join(words_of(name)) in _OWN_LISTS
