"""The process of an interpreter, from its start to its end."""

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.codeagent.runner.capture import Capture
from sidecar.codeagent.runner.isolation import ENVIRONMENT, Launch

START_TIMEOUT_S: Final = 10.0
"""It takes a tenth of a second."""

_CREDENTIALS: Final = struct.Struct("iII")  # struct ucred


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """A process with the channel to it."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    output: Capture
    complaints: Capture
    user: int | None
    """Who has sent the first byte, as the kernel says, in this process's terms; None: nobody."""

    async def end(self) -> None:
        """Kill it with all that belongs to it; what it wrote can still be taken."""
        await asyncio.shield(self._end())

    async def _end(self) -> None:
        await _killed(self.process)
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def listen(self) -> None:
        """Take in what it writes, until the next taking."""
        self.output.listen()
        self.complaints.listen()

    def forget(self) -> None:
        """Give up what it wrote."""
        self.output.close()
        self.complaints.close()


@contextlib.contextmanager
def channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends: this process's, and the one to be passed on, which is closed afterwards."""
    mine, theirs = socket.socketpair()
    # Before anything can be sent: what comes then names its sender, and what came before does not.
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with theirs:
        yield mine, theirs


async def started(launch: Launch, mine: socket.socket, fds: Sequence[int]) -> Alive | str:
    """The process, once it has sent something or START_TIMEOUT_S is over, or why there is none.

    `mine` is closed with it.
    """
    output, complaints = Capture(), Capture()
    process = None
    try:
        process = await _executed(launch, fds, output, complaints)
        user = await _sender(mine)
        reader, writer = await asyncio.open_connection(sock=mine)
    except OSError as error:
        _close(mine, output, complaints)
        return f"{error.filename or launch.command[0]}: {error.strerror}"
    except asyncio.CancelledError:
        if process is not None:
            await asyncio.shield(_killed(process))
        _close(mine, output, complaints)
        raise
    return Alive(
        process=process,
        reader=reader,
        writer=writer,
        output=output,
        complaints=complaints,
        user=user,
    )


async def _executed(
    launch: Launch, fds: Sequence[int], output: Capture, complaints: Capture
) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *launch.command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output.write_fd,
        stderr=complaints.write_fd,
        pass_fds=fds,
        cwd="/",
        env={**ENVIRONMENT, "HOME": launch.directory},
        start_new_session=True,
        user=launch.user,
        group=launch.user,
        extra_groups=None if launch.user is None else [],
    )
    output.started()
    complaints.started()
    return process


async def _sender(mine: socket.socket) -> int | None:
    """The user who sends the first byte; None if none comes, or the kernel does not say."""
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(mine, readable.set)
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            await readable.wait()
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(mine)
    space = socket.CMSG_SPACE(_CREDENTIALS.size)
    data, notes, _, _ = mine.recvmsg(1, space, socket.MSG_PEEK)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    if not data or not notes:
        return None
    process, user, _ = _CREDENTIALS.unpack(notes[0][2][: _CREDENTIALS.size])
    return int(user) if process else None


async def _killed(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _close(mine: socket.socket, output: Capture, complaints: Capture) -> None:
    mine.close()
    output.close()
    complaints.close()
