"""Runs a program as a unit of systemd would: its user, its umask, and its filters of system calls.

usage: confined.py SETTINGS PROGRAM [ARGUMENT...]

SETTINGS is a JSON object: uid, gid, umask, calls (names that are allowed, all others end the
process), families (numbers of the address families that a socket may have). As with
MemoryDenyWriteExecute=, no memory becomes writable and executable. The filters are made by the
library that systemd makes them by.
"""

import ctypes
import errno
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
ERRNO: Final = 0x00050000
EQUAL: Final = 4
MASKED: Final = 7
"""SCMP_ACT_* and SCMP_CMP_* of libseccomp's seccomp.h."""

WRITE: Final = 2
EXECUTE: Final = 4
"""PROT_* of mmap(2)."""

FAMILIES: Final = range(64)
"""All that there are, and some."""


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    """One filter that is being made; `otherwise` is what happens without a rule."""

    def __init__(self, library: Any, otherwise: int) -> None:
        self._library = library
        self._context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(otherwise)))

    def rule(self, action: int, call: str, *comparisons: Comparison) -> None:
        """What happens at a system call; one that this machine does not have never does."""
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return
        array = (Comparison * len(comparisons))(*comparisons)
        self._must(
            self._library.seccomp_rule_add_array(
                self._context, ctypes.c_uint32(action), number, len(comparisons), array
            )
        )

    def load(self) -> None:
        """From now on."""
        self._must(self._library.seccomp_load(self._context))

    @staticmethod
    def _must(result: int) -> None:
        if result < 0:
            raise OSError(-result, os.strerror(-result))


def confine(calls: Sequence[str], families: Sequence[int]) -> None:
    """Filter the system calls of this process and of all that it becomes."""
    library: Any = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    arguments = Filter(library, ALLOW)
    denied = ERRNO | errno.EPERM
    both = WRITE | EXECUTE
    arguments.rule(denied, "mmap", Comparison(2, MASKED, both, both))
    for call in ("mprotect", "pkey_mprotect"):
        arguments.rule(denied, call, Comparison(2, MASKED, EXECUTE, EXECUTE))
    for family in set(FAMILIES) - set(families):
        refused = ERRNO | errno.EAFNOSUPPORT
        arguments.rule(refused, "socket", Comparison(0, EQUAL, family, 0))
    names = Filter(library, KILL)
    for call in calls:
        names.rule(ALLOW, call)
    arguments.load()
    names.load()


def main() -> None:
    """Become the program."""
    settings = json.loads(sys.argv[1])
    os.umask(settings["umask"])
    os.setgroups([])
    os.setgid(settings["gid"])
    os.setuid(settings["uid"])
    confine(settings["calls"], settings["families"])
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the test's own command


if __name__ == "__main__":
    main()
