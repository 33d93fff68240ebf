"""Large blocks of memory go back to the system, as long as the process lives."""

import subprocess
import sys

import pytest

from tests.edges import heap

MIB = 1024 * 1024
LARGE = 4 * MIB
SECOND_BLOCK = f"""
import sys
from sidecar.adapters.allocator import return_large_blocks
from tests.edges.heap import mapped_bytes

if sys.argv[1] == "set":
    return_large_blocks()
block = bytes({LARGE})
del block
before = mapped_bytes()
block = bytes({LARGE})
print(mapped_bytes() - before)
"""


@pytest.mark.skipif(not heap.is_known(), reason="the C library is not glibc")
@pytest.mark.parametrize(("how", "is_mapped"), [("set", True), ("not set", False)])
def test_a_large_block_is_outside_of_the_heap_also_after_one_was_freed(
    how: str, is_mapped: bool
) -> None:
    command = [sys.executable, "-c", SECOND_BLOCK, how]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (int(ran.stdout) >= LARGE) is is_mapped
