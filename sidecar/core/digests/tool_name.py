"""The words of a tool's name, and what they say where nothing else does."""

import re
from functools import lru_cache
from typing import Final

_CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMESPACES = re.compile(r"__|[./:]")
_SEPARATORS = str.maketrans("-./:", "____")
_SHELLS: Final = frozenset(
    "bash shell sh zsh terminal console command cmd exec execute run powershell repl ipython "
    "python interpreter gdb lldb pdb stdin".split()
)
"""Words in the names of tools that run what they are given."""
_STARTS: Final = frozenset({"launch", "start"})
"""Of a process: Augment's and Desktop Commander's shells are named so."""
_OWN_LISTS: Final = frozenset({"todowrite", "writetodos", "updatetodolist", "managetodolist"})
"""Names, without what separates their words, of the tools in which agents keep what they intend:
Claude Code's and OpenCode's, Gemini CLI's, Roo Code's and Cline's, Copilot's. Codex's `update_plan`
is none of them: a tool of that name may as well change somebody's subscription."""
_THOUGHTS: Final = frozenset(
    "think thinktool thinking sequentialthinking sequentialthinkingtools".split()
)
_NOTES: Final = (
    _OWN_LISTS
    | _THOUGHTS
    | frozenset(
        "taskboundary tasktracker reportintent reportprogress savememory notifyuser "
        "messagenotifyuser".split()
    )
)
"""Also those in which they tell themselves, or whoever watches, what they think: of OpenHands,
Anthropic's and MCP's servers, Antigravity, Copilot, Gemini CLI and Manus."""
_PLAN: Final = "updateplan"
_STEPS: Final = ('"step"', '"steps"')
"""What the plan of Codex's `update_plan` has, and that of a subscription has not."""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case."""
    if name.islower():
        return name.translate(_SEPARATORS).split("_")
    return [word.lower() for word in _CAMEL_WORD.findall(name)]


@lru_cache(maxsize=1024)
def runs_commands(name: str) -> bool:
    """Whether the tool of this name runs what it is given: a shell, an interpreter, a debugger."""
    words = words_of(name)
    if not _SHELLS.isdisjoint(words):
        return True
    return "process" in words and not _STARTS.isdisjoint(words)


@lru_cache(maxsize=1024)
def searches(name: str) -> bool:
    """Whether the tool of this name searches: for other words it has another answer."""
    return "search" in own_words(name)


@lru_cache(maxsize=1024)
def notes_thoughts(name: str) -> bool:
    """Whether the tool of this name only notes what the agent thinks, as OpenHands' `think`. One
    that leads through numbered thoughts is another: it asks for many."""
    return words_of(name) in (["think"], ["think", "tool"])


def thinks(name: str) -> bool:
    """Whether the tool of this name is there to think with, in numbered thoughts or not."""
    return _plain(name) in _THOUGHTS


def takes_notes(name: str) -> bool:
    """Whether the tool of this name is there for what the agent tells itself: it writes nothing
    that the run is for."""
    return _plain(name) in _NOTES


def may_take_notes(name: str) -> bool:
    """The same, or whether its arguments tell (`tells_itself`)."""
    return takes_notes(name) or _plain(name) == _PLAN


def tells_itself(name: str, arguments_json: str) -> bool:
    """Whether a call of this tool only tells the agent what it thinks or intends, so that a mere
    confirmation of it teaches nothing."""
    if _plain(name) == _PLAN:
        return any(field in arguments_json for field in _STEPS)
    return takes_notes(name)


def own_words(name: str) -> list[str]:
    """The words of a name, without that of a server before it."""
    return words_of(_NAMESPACES.split(name)[-1])


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    """The same without what separates them."""
    return "".join(own_words(name))


def only_plans(name: str) -> bool:
    """Whether the tool of this name keeps the agent's own list of what it is going to do: to write
    it anew teaches nothing."""
    return _plain(name) in _OWN_LISTS
