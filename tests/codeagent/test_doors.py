"""Ways out that are no process, file or network, and what code can do to the process outside."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.codeagent.runner.isolation import Isolation
from tests.codeagent.containment import STRANGER, after, program

pytestmark = pytest.mark.process

SECRET = "not-a-key-0123456789"


async def test_sockets_of_other_families_are_refused_as_namespaces_do_not_part_them(
    way: Isolation,
) -> None:
    step = await after(
        "import socket\n"
        "def opens(family, kind):\n"
        "    try:\n"
        "        socket.socket(family, kind).close()\n"
        "        return True\n"
        "    except OSError:\n"
        "        return False\n"
        "print([f for f in range(64) if opens(f, 1) or opens(f, 2) or opens(f, 3)])",
        way=way,
    )
    assert set(json.loads(step.output)) <= {1, 2, 10, 16}


async def test_ways_around_a_filter_of_sockets_are_refused_in_each_thread(way: Isolation) -> None:
    step = await after(
        "import ctypes, errno, json, time\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def said(number):\n"
        "    done = libc.syscall(ctypes.c_long(number), 8, ctypes.create_string_buffer(256))\n"
        "    return done, errno.errorcode.get(ctypes.get_errno())\n"
        "print(said(425), said(0x40000000 + 39))\n"
        "heard, plain = [], json.loads\n"
        "def loads(text):\n"
        "    heard.append(said(425))\n"
        "    return plain(text)\n"
        "json.loads = loads\n"
        "echo('the next frame is read by what json.loads is now')\n"
        "print(echo('x'), heard)",
        way=way,
    )
    refused = "(-1, 'ENOSYS')"
    assert step.output == f"{refused} {refused}\nx [{refused}]\n"


@pytest.mark.parametrize("user", [None, STRANGER])
async def test_the_keys_of_whoever_started_it_are_out_of_reach(
    way: Isolation, user: int | None
) -> None:
    # In a process of its own, which has a keyring of its own and a key in it.
    code = (
        "import asyncio, ctypes, os, sys\n"
        "from tests.codeagent.containment import after\n"
        "from sidecar.codeagent.runner.isolation import WAYS\n"
        "add, call = {'x86_64': (248, 250)}.get(os.uname().machine, (217, 219))\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.syscall(call, 1, None)\n"
        "print(libc.syscall(add, b'user', b'mine', sys.argv[2].encode(), len(sys.argv[2]), -3))\n"
        "way = next(way for way in WAYS if way.name == sys.argv[1])\n"
        "print(asyncio.run(after(sys.argv[3].replace('CALL', str(call)), way=way)).output)"
    )
    step = (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "key = libc.syscall(CALL, 10, -3, b'user', b'mine', 0)\n"
        "held = ctypes.create_string_buffer(64)\nlibc.syscall(CALL, 11, key, held, 64)\n"
        "print(key, held.value, [open('/proc/' + n).read() for n in ('keys', 'key-users')])"
    )
    added, *found = (await program(code, way.name, SECRET, step, user=user)).strip().splitlines()
    if added == "-1":
        pytest.skip("the kernel keeps no keys here")
    assert found == ["-1 b'' ['', '']"]


async def test_what_a_step_sends_takes_little_memory_of_the_parent() -> None:
    # In a process of its own, whose memory nothing else has used.
    program = (
        "import asyncio, resource, sys\n"
        "from tests.codeagent.containment import made\n"
        "async def main():\n"
        "    async with made() as interpreter:\n"
        "        await interpreter.step('print(1)')\n"
        "        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "        step = await interpreter.step(sys.argv[1])\n"
        "        print(step.ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "asyncio.run(main())"
    )
    code = (
        "import os, socket, stat, struct, time\n"
        "fd = next(fd for fd in range(3, 256) if os.path.lexists(f'/proc/self/fd/{fd}')\n"
        "          and stat.S_ISSOCK(os.fstat(fd).st_mode))\n"
        "channel = socket.socket(fileno=fd)\n"
        "lists = b'[],' * 7_900_000 + b'[]'\n"
        "def send(raw):\n"
        "    channel.sendall(struct.pack('>I', len(raw)) + raw)\n"
        'send(b\'{"type":"call","id":1,"name":"x","arguments":{"a":[%b]}}\' % lists)\n'
        "time.sleep(1000)"
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program, code],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    ended, more_kib = done.stdout.split()
    assert ended == "died"
    assert int(more_kib) < 200 * 1024, "the frame itself is 24 MB, its objects are 600"


async def test_a_way_out_of_its_directory_that_a_step_leaves_is_not_taken_by_the_next_start(
    tmp_path: Path,
) -> None:
    table, theirs = tmp_path / "table.csv", tmp_path / "theirs"
    table.write_text("a,b\n")
    theirs.mkdir()
    (theirs / "table.csv").write_text("kept")
    program = (
        "import asyncio, pathlib, sys, tempfile\n"
        "from tests.codeagent.containment import SHORT, made\n"
        "from sidecar.codeagent.runner.isolation import Nothing\n"
        "async def main(place):\n"
        "    files = {'table.csv': pathlib.Path(sys.argv[1])}\n"
        "    async with made(Nothing(directory=place), files=files) as interpreter:\n"
        "        print((await interpreter.step(sys.argv[2])).ended)\n"
        "        print((await interpreter.step('print(open(ATTACHMENT_PATH).read())')).output)\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    asyncio.run(main(place))"
    )
    code = (
        "import os\nhere = os.getcwd()\n"
        "os.remove('table.csv')\n"
        f"os.symlink({str(theirs / 'table.csv')!r}, 'table.csv')\n"
        "try:\n"
        "    os.rename(here, here + '-before')\n"
        f"    os.symlink({str(theirs)!r}, here)\n"
        "except OSError:\n"
        "    pass\n"
        "os._exit(1)"
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program, str(table), code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["died", "a,b"]
    assert (theirs / "table.csv").read_text() == "kept"
    assert theirs.stat().st_uid == os.geteuid()


async def test_without_isolation_a_user_with_many_processes_gets_as_many_more_as_others() -> None:
    code = (
        "import asyncio, ctypes, sys, tempfile, threading\n"
        "from tests.codeagent.containment import after\n"
        "from sidecar.codeagent.runner.isolation import Nothing\n"
        "ctypes.CDLL(None).prctl(15, b'a name\\n\\x1c\\xff')\n"
        "ended = threading.Event()\n"
        "for _ in range(80):\n"
        "    threading.Thread(target=ended.wait, daemon=True).start()\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    print(asyncio.run(after(sys.argv[1], way=Nothing(directory=place))))\n"
    )
    step = (
        "import threading\n"
        "ended, count = threading.Event(), 0\n"
        "try:\n"
        "    while count < 200:\n"
        "        threading.Thread(target=ended.wait).start()\n"
        "        count += 1\n"
        "except RuntimeError:\n"
        "    print(count > 40)\n"
        "ended.set()"
    )
    assert "output='True\\n'" in await program(code, step, user=STRANGER + 1)
