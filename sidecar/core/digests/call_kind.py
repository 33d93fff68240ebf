"""What kind of call a tool call is, read off the tool's name and its arguments.

Waiting has a patience of its own, overviews teach little, navigation repeats by nature, and a
write is what a run is for: the loop rules treat each differently. A tool that the policy names
comes first, then the words of the tool's name, then what its arguments tell it to do.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sidecar.core.digests.measured import TEXT_MAX
from sidecar.core.digests.script import writes
from sidecar.core.digests.shell import DEBUGGER_STEPS, SQL_WRITES, command_kind
from sidecar.core.digests.tool_name import own_words, runs_commands, takes_notes, words_of
from sidecar.core.turn import CallKind

_PAUSES: Final = frozenset({"wait", "sleep"})
_PAUSED_FOR: Final = frozenset(
    "time times list lists listed entry entries data log logs record records study studies score "
    "quality schedule report history tracker stats session sessions".split()
)
"""What may follow those words in the name of a tool that is about them, and does not pause."""
_DEBUGGERS: Final = frozenset("gdb lldb pdb debugger debug dap".split())
_STEPPERS: Final = frozenset({"scroll", "page", "step", "next", "screenshot"}) | _DEBUGGERS
_PAGING: Final = frozenset("next previous prev down up".split())
_STEPPING: Final = frozenset("over into out in".split())
_PAGING_KEYS: Final = frozenset(
    "page_down pagedown page_up pageup down up left right space tab shift+tab".split()
) | frozenset("arrowdown arrowup arrowleft arrowright".split())
_LOOKING: Final = frozenset(
    "get list ls read search find view show check fetch query lookup look describe count is has "
    "open cat grep glob head tail think calculate analyze inspect explore visit todo todos".split()
)
"""First words of tools that change nothing, whatever words follow."""
_LISTING: Final = frozenset({"list", "ls"})
_LISTED: Final = frozenset("list ls directory dir files folder".split())
_WRITING: Final = frozenset(
    "write edit editor create append insert replace delete remove move rename patch save update "
    "modify put upload commit push apply overwrite mkdir undo copy book cancel str "
    "send set close assign archive transition place publish submit store turn".split()
)
_ACTING: Final = frozenset(
    "add refund approve grant mark enable disable register schedule reschedule merge reply forward "
    "invite fill restart deploy revoke resolve block unblock notify pay ship reject subscribe "
    "unsubscribe adjust label tag pin mute escalate release reserve confirm flag launch start stop "
    "scale import redeem reopen renew activate deactivate rebook exchange "
    "generate".split()
)
"""The same as first words only, of a name with more than one: elsewhere they may be what a tool is
about, and `add` alone is a sum."""
_DOING: Final = _LOOKING | _WRITING | _ACTING
_ACTING_FOR_SERVERS: Final = _ACTING - frozenset(
    "mark schedule fill block ship label tag pin mute release reserve flag scale import start stop "
    "exchange add".split()
)
"""Those of them that are hardly ever what a tool is about: they count behind one word that may be
a server's name, as in `billing_refund_order`."""
_GIT_WRITING: Final = frozenset("add commit checkout reset stash merge push pull init".split())
_GIT_OVERVIEWS: Final = frozenset("status diff log branch".split())
_DATABASES: Final = frozenset("sql database db query".split())
_NOTED: Final = _PAUSES | _STEPPERS | _WRITING | _LISTING | _DATABASES | {"git"}
"""Words without which a tool that runs nothing is PLAIN by its name."""

_STATUS: Final = frozenset(
    "status state progress poll health job jobs agents subagents workers".split()
)
"""Words in the names of tools that tell how something goes."""

_PRESSES: Final = frozenset("click press tap swipe drag".split())
"""Words in the names of tools that work a control: what it then does is seen elsewhere."""
_MOVES_FIRST: Final = frozenset("mine chop attack harvest pump".split())
"""The same as first words."""
_MOVES: Final = frozenset("move forward backward walk jump mine dig steer undo redo".split())
"""The same as last words only: `drone_forward` moves something on, `forward_email` does not."""

_COMMAND_KEYS: Final = ("command", "cmd", "code", "script", "chars", "input", "keys", "keystrokes")
_COMMAND_NAMES: Final = frozenset("command cmd commandline commands shellcommand".split())
"""The same in other spellings: Windsurf says `CommandLine`."""
_RUNNERS: Final = frozenset({"run", "execute"})
"""Words in the names of tools that may as well run an agent, an actor or a flow on its `input`."""
_SHELLS: Final = frozenset("bash shell sh zsh terminal console powershell cmd".split())
"""Words in the names of tools to which even `code` is a command."""
_ACTION_KEYS: Final = ("action", "command", "operation")
_PRESS_KEYS: Final = ("key", "keys", "text")
_PATH_KEYS: Final = ("path", "file", "file_path", "paths", "directory", "dir_path", "filename")
_STATEMENT_KEYS: Final = ("query", "sql", "statement")
_NEW_TEXTS: Final = tuple(
    f'"{key}"' for key in "new_string new_str new_text file_text code_edit diff patch".split()
)
_CONTENTS: Final = ('"content"', '"contents"', '"text"')
"""Arguments that only a tool has which writes: the second sort beside a path."""
_WHOLE_TREE: Final = frozenset({"", ".", "./"})
_ACTION_MAX: Final = 32
"""Characters of an argument that can be the name of an action."""

