"""Reading a shell command just far enough to tell waiting, overviews and writes apart.

Not a parser: what a shell is handed is taken out, other quoted text is blanked out, the rest is
split at `&&`, `||`, `;`, `|`, `&` and newlines, and each piece is judged by its program. What is
not recognised is PLAIN.
"""

import re
from collections.abc import Mapping
from typing import Final

from sidecar.core.digests.handed import OPTIONS_WITH_VALUE, handed, handed_on
from sidecar.core.digests.script import writes
from sidecar.core.turn import CallKind

DEBUGGER_STEPS: Final = frozenset(
    "n next s step c cont continue ni nexti si stepi fin finish until up down".split()
)
"""What a debugger takes and no shell does."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z)", re.DOTALL)
"""A string that does not end reaches to the text's end, so that it is not tried again from each of
the quotes within: that took n squared steps, 2.7 s for 30 kB."""
_SEPARATOR = re.compile(r"[;|&\n]+")
_REDIRECTION = re.compile(
    r"(?<![-=<>])>{1,2}\|?[ \t]*(?![ \t&>|]|/dev/(?:null|stdout|stderr|tty)\b)"
)
_DISCARDED: Final = ("2>&1", "1>&2", "&>/dev/null", "2>/dev/null", "1>/dev/null", ">/dev/null")
_ALSO_DISCARDED = re.compile(r">&(?:[0-9]+|-)|>{1,2}[ \t]*/dev/(?:null|stdout|stderr|tty)\b")
"""Redirections that write no file: `2>&1` ends no piece, nor is it an argument."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*=")

