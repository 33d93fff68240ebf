"""Builds a container by system calls and starts the interpreter in it.

Run as `python -I -S -c SOURCE SPEC_JSON`, so it is one file and knows the standard library only. It
needs root, or user namespaces for everyone, unless its spec says that the container is built: then
it is the first process in there, and does the last step alone. The order is what makes it hold:

1. a process outside, whose end ends all;
2. the first process of new namespaces, which builds a root of its own out of read-only mounts and
   small file systems in memory, leaves the old root, and gives up its privileges;
3. the interpreter, started by it, which cannot trace it: whoever has the first process is bound
   neither to end with the run nor by the interpreter's filter of system calls.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from typing import Any, NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)

# linux/sched.h, linux/mount.h, linux/prctl.h
NEW_NS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
BIND, REC, PRIVATE, NOSUID, NODEV, NOEXEC = 4096, 16384, 1 << 18, 2, 4, 8
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE, DETACH = -100, 0x8000, 2
SYS_MOUNT_SETATTR = 442  # the same on all architectures, since Linux 5.12
SET_DEATH_SIGNAL, SET_DUMPABLE, SET_NO_NEW_PRIVS = 1, 4, 38
CAPABILITIES_V3 = 0x20080522

OUTSIDE = "/tmp"  # noqa: S108 - a place that is everywhere; what is mounted here nobody else sees
DEVICES = ("null", "zero", "full", "random", "urandom")


def called(name: str, *arguments: Any) -> None:
    if getattr(LIBC, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None
) -> None:
    named = [text if text is None else os.fsencode(text) for text in (source, target, kind)]
    called("mount", *named, ctypes.c_ulong(flags), options and options.encode())


def protect(target: str, *, deep: bool) -> None:
    attr = (ctypes.c_uint64 * 4)(ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0)
    flags = AT_RECURSIVE if deep else 0
    called(
        "syscall",
        ctypes.c_long(SYS_MOUNT_SETATTR),
        ctypes.c_int(AT_FDCWD),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(flags),
        ctypes.byref(attr),
        ctypes.c_size_t(ctypes.sizeof(attr)),
    )


def main() -> None:
    spec = json.loads(sys.argv[1])
    if spec["built"]:
        start(spec)
    called("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != spec["parent"]:
        os._exit(1)  # It died before it was watched.
    user, group = spec["user"], spec["group"]
    as_root = os.geteuid() == 0
    if as_root:
        os.setgroups([])
        called("unshare", NEW_PID)
    else:
        called("unshare", NEW_USER | NEW_PID)
        write("/proc/self/setgroups", "deny")
        map_ids("self", user, group)
    ready, map_wanted = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        called("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        called("unshare", NEW_NS | NEW_UTS | NEW_IPC | NEW_NET)
        build(spec)
        if as_root:
            # The mounts belong to the host's root; the new user namespace has no say over them.
            called("unshare", NEW_USER)
            os.write(map_wanted[1], b".")
            os.read(ready[0], 1)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            called("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)  # setresuid clears it
        for fd in (*ready, *map_wanted):
            os.close(fd)
        start(spec)
    os.close(map_wanted[1])
    if as_root and os.read(map_wanted[0], 1):
        map_ids(child, user, group)
        os.write(ready[1], b".")
    for fd in spec["fds"]:
        os.close(fd)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def map_ids(process: object, user: int, group: int) -> None:
    write(f"/proc/{process}/uid_map", f"{user} {user} 1")
    write(f"/proc/{process}/gid_map", f"{group} {group} 1")


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def build(spec: dict[str, Any]) -> None:
    """Make a root of what the spec names, and nothing else, and move into it."""
    mount("none", "/", None, REC | PRIVATE)
    mount("sidecar", OUTSIDE, "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    os.chdir(OUTSIDE)
    os.mkdir("new")
    os.mkdir("old")
    called("pivot_root", b".", b"old")
    os.chdir("/")
    mount("sidecar", "/new", "tmpfs", NOSUID | NODEV, f"mode=0755,size={spec['root_bytes_max']}")
    for path in spec["mounts"]:
        if os.path.lexists("/old" + path):
            bring(path)
    for path in spec["hidden"]:
        mount("sidecar", "/new" + path, "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    for path in spec["mounts_over"]:
        bring(path)
    for path in spec["hidden"]:
        protect("/new" + path, deep=False)
    for path in spec["directories"]:
        os.makedirs("/new" + path)
        options = f"mode=0700,nr_inodes=16384,size={spec['directory_bytes_max']}"
        options += f",uid={spec['user']},gid={spec['group']}"
        mount("sidecar", "/new" + path, "tmpfs", NOSUID | NODEV, options)
    devices()
    os.mkdir("/new/proc")
    mount("proc", "/new/proc", "proc", NOSUID | NODEV | NOEXEC)
    for path in spec["emptied"]:
        if os.path.exists("/new" + path):
            mount("/new/dev/null", "/new" + path, None, BIND)
    give(spec)
    os.chdir("/new")
    called("pivot_root", b".", b".")
    called("umount2", b".", DETACH)
    os.chdir("/")
    protect("/", deep=False)


def bring(path: str) -> None:
    """The same file, directory or link in the new root, read-only."""
    old, new = "/old" + path, "/new" + path
    if os.path.islink(old):
        os.symlink(os.readlink(old), new)
        return
    os.makedirs(os.path.dirname(new), exist_ok=True)
    if os.path.isdir(old):
        os.makedirs(new, exist_ok=True)
    else:
        write(new, "")
    mount(old, new, None, BIND | REC)
    protect(new, deep=True)


def devices() -> None:
    os.makedirs("/new/dev", exist_ok=True)
    for name in DEVICES:
        write(f"/new/dev/{name}", "")
        mount(f"/old/dev/{name}", f"/new/dev/{name}", None, BIND)
    os.symlink("/proc/self/fd", "/new/dev/fd")


def give(spec: dict[str, Any]) -> None:
    """Copies of the files that the person named, so that no link of theirs leads anywhere."""
    place = "/new" + spec["files_directory"]
    os.makedirs(place, exist_ok=True)
    for name, fd in spec["files"].items():
        with open(fd, "rb", closefd=False) as source, open(f"{place}/{name}", "wb") as copy:
            while part := source.read(1 << 20):
                copy.write(part)
        os.chmod(f"{place}/{name}", 0o444)


def start(spec: dict[str, Any]) -> NoReturn:
    """Run the interpreter under no privilege at all, and reap what it leaves."""
    with contextlib.suppress(OSError):
        # Nobody in here needs users of their own, and with them the kernel shows more of itself.
        write("/proc/sys/user/max_user_namespaces", "0")
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0)
    called("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))
    called("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for fd in spec["files"].values():
        os.close(fd)
    # Before there is anybody who could trace it; what is executed can be traced again.
    called("prctl", SET_DUMPABLE, 0, 0, 0, 0)
    guest = os.fork()
    if guest == 0:
        os.execv(spec["command"][0], spec["command"])  # noqa: S606 - the interpreter itself
    for fd in (*spec["open"], 0, 1, 2):
        os.close(fd)
    while True:
        process, status = os.wait()
        if process == guest:
            # The first process of a pid namespace takes all others with it.
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


main()
