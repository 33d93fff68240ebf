"""What a shell, a container or an environment is handed to run, taken out of who is handed it."""

import re
from typing import Final

_SHELLS: Final = frozenset("bash sh zsh dash ksh pwsh powershell powershell.exe".split())
_HANDED_BY: Final = re.compile(r"-[a-z]{0,8}c|-command", re.IGNORECASE)
"""The option behind which a shell is handed a command."""
_HANDED_DEPTH: Final = 2
_UNESCAPED_QUOTE = re.compile(r"(?<!\\)\"")
_PIECE_STARTS: Final = ";|&\n("
_ENVIRONMENTS: Final = frozenset("uv poetry pdm pipenv rye hatch pixi".split())
_CONTAINERS: Final = frozenset("docker podman docker-compose kubectl oc".split())
OPTIONS_WITH_VALUE: Final = frozenset("-u -g -w -e -n -c --user --workdir --env".split())
"""Of `sudo` and of those that run a program in a container, what takes a value."""


def handed(text: str) -> str:
    """The command with what its shell is handed in the place of that shell: `bash -lc 'ls'`,
    `timeout 60 ssh host "ls"` and `( ls )` are `ls`."""
    for _ in range(_HANDED_DEPTH):
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1].strip()
        starts = [at for quote in "'\"" if (at := text.find(quote)) >= 0]
        if not starts or "sh" not in text:
            return text
        start = min(starts)
        end = _end_of_string(text, start)
        piece = max(text.rfind(mark, 0, start) for mark in _PIECE_STARTS) + 1
        if end < 0 or not _hands_over(text[piece:start].split()):
            return text
        inner = text[start + 1 : end]
        if text[start] == '"':
            inner = inner.replace('\\"', '"')
        text = f"{text[:piece]} {inner} {text[end + 1 :]}".strip()
    return text


def handed_on(words: list[str]) -> list[str]:
    """What is run in a container or an environment: of `docker exec -it web ls`, `kubectl exec web
    -- ls` and `uv run ls` it is `ls`."""
    if words[1:2] == ["run"] and words[0] in _ENVIRONMENTS and len(words) > 2:
        return words[2:]
    if not words or words[0] not in _CONTAINERS or "exec" not in words[1:3]:
        return words
    at = words.index("exec") + 1
    if "--" in words:
        at = words.index("--")
    while at < len(words) - 1 and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in OPTIONS_WITH_VALUE else 1
    return words[at + 1 :]


def _end_of_string(text: str, start: int) -> int:
    """Where the string that starts there ends; -1: it does not."""
    if text[start] == "'":
        return text.find("'", start + 1)
    found = _UNESCAPED_QUOTE.search(text, start + 1)
    return found.start() if found else -1


def _hands_over(words: list[str]) -> bool:
    """Whether what follows these words is run by a shell, here or on another machine."""
    if "ssh" in words[:-1]:
        return True
    return (
        len(words) > 1
        and _HANDED_BY.fullmatch(words[-1]) is not None
        and any(word.rpartition("/")[2] in _SHELLS for word in words[:-1])
    )