_BEFORE_A_PROGRAM: Final = frozenset(
    "sudo time nohup command exec builtin env timeout stdbuf nice xargs then do else { ( !".split()
)
"""Words after which the program itself comes, options and numbers aside."""
_SILENT: Final = frozenset(
    "cd pushd popd export set source . echo printf true : unset date done fi esac } )".split()
)
"""Programs that neither look at the workspace nor change it."""
_WAITING: Final = frozenset({"sleep", "wait", "Start-Sleep"})
PAUSE_S: Final = 5.0
"""A sleep of so long is what its command is for, and what follows it a look, whatever it is."""
_WAITING_WORDS: Final = (("wait",), ("rollout", "status"), ("run", "watch"))
"""What a command line that talks to a service is given to block until something is done."""
_SERVICES: Final = frozenset("kubectl oc aws az gh docker podman argocd gcloud".split())
_LOOPING: Final = ("while ", "until ", "for ")
_LOOKING: Final = frozenset(
    "cat head tail less wc grep rg awk ls ps pgrep jobs curl wget docker kubectl systemctl "
    "journalctl find stat du df netstat ss lsof nc ping aws gh squeue sacct test [ top ssh "
    "pg_isready mysqladmin redis-cli nvidia-smi".split()
)
"""Programs with which one looks, after a sleep, whether the wait is over."""
_PAUSE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)([smhd]?)")
_UNITS_S: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_VIEWERS: Final = frozenset("cat head tail less more wc sort uniq column nl".split())
"""Filters that show what they are given, when they are given no file."""
_SPECIAL: Final = _BEFORE_A_PROGRAM | _SILENT | _VIEWERS
"""First words of a piece that may not be its program, or make it one that does nothing."""
_WRITERS: Final = frozenset(
    "tee mv cp rm mkdir rmdir touch chmod chown ln dd patch install truncate rsync unzip shred "
    "unlink apply_patch scp ex zip gunzip useradd usermod userdel groupadd setfacl jscodeshift "
    # PowerShell's.
    "Set-Content Add-Content Clear-Content Out-File Tee-Object Copy-Item Move-Item Remove-Item "
    "Rename-Item New-Item Set-Item Set-ItemProperty New-ItemProperty Remove-ItemProperty "
    "Export-Csv Expand-Archive Compress-Archive Set-Acl".split()
)
_LOGS: Final = (".log", ".out", ".txt")
"""Where `tee` keeps a copy of what another program prints."""
_WRITING_OPTIONS: Final = frozenset("-i -pi -ni --in-place --fix --write -w -delete".split())
_OPTION_WRITERS: Final = frozenset(
    "sed perl gofmt find ruff eslint prettier isort autoflake clang-format npx yq".split()
)
"""Programs that write when they are given a writing option."""
_IN_PLACE: Final[Mapping[str, re.Pattern[str]]] = {
    "sed": re.compile(r"-[nrEsz]*i(?:Q|\.\S*)?"),
    "perl": re.compile(r"-[0-9npls]*i(?:e|Q|\.\S*)?"),
    "ruby": re.compile(r"-[npl]*i(?:e|Q|\.\S*)?"),
    "awk": re.compile(r"inplace"),
    "gawk": re.compile(r"inplace"),
    "tar": re.compile(
        r"-[a-zA-Z]*x[a-zA-Z]*|-(?=[a-z]*[cru])[a-zA-Z]*f|[cxru][a-z]*f|--(?:extract|get)"
    ),
}
"""What those write in place by, or a file at all."""
_FORMATTERS: Final = frozenset({"black", "rustfmt"})
"""Programs that write unless they are told to check only."""
_ONLY_CHECKED: Final = frozenset({"--check", "--diff"})
_INTERPRETERS: Final = frozenset("python python3 node ruby".split())
"""Programs that are handed code, in a here-document or behind `-c` or `-e`."""
_INSTALLERS: Final = (
    "pip pip3 npm yarn pnpm apt apt-get brew cargo go gem poetry uv conda dnf yum apk composer "
    "bundle dotnet winget choco pacman zypper tlmgr"
)
_INSTALLING: Final = (
    "install i ci add remove uninstall update upgrade get require tidy fmt set -S -Syu"
)
_DEPLOYING: Final = (
    "apply create patch scale edit set label annotate expose replace install upgrade uninstall "
    "rollback"
)
_CHANGING: Final[Mapping[str, frozenset[str]]] = {
    program: frozenset(actions.split())
    for programs, actions in (
        (_INSTALLERS, _INSTALLING),
        ("make", "install"),
        ("kubectl oc helm", _DEPLOYING),
        ("terraform tofu pulumi", "apply destroy import fmt up"),
        ("systemctl service", "restart start stop reload enable disable mask unmask"),
        ("docker podman", "cp rm rmi stop start restart kill"),
        ("iptables ip6tables ufw", "-A -I -D -F -P -R allow deny delete enable disable"),
        ("redis-cli", "set SET del DEL hset HSET expire EXPIRE flushdb FLUSHDB"),
    )
    for program in programs.split()
}
"""Programs that write when one of these is the first or the second thing that they are told: `npm
pkg set`, `go mod tidy`, `dotnet add package`."""
_DATABASES: Final = frozenset("psql mysql mariadb sqlite3 duckdb sqlcmd clickhouse-client".split())
"""Programs that write when a statement that they are given in quotes does."""
SQL_WRITES: Final = r"\s*(?:insert|update|delete|create|alter|drop|replace|truncate|merge|grant)\b"
"""How a statement that writes begins, in either case."""
_STATEMENT = re.compile(r"['\"]" + SQL_WRITES, re.IGNORECASE)
_GIT_WRITES: Final = frozenset(
    "add commit push pull merge rebase reset checkout switch restore stash apply am cherry-pick "
    "revert rm mv init clone clean tag worktree branch".split()
)
_BISECTING: Final = frozenset("good bad old new skip".split())
"""Steps of `git bisect`: each leads to another revision."""
_GIT_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "config": frozenset({"--add", "--unset", "--replace-all", "set", "unset"}),
    "remote": frozenset({"add", "remove", "rm", "rename", "set-url"}),
    "submodule": frozenset({"add", "update", "init", "sync", "deinit"}),
    "notes": frozenset({"add", "append", "copy", "edit", "merge", "remove"}),
    "lfs": frozenset({"track", "untrack", "install", "pull", "migrate"}),
    "sparse-checkout": frozenset({"set", "add", "init", "disable"}),
}
_GIT_LISTING: Final = frozenset("list -l --list -a -v -vv -r --show-current".split())
_GIT_OVERVIEWS: Final = frozenset("status diff ls-files log remote".split())
_GIT_OPTIONS_WITH_VALUE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_WHOLE = re.compile(
    r"-(?!-$|p$|-patch$|-grep\b|-author\b|[GSL]).*|\.|\./|[0-9]+"
    r"|(?:HEAD|FETCH_HEAD|ORIG_HEAD|@|main|master|develop|trunk|(?:origin|upstream)/\S+"
    r"|[0-9a-f]{7,40}|stash@\{[0-9]+\})(?:[~^][0-9]*)*"
    r"|\S*[^./\s]\.\.\.?\S*",
    re.DOTALL,
)
"""An argument that is an option, a revision or the whole tree, and so names no path."""

