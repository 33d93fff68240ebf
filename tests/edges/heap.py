"""What the C library says that this process has of it."""

import ctypes
from functools import cache
from typing import Any


class Account(ctypes.Structure):
    """`struct mallinfo2`: mallinfo(3)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


@cache
def _ask() -> Any:
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Account
    return ask


def is_known() -> bool:
    """Whether the C library has such an account: glibc 2.33 or later."""
    return hasattr(ctypes.CDLL(None), "mallinfo2")


def used_bytes() -> int:
    """In blocks of the heap that are not free."""
    return int(_ask()().uordblks)


def mapped_bytes() -> int:
    """In blocks that are mapped one by one, outside of the heap."""
    return int(_ask()().hblkhd)
