"""The interpreter inside the container: runs steps in one module, calls tools over a channel.

Run as `python -I -c SOURCE CHANNEL_FD LIMITS_JSON`, so it is one file and knows the standard
library only. It trusts what comes over the channel. The parent trusts nothing that it sends: the
code that it runs can send the same.
"""

import base64
import contextlib
import ctypes
import errno
import json
import linecache
import os
import queue
import resource
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

LENGTH = struct.Struct(">I")
NAMES_MAX = 40
TRACEBACK_CHARS_MAX = 4000
ANSWER_CHARS_MAX = 20_000
NAMESPACES = ("user", "pid", "mnt", "ipc", "net")

# linux/prctl.h, linux/seccomp.h, linux/filter.h, linux/keyctl.h
SET_SECCOMP, SET_NO_NEW_PRIVS, MODE_FILTER, JOIN_SESSION_KEYRING = 22, 38, 2, 1
LOAD_WORD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
AT_NUMBER, AT_ARCHITECTURE, AT_FIRST_ARGUMENT = 0, 4, 16  # in struct seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
OTHER_NUMBERS = 0x40000000
"""From here on x86-64 has the system calls of x32."""
FAMILIES = (1, 2, 10, 16)
"""Sockets that namespaces part: of files, IPv4, IPv6, and of the kernel's network settings."""
_GENERIC = {"socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219}
_RING = {"io_uring_setup": 425}
CALLS = {
    "x86_64": (
        0xC000003E,
        {"socket": 41, "add_key": 248, "request_key": 249, "keyctl": 250, **_RING},
    ),
    "aarch64": (0xC00000B7, {**_GENERIC, **_RING}),
    "riscv64": (0xC00000F3, {**_GENERIC, **_RING}),
}
"""By machine: its name in linux/audit.h, and the numbers of system calls."""


class ToolError(Exception):
    """A tool did not do what it was asked; the text says why."""


class _Answered(SystemExit):
    """Ends a step that has given its answer."""


class Channel:
    """The socket to the parent: frames of a length and JSON, read by one thread."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._process = os.getpid()
        self._sending = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._calls = 0
        self.steps: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        # Written in one go below: a thread that dies half-way would leave the parent half a frame.
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, frame: dict[str, Any]) -> None:
        if os.getpid() != self._process:
            raise ToolError("not in a forked process")
        # Half a character, which Python has and JSON should not, must not cost the whole frame.
        raw = json.dumps(frame, ensure_ascii=False).encode("utf-8", "replace")
        with self._sending:
            self._socket.sendall(LENGTH.pack(len(raw)) + raw)

    def call(self, name: str, arguments: dict[str, Any], content: bytes | None) -> Any:
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._sending:
            self._calls += 1
            number = self._calls
            self._waiting[number] = answer
        frame = {"type": "call", "id": number, "name": name, "arguments": arguments}
        if content is not None:
            frame["content"] = base64.b64encode(content).decode()
        self.send(frame)
        result = answer.get()
        if result.get("error") is not None:
            raise ToolError(result["error"])
        return result.get("value")

    def _read(self) -> None:
        try:
            while True:
                frame = json.loads(self._exactly(LENGTH.unpack(self._exactly(LENGTH.size))[0]))
                if frame["type"] == "result":
                    waiting = self._waiting.pop(frame["id"], None)
                    if waiting is not None:
                        waiting.put(frame)
                else:
                    self.steps.put(frame)
        except OSError:
            pass
        finally:
            os._exit(0)  # Whoever is not listened to any more has nothing left to do.

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise OSError("closed")
            parts += part
        return bytes(parts)


class Output:
    """Standard output or standard error, as it was at the start.

    Each line is written when it is complete, so that a step that is broken off has printed it.
    """

    def __init__(self, name: str, fd: int) -> None:
        self._name = name
        self._fd = fd
        self._kept_fd = os.dup(fd)
        self._stream: Any = getattr(sys, name)
        self._stream.reconfigure(line_buffering=True)

    def restore(self) -> None:
        """Write out what a step has printed; whatever it has put in this one's place gives way."""
        with contextlib.suppress(Exception):
            getattr(sys, self._name).flush()
        with contextlib.suppress(OSError):
            os.dup2(self._kept_fd, self._fd)
        try:
            self._stream.flush()
        except (ValueError, OSError):  # The step has closed or detached it.
            self._stream = os.fdopen(self._fd, "w", 1, errors="backslashreplace", closefd=False)
        setattr(sys, self._name, self._stream)


def main() -> None:
    limit(json.loads(sys.argv[2]))
    filtered = close_doors()  # before there is a second thread, which would go without
    channel = Channel(int(sys.argv[1]))
    hello = {"namespaces": namespaces(), "filtered": filtered, "first_closed": first_closed()}
    channel.send({"type": "hello", **hello})
    outputs = (Output("stdout", 1), Output("stderr", 2))
    opening = channel.steps.get()
    # What looks for a definition of a step by its module (pickle, say) finds it there.
    module = sys.modules["__main__"] = ModuleType("__main__")
    names = module.__dict__
    names.update(opening["values"])
    given = {
        "__name__": "__main__",
        "__builtins__": __builtins__,
        "ToolError": ToolError,
        **{tool["name"]: function(tool, channel, opening) for tool in opening["tools"]},
        "final_answer": answering(channel),
    }
    known = {*names, *given}
    process = os.getpid()
    while True:
        step = channel.steps.get()
        settle(opening["directory"], opening["values"]["FILES"])
        # A step may have used the name of a tool for something else.
        names.update(given)
        error = run(step["code"], f"<step {step['number']}>", names)
        for output in outputs:
            output.restore()
        if os.getpid() != process:
            os._exit(0)  # A fork that ran to the end of the step must not answer for it.
        mine = [str(name)[:60] for name in list(names) if name not in known]
        channel.send(
            {
                "type": "done",
                "number": step["number"],
                "error": error,
                "names": [name for name in mine if not name.startswith("__")][:NAMES_MAX],
            }
        )


def limit(limits: dict[str, int]) -> None:
    """Bounds that this process and its children cannot lift again."""
    for name, most in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    # When memory runs out on the machine, this goes first.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def close_doors() -> bool:
    """Close what leads out though each namespace is its own, for good; whether that was possible.

    Those are sockets to the machine's hypervisor and the like, the keys of whoever has started
    this, and io_uring, which opens sockets past a filter.
    """
    architecture, numbers = CALLS.get(os.uname().machine, (0, {}))
    if not numbers:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(ctypes.c_long(numbers["keyctl"]), JOIN_SESSION_KEYRING, None)
    code = door_filter(architecture, numbers)
    steps = b"".join(struct.pack("=HBBI", *step) for step in code)
    kept = ctypes.create_string_buffer(steps)
    program = struct.pack("@HP", len(code), ctypes.addressof(kept))
    if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(SET_SECCOMP, MODE_FILTER, program, 0, 0) == 0)