_CONTROLS: Final[Mapping[str, frozenset[str]]] = {
    "adb": frozenset({"input"}),
    "xdotool": frozenset("key keydown keyup click type mousemove".split()),
    "tmux": frozenset({"send-keys", "send"}),
}
"""Programs that work a screen they do not show, and what they are told to."""

_JUDGED: Final = (
    _WRITERS
    | _OPTION_WRITERS
    | _FORMATTERS
    | _CHANGING.keys()
    | _DATABASES
    | _CONTROLS.keys()
    | _IN_PLACE.keys()
    | _INTERPRETERS
    | _WAITING
    | {"git", "ls", "dir", "pwd", "rollout", "watch"}
)
"""Programs without which a command is PLAIN. A path to one, `/bin/rm`, is not looked for: nobody
writes it, and it would cost every other command a microsecond."""


def command_kind(command: str) -> CallKind:
    """The kind of a shell command; an empty one waits. Never raises."""
    text = handed(command.strip())
    if not text:
        return CallKind.WAIT
    words = text.split()
    if len(words) <= 2 and text.rstrip(" 0123456789") in DEBUGGER_STEPS:
        return CallKind.NAVIGATION
    if ">" not in text and ";" not in text and _JUDGED.isdisjoint(words):
        return CallKind.PLAIN
    if not _INTERPRETERS.isdisjoint(words) and _is_handed_code(text) and writes(text):
        return CallKind.WRITE
    if "<<" in text:
        text = _without_documents(text)
    if "'" in text or '"' in text:
        text = _QUOTED.sub("Q", text)
    if ">" in text:
        for redirection in _DISCARDED:
            text = text.replace(redirection, " ")
        text = _ALSO_DISCARDED.sub(" ", text)
        if _REDIRECTION.search(text):
            return CallKind.WRITE
    if not _DATABASES.isdisjoint(words) and _STATEMENT.search(command):
        return CallKind.WRITE
    # A piece that comes again says nothing new: only its first place counts.
    pieces = dict.fromkeys(_SEPARATOR.split(text))
    programs = [words for piece in pieces if (words := _program(piece))]
    return _of_programs(text, programs)


def _of_programs(text: str, programs: list[list[str]]) -> CallKind:
    """The kind of a command, given that of each of its programs."""
    if len(programs) > 1:
        programs = [programs[0], *(words for words in programs[1:] if not _keeps_a_log(words))]
    kinds = [_kind(words) for words in programs]
    if CallKind.WRITE in kinds:
        return CallKind.WRITE
    if CallKind.PRESS in kinds and set(kinds) <= {CallKind.PRESS, CallKind.WAIT}:
        return CallKind.PRESS
    if CallKind.WAIT in kinds:
        return _waiting(text, programs, kinds)
    if kinds == [CallKind.NAVIGATION]:
        return CallKind.NAVIGATION
    if kinds and all(kind is CallKind.OVERVIEW for kind in kinds):
        return CallKind.OVERVIEW
    return CallKind.PLAIN


def _keeps_a_log(words: list[str]) -> bool:
    """Whether it is handed what another program prints, to keep a copy beside showing it."""
    files = [word for word in words[1:] if word[0] != "-"]
    return words[0] == "tee" and all(
        file.startswith("/tmp/") or file.endswith(_LOGS)  # noqa: S108 - a name to look for
        for file in files
    )


def _is_handed_code(text: str) -> bool:
    return "<<" in text or " -c" in text or " -e" in text


def _without_documents(text: str) -> str:
    """The text up to the first here-document, the line that opens it included."""
    end = text.find("\n", text.index("<<"))
    return text if end < 0 else text[:end]


def _program(piece: str) -> list[str]:
    """The program and its arguments; empty for one that neither looks nor changes anything."""
    words = handed_on(piece.split())
    if not words or (words[0] not in _SPECIAL and "=" not in words[0] and words[0][0] != "#"):
        return words
    start, prefixed, takes_value = 0, False, False
    for word in words:
        if word in _BEFORE_A_PROGRAM:
            prefixed = True
        elif (
            not takes_value
            and not (prefixed and word[0] in "-0123456789")
            and not _ASSIGNMENT.match(word)
        ):
            break
        takes_value = prefixed and word in OPTIONS_WITH_VALUE
        start += 1
    del words[:start]
    if not words or words[0] in _SILENT or words[0][0] == "#":
        return []
    if words[0] in _VIEWERS and all(word[0] in "-0123456789" for word in words[1:]):
        return []
    return words


