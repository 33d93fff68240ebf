"""systemd's unit files as values: the shipped one, and what its lines ask of a process."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SYSTEMD: Final = ROOT / "deploy" / "systemd"
UNIT: Final = SYSTEMD / "agent-sidecar.service"
DROP_IN: Final = SYSTEMD / "agent-sidecar.service.d" / "outside.conf"
CONFIG: Final = SYSTEMD / "config.yaml"
SYSUSERS: Final = SYSTEMD / "sysusers.conf"

PROGRAM: Final = "/usr/local/bin/sidecar"
"""Where the unit expects it."""
RUNTIME: Final = "/run/agent-sidecar"
STATE: Final = "/var/lib/agent-sidecar"


def service(*paths: Path) -> Mapping[str, Sequence[str]]:
    """The keys of the section Service, each with its values in the order of the files."""
    section, found = "", dict[str, list[str]]()
    lines = [line.strip() for path in paths for line in path.read_text().splitlines()]
    for line in lines:
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def one(*paths: Path, key: str) -> str:
    """The only value of a key."""
    [value] = service(*paths)[key]
    return value


def system_calls(filters: Sequence[str]) -> list[str]:
    """The names that some `SystemCallFilter=` lines of an allow list let through."""
    allowed = _members(["@default"])
    for line in filters:
        names = _members(line.removeprefix("~").split())
        allowed = allowed - names if line.startswith("~") else allowed | names
    return sorted(allowed)


def _members(names: Sequence[str]) -> set[str]:
    """System calls, with those of the sets among them, as this machine's systemd has them."""
    calls: set[str] = set()
    for name in names:
        calls |= _members(_listed(name)) if name.startswith("@") else {name}
    return calls


def _listed(name: str) -> list[str]:
    shown = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout
    members = [line.strip() for line in shown.splitlines()[1:]]
    return [member for member in members if member and not member.startswith("#")]