_CODE_SLEEPS = re.compile(
    r"(?:(?:import time|from time import sleep)[ \t\r]*[;\n]\s*)?(?:time\.)?sleep\([0-9.* ]+\)"
)
_SQL_WRITES = re.compile(SQL_WRITES, re.IGNORECASE)
_decode = json.JSONDecoder(strict=False).decode


def call_kind(name: str, arguments_json: str | None) -> CallKind:
    """The kind of a call of the tool `name`, of which the policy says nothing.

    Asking for a status is PLAIN, not WAIT: an unchanged answer is a repeat like any other.
    Never raises.
    """
    tool = _named(name)
    text = arguments_json or ""
    if tool.runs and (run := _run_kind(tool, text)) is not None:
        return run
    if tool.step is not None:
        return tool.step
    if '"action"' in text or '"command"' in text or '"operation"' in text:
        action = _action_kind(tool.words, _object(text))
        if action is not None:
            return action
    if _is_press(tool.words):
        return _pressed_kind(_object(text))
    if tool.noted:
        return _named_kind(tool, text)
    return CallKind.WRITE if not tool.looks and _hands_in_text(text) else CallKind.PLAIN


def _hands_in_text(text: str) -> bool:
    """Whether the arguments have a text for a file: what a tool is for whose name says nothing."""
    if any(key in text for key in _NEW_TEXTS):
        return True
    if not any(key in text for key in _CONTENTS):
        return False
    return bool(_first(_object(text), _PATH_KEYS))


@lru_cache(maxsize=1024)
def asks_for_status(name: str) -> bool:
    """Whether the tool of this name tells how something goes, and changes nothing."""
    words = words_of(name.rpartition("__")[2])  # of jobs, and not of a server's that is called so
    return not _STATUS.isdisjoint(words) and "git" not in words and _WRITING.isdisjoint(words)


@lru_cache(maxsize=1024)
def kind_by_name(name: str) -> CallKind:
    """The kind of a call of which no more than the tool's name is known: WAIT, NAVIGATION, PRESS
    or PLAIN. That it writes is not read off a name alone: editors show files too."""
    words = words_of(name)
    if (step := _step(words, own_words(name))) is not None:
        return step
    return CallKind.PRESS if _is_press(words) else CallKind.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    """What a tool's name says."""

    words: tuple[str, ...]
    looks: bool
    acts: bool
    """Whether it looks or acts by the first word behind the name of a server:
    `mcp__shop__add_item`."""
    runs: bool
    """Whether it runs what it is given."""
    is_shell: bool
    """Whether what it runs can be nothing but commands or code."""
    step: CallKind | None
    noted: bool


@lru_cache(maxsize=1024)
def _named(name: str) -> _Tool:
    words = words_of(name)
    first, *rest = own_words(name) or [""]
    looks = not _LOOKING.isdisjoint((first, *words[:1])) and "replace" not in rest
    acts = (first in _ACTING and bool(rest)) or (not looks and _acts_for_a_server(words))
    return _Tool(
        words=tuple(words),
        looks=looks,
        acts=acts,
        runs=runs_commands(name),
        is_shell=runs_commands("_".join(word for word in words if word not in _RUNNERS)),
        step=_step(words, own_words(name)),
        noted=(acts or not _NOTED.isdisjoint(words)) and not takes_notes(name),
    )


def _acts_for_a_server(words: Sequence[str]) -> bool:
    """Whether an acting verb stands behind the name of a server and before what is acted on."""
    behind = [word for word in words if word != "mcp"][1:]
    return (
        len(behind) > 1
        and behind[0] in _ACTING_FOR_SERVERS
        and _STATUS.isdisjoint(behind)
        and behind[-1] not in _LOOKING
    )


def _is_press(words: Sequence[str]) -> bool:
    return not (
        _PRESSES.isdisjoint(words)
        and _MOVES.isdisjoint(words[-1:])
        and _MOVES_FIRST.isdisjoint(words[:1])
        and [*words[-2:]] != ["end", "turn"]
    )


def _pauses(words: Sequence[str]) -> bool:
    """Whether the words name a pause: `browser_wait_for` does; `get_wait_times` and
    `add_sleep_entry` name something else."""
    for place, word in enumerate(words):
        if word in _PAUSES:
            before, after = words[:place], words[place + 1 : place + 2]
            return _DOING.isdisjoint(before) and _PAUSED_FOR.isdisjoint(after)
    return False