def _kind(words: list[str]) -> CallKind:
    program = words[0]
    if "/" in program:
        program = program.rpartition("/")[2]
    arguments = words[1:]
    if program in _SERVICES and _blocks(arguments):
        return CallKind.WAIT
    if program not in _JUDGED:
        return CallKind.PLAIN
    if program == "git":
        return _git_kind(arguments)
    if program in {"python", "python3"} and arguments[:2] == ["-m", "pip"]:
        program, arguments = "pip", arguments[2:]
    if program in {"ls", "dir", "pwd"}:
        whole = all(_WHOLE.fullmatch(word) for word in arguments)
        return CallKind.OVERVIEW if whole else CallKind.PLAIN
    if program in _WAITING:
        return CallKind.WAIT
    if program in _CONTROLS:
        rests = _CONTROLS[program].isdisjoint(arguments[:4])
        return CallKind.PLAIN if rests else CallKind.PRESS
    return CallKind.WRITE if _writes(program, arguments) else CallKind.PLAIN


def _blocks(arguments: list[str]) -> bool:
    """Whether a service is asked to answer only when something is done."""
    said = [word for word in arguments if word[0] != "-"]
    return any(
        tuple(said[at : at + len(words)]) == words
        for words in _WAITING_WORDS
        for at in range(min(2, len(said)))
    )


def _writes(program: str, arguments: list[str]) -> bool:
    if program in _WRITERS:
        return True
    if program in _IN_PLACE and any(map(_IN_PLACE[program].fullmatch, arguments[:4])):
        return True
    if program == "ruff" and "format" in arguments[:1]:
        return _ONLY_CHECKED.isdisjoint(arguments)
    if program in _OPTION_WRITERS:
        return not _WRITING_OPTIONS.isdisjoint(arguments) or any(
            word.startswith(("-i.", "--in-place=")) for word in arguments
        )
    if program in _FORMATTERS:
        return _ONLY_CHECKED.isdisjoint(arguments)
    told = _CHANGING.get(program, ())
    first = arguments[0] if arguments else ""
    if first in {"run", "exec"}:
        return False
    return any(word in told for word in arguments[: 3 if first.startswith("-") else 2])


def _waiting(text: str, programs: list[list[str]], kinds: list[CallKind]) -> CallKind:
    """WAIT for a sleep, one that is followed by a look, and a loop around one."""
    if text.startswith(_LOOPING):
        return CallKind.WAIT
    if kinds[0] is not CallKind.WAIT:
        return CallKind.PLAIN
    if programs[0][0] in _SERVICES or _pause_s(programs[0]) >= PAUSE_S:
        return CallKind.WAIT
    for words, kind in zip(programs, kinds, strict=True):
        if kind is CallKind.PLAIN and words[0] not in _LOOKING:
            return CallKind.PLAIN
    return CallKind.WAIT


def _pause_s(words: list[str]) -> float:
    """Seconds that a sleep takes; 0 where it is none, or does not say."""
    for word in words[1:]:
        found = _PAUSE.fullmatch(word)
        if found:
            return float(found[1]) * _UNITS_S[found[2]]
    return 0.0


def _git_kind(arguments: list[str]) -> CallKind:
    start = 0
    while start < len(arguments) and arguments[start][0] == "-":
        start += 2 if arguments[start] in _GIT_OPTIONS_WITH_VALUE else 1
    if start >= len(arguments):
        return CallKind.PLAIN
    action, rest = arguments[start], arguments[start + 1 :]
    if action == "bisect" and rest and rest[0] in _BISECTING:
        return CallKind.NAVIGATION
    if action in _GIT_WRITES:
        listing = rest[0] in _GIT_LISTING if rest else action in {"branch", "tag"}
        return CallKind.OVERVIEW if listing else CallKind.WRITE
    if action in _GIT_SETTINGS and not _GIT_SETTINGS[action].isdisjoint(rest[:1]):
        return CallKind.WRITE
    if action in _GIT_OVERVIEWS and all(_WHOLE.fullmatch(word) for word in rest):
        return CallKind.OVERVIEW
    return CallKind.PLAIN
