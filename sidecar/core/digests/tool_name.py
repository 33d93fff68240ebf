"""The words of a tool's name, and what they say where nothing else does."""

import re
from functools import lru_cache
from typing import Final

_CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SEPARATORS = str.maketrans("-./:", "____")
_SHELLS: Final = frozenset(
    "bash shell sh zsh terminal console command cmd exec execute run powershell repl ipython "
    "python interpreter gdb lldb pdb stdin".split()
)
"""Words in the names of tools that run what they are given."""
_OWN_LISTS: Final = frozenset({"todowrite", "writetodos", "updatetodolist", "managetodolist"})
"""Names, without what separates their words, of the tools in which agents keep what they intend:
Claude Code's and OpenCode's, Gemini CLI's, Roo Code's and Cline's, Copilot's. Codex's `update_plan`
is none of them: a tool of that name may as well change somebody's subscription."""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case."""
    if name.islower():
        return name.translate(_SEPARATORS).split("_")
    return [word.lower() for word in _CAMEL_WORD.findall(name)]


@lru_cache(maxsize=1024)
def runs_commands(name: str) -> bool:
    """Whether the tool of this name runs what it is given: a shell, an interpreter, a debugger."""
    return not _SHELLS.isdisjoint(words_of(name))


@lru_cache(maxsize=1024)
def notes_thoughts(name: str) -> bool:
    """Whether the tool of this name only notes what the agent thinks, as OpenHands' `think`. One
    that leads through numbered thoughts is another: it asks for many."""
    return words_of(name) in (["think"], ["think", "tool"])


@lru_cache(maxsize=1024)
def only_plans(name: str) -> bool:
    """Whether the tool of this name keeps the agent's own list of what it is going to do: to write
    it anew teaches nothing."""
    return "".join(words_of(name)) in _OWN_LISTS