def _step(words: Sequence[str], own: Sequence[str]) -> CallKind | None:
    """WAIT or NAVIGATION where the words say so, those of a pause among its `own`."""
    if _pauses(own):
        return CallKind.WAIT
    if _STEPPERS.isdisjoint(words):
        return None
    if (
        "scroll" in words
        or "screenshot" in words
        or words[-1:] == ["next"]
        or ("page" in words and not _PAGING.isdisjoint(words))
        or ("step" in words and not _STEPPING.isdisjoint(words))
        or not (_DEBUGGERS.isdisjoint(words) or DEBUGGER_STEPS.isdisjoint(words))
    ):
        return CallKind.NAVIGATION
    return None


def _run_kind(tool: _Tool, text: str) -> CallKind | None:
    """The kind of what a shell or an interpreter is given; None: it is given nothing to run."""
    arguments = _object(text)
    if arguments is None:
        return command_kind(text)
    for key in _COMMAND_KEYS:
        if isinstance(arguments.get(key), str | list):
            if key == "input" and not tool.is_shell:
                continue
            command = _joined(arguments[key])
            is_code = key == "code" and _SHELLS.isdisjoint(tool.words)
            return _code_kind(command) if is_code else command_kind(command)
    for key, given in arguments.items():
        if isinstance(given, str | list) and key.replace("_", "").lower() in _COMMAND_NAMES:
            return command_kind(_joined(given))
    return None


def _code_kind(code: str) -> CallKind:
    code = code[:TEXT_MAX].strip()
    if not code or _CODE_SLEEPS.fullmatch(code):
        return CallKind.WAIT
    return CallKind.WRITE if writes(code) else CallKind.PLAIN


def _action_kind(named: Sequence[str], arguments: Mapping[str, object] | None) -> CallKind | None:
    """The kind of the action that the arguments name; None: of none that is known."""
    action = _first(arguments, _ACTION_KEYS)
    if not action or len(action) > _ACTION_MAX or " " in action:
        return None
    words = words_of(action)
    if (stepping := _step([*named, *words], words)) is not None:
        return stepping
    if not words or words[0] in _LOOKING:
        return CallKind.PLAIN
    if words[-1] in {"key", "press", "keypress"}:
        return _pressed_kind(arguments)
    if not _PRESSES.isdisjoint(words):
        return CallKind.PRESS
    return CallKind.WRITE if words[0] in _WRITING else None


def _pressed_kind(arguments: Mapping[str, object] | None) -> CallKind:
    """The kind of a press: a key that leads on is a step."""
    pressed = _first(arguments, _PRESS_KEYS).lower()
    return CallKind.NAVIGATION if pressed in _PAGING_KEYS else CallKind.PRESS


def _named_kind(tool: _Tool, text: str) -> CallKind:
    words = tool.words
    if "git" in words:
        return _git_kind(words, text)
    if words[0] in _LISTING and words[-1] in _LISTED:
        whole = _first(_object(text), _PATH_KEYS) in _WHOLE_TREE
        return CallKind.OVERVIEW if whole else CallKind.PLAIN
    if not _DATABASES.isdisjoint(words):
        statement = _first(_object(text), _STATEMENT_KEYS)
        return CallKind.WRITE if _SQL_WRITES.match(statement) else CallKind.PLAIN
    if tool.looks or (not tool.acts and _WRITING.isdisjoint(words)):
        return CallKind.PLAIN
    return CallKind.WRITE


def _git_kind(words: Sequence[str], text: str) -> CallKind:
    if not _GIT_WRITING.isdisjoint(words):
        return CallKind.WRITE
    if _GIT_OVERVIEWS.isdisjoint(words):
        return CallKind.PLAIN
    whole = _first(_object(text), _PATH_KEYS) in _WHOLE_TREE
    return CallKind.OVERVIEW if whole else CallKind.PLAIN


def _object(text: str) -> Mapping[str, object] | None:
    """The arguments as an object, empty for other JSON and for none; None: they are not JSON."""
    if not text or len(text) > TEXT_MAX:
        return {}
    try:
        value = _decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else {}


def _first(arguments: Mapping[str, object] | None, keys: Iterable[str]) -> str:
    """The first of the keys that is there, as text; empty: none is."""
    for key in keys:
        if arguments and key in arguments:
            return _joined(arguments[key])
    return ""


def _joined(value: object) -> str:
    """A command as one text: a list of words is joined, what a shell is handed is taken out."""
    match value:
        case str():
            return value
        case [str(shell), "-c" | "-lc", str(command)] if shell.endswith("sh"):
            return command
        case list():
            return " ".join(map(str, value))
        case _:
            return ""