def door_filter(architecture: int, numbers: dict[str, int]) -> list[tuple[int, int, int, int]]:
    """Steps of a filter of system calls: operation, steps to skip if so, if not, operand."""
    refused = [number for name, number in numbers.items() if name != "socket"]
    unknown, no_family = REFUSE | errno.ENOSYS, REFUSE | errno.EAFNOSUPPORT
    steps = [
        (LOAD_WORD, 0, 0, AT_ARCHITECTURE),
        (IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, unknown),
        (LOAD_WORD, 0, 0, AT_NUMBER),
        (IF_AT_LEAST, len(refused) + 2, 0, OTHER_NUMBERS),
        *((IF_EQUAL, len(refused) + 1 - n, 0, number) for n, number in enumerate(refused)),
        (IF_EQUAL, 2, 0, numbers["socket"]),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, unknown),
        (LOAD_WORD, 0, 0, AT_FIRST_ARGUMENT),
    ]
    families = len(FAMILIES)
    steps += [(IF_EQUAL, families - n, 0, family) for n, family in enumerate(FAMILIES)]
    return [*steps, (RETURN, 0, 0, no_family), (RETURN, 0, 0, ALLOW)]


def namespaces() -> dict[str, str]:
    """What shows the parent that this is contained."""
    with contextlib.suppress(OSError):
        return {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    return {}


def first_closed() -> bool:
    """Whether the first process in here, which ends the others, cannot be traced by this one."""
    try:
        with open("/proc/1/mem", "r+b"):
            return False
    except OSError:
        return True


def function(tool: dict[str, Any], channel: Channel, bounds: dict[str, Any]) -> Any:
    """A Python function of the tool's own signature that asks the parent."""
    name = tool["name"]

    def ask(arguments: dict[str, Any]) -> Any:
        content = None
        if tool["file"] is not None:
            path = arguments[tool["file"]]
            if isinstance(path, str) and path.startswith(("http://", "https://")):
                raise ToolError("it takes a file; pages are read by visit_webpage(url)")
            content = read(path, bounds["content_bytes_max"])
            arguments[tool["file"]] = os.path.basename(os.fspath(path))
        try:
            written = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolError(f"the arguments have no JSON: {error}") from None
        if len(written) > bounds["arguments_bytes_max"]:
            raise ToolError(f"arguments of {len(written):,} characters are too many")
        return channel.call(name, arguments, content)

    scope: dict[str, Any] = {"_ask": ask}
    exec(f"def {name}({tool['signature']}):\n return _ask(dict(locals()))", scope)  # noqa: S102
    made = scope[name]
    made.__doc__ = tool["summary"]
    return made


def read(path: str, bytes_max: int) -> bytes:
    """The file's content, read in here: the parent never opens a path that code has named."""
    with open(path, "rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ToolError(f"{path} has more than {bytes_max} bytes: read a part of it with open()")
    return content


def answering(channel: Channel) -> Callable[[object], None]:
    def final_answer(answer: object) -> None:
        """The answer to the question; ends the run."""
        parts = answer if isinstance(answer, list | tuple) else [answer]
        text = ", ".join(map(str, parts)).strip()
        if answer is None or not text:
            raise ValueError("final_answer needs an answer, and this one is empty")
        channel.send({"type": "answer", "text": text[:ANSWER_CHARS_MAX]})
        raise _Answered

    return final_answer


def settle(home: str, files: dict[str, str]) -> None:
    """Back to the working directory, with links to the named files in it: the step before may have
    left or deleted it."""
    try:
        os.makedirs(home, exist_ok=True)
        os.chdir(home)
    except OSError:
        os.chdir("/")
    for name, path in files.items():
        with contextlib.suppress(OSError):  # It is there, or what a step has put in its place.
            os.symlink(path, os.path.join(home, name))


def run(code: str, name: str, names: dict[str, Any]) -> str | None:
    """Run a step; its error as text, None if it had none."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        exec(compile(code, name, "exec"), names)  # noqa: S102
    except _Answered:
        return None
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            complain(f"{leaving.code}\n")
        return None
    except BaseException as error:  # noqa: BLE001 - the code of a step may raise anything
        return told(error, name)
    return None


def complain(text: str) -> None:
    with contextlib.suppress(Exception):
        os.write(2, text.encode("utf-8", "replace"))


def told(error: BaseException, name: str) -> str:
    """The end of the traceback, from the first frame of the step's own code on."""
    try:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != name:
            frames = frames.tb_next
        whole = traceback.TracebackException.from_exception(error.with_traceback(frames))
        # Those of this file, between the call of a tool and its error.
        mine = [frame for frame in whole.stack if frame.filename != "<string>"]
        whole.stack = traceback.StackSummary.from_list(mine)
        return "".join(whole.format()).strip()[-TRACEBACK_CHARS_MAX:]
    except Exception:  # noqa: BLE001 - an exception's own methods are the step's code too
        return type(error).__name__


main()
