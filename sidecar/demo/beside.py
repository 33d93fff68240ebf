"""The demo's sidecar: a process of its own, as an agent meets one."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sidecar.config.keys import ADDRESSES, flag_name
from sidecar.config.load import PREFIX
from sidecar.demo.places import Places, clear

READY_WITHIN_S: Final = 20.0
"""It takes a second. On a machine that does not manage it in twenty a demo shows nothing."""

STOPPED_WITHIN_S: Final = 10.0
"""It promises five."""

PICKS_MAX: Final = 4
"""Starts that are tried, of a second each."""

LINES_SHOWN: Final = 5


class NotStarted(Exception):  # noqa: N818 - says what is the case
    """The sidecar did not become ready; the text says what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A sidecar that is ready."""

    process: subprocess.Popen[str]
    addresses: Mapping[str, str]
    """Where it listens, by configuration key."""
    log: Path

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    @property
    def last_words(self) -> list[str]:
        """The end of its log."""
        return _last_lines(self.log)


@contextlib.contextmanager
def sidecar_somewhere(
    pick: Callable[[], Places], *, state: Path, runtime: Path
) -> Iterator[tuple[Beside, Places]]:
    """A sidecar at the addresses that are picked, and which those are.

    It takes a second to listen, in which another may come before it, and go again; so they are
    picked anew. Raises NotStarted when that does not help.
    """
    with contextlib.ExitStack() as stack:
        for left in reversed(range(PICKS_MAX)):
            places = pick()
            try:
                beside = stack.enter_context(
                    sidecar_beside(places.addresses, state=state, runtime=runtime)
                )
                break
            except NotStarted:
                if not left:
                    raise
        yield beside, places


@contextlib.contextmanager
def sidecar_beside(
    addresses: Mapping[str, str],
    *,
    state: Path,
    runtime: Path,
    ready_within_s: float = READY_WITHIN_S,
) -> Iterator[Beside]:
    """A sidecar for as long as the block lasts; `runtime` gets its log. Raises NotStarted."""
    log = runtime / "sidecar.log"
    with log.open("w", encoding="utf-8") as stream:
        process = _start(addresses, state, runtime, stream.fileno())
    try:
        yield Beside(process=process, addresses=_ready(process, log, ready_within_s), log=log)
    finally:
        _stop(process)
        if process.returncode < 0:
            # Whoever is killed cannot remove its sockets.
            for address in addresses.values():
                if address.startswith("/"):
                    clear(Path(address))


def _start(
    addresses: Mapping[str, str], state: Path, runtime: Path, log: int
) -> subprocess.Popen[str]:
    flags = {**{key: addresses[key] for key in ADDRESSES}, "state_directory": str(state)}
    arguments = [f"{flag_name(key)}={value}" for key, value in flags.items()]
    return subprocess.Popen(  # noqa: S603 - this very program, and no shell
        [sys.executable, "-m", "sidecar.cli", "serve", *arguments],
        env=_environment(runtime),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        # A group of its own: Ctrl-C is for the demo, which stops it once its agents are gone.
        start_new_session=True,
    )


def _environment(runtime: Path) -> dict[str, str]:
    """The demo's environment without what would configure the sidecar: it shows the defaults."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**kept, "XDG_CONFIG_HOME": str(runtime)}


def _ready(process: subprocess.Popen[str], log: Path, within_s: float) -> Mapping[str, str]:
    """The addresses that its line of readiness names."""
    timer = threading.Timer(within_s, process.kill)
    timer.start()
    try:
        line = process.stdout.readline() if process.stdout else ""
    finally:
        timer.cancel()
    word, *pairs = line.split() or [""]
    if word != "ready":
        process.kill()
        raise NotStarted("\n".join(_last_lines(log)) or f"it was not ready within {within_s:g} s")
    return MappingProxyType(dict(pair.split("=", 1) for pair in pairs))


def _last_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_SHOWN:]


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
