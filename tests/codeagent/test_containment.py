"""What code in the interpreter cannot do, by every way to contain it."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sidecar.codeagent.runner import isolation
from sidecar.codeagent.runner.isolation import Isolation
from sidecar.codeagent.runner.step import Ended
from tests.codeagent.containment import (
    SHORT,
    STRANGER,
    after,
    made,
    processes_with,
    program,
    soon,
)

pytestmark = pytest.mark.process

SECRET = "sk-ant-not-a-key-0123456789"


def processes_in(namespace: str) -> list[int]:
    """Ids of the processes in a pid namespace, zombies apart."""
    found = []
    for process in psutil.pids():
        with contextlib.suppress(OSError):
            if str(Path(f"/proc/{process}/ns/pid").readlink()) == namespace:
                found.append(process)
    return found


async def test_a_fork_bomb_ends_with_its_step_and_leaves_the_machine_alone(way: Isolation) -> None:
    async with made(way, bounds=SHORT) as interpreter:
        started = await interpreter.step(
            "import os\nnamespace = os.readlink('/proc/self/ns/pid')\nprint(namespace)"
        )
        namespace = started.output.strip()
        assert processes_in(namespace)
        step = await interpreter.step(
            "bomber = os.getpid()\n"
            "while True:\n"
            "    try:\n"
            "        os.fork()\n"
            "    except BlockingIOError:\n"
            "        if os.getpid() == bomber:\n"
            "            print(sum(n.isdigit() for n in os.listdir('/proc')), flush=True)\n"
            "            bomber = 0"
        )
        assert step.ended is Ended.TIMED_OUT
        assert 1 < int(step.output) <= 64
        assert soon(lambda: processes_in(namespace) == [])
        assert (await interpreter.step("print(1)")).output == "1\n"


async def test_nothing_is_left_after_a_daemon_that_forks_twice(way: Isolation) -> None:
    word = f"daemon{secrets.token_hex(8)}"
    async with made(way) as interpreter:
        await interpreter.step(
            "import os, sys\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork() == 0:\n"
            f"        os.execv(sys.executable or '/usr/bin/env', ['x', '-c', 'import time; "
            f"time.sleep(1000)', '{word}'])\n"
            "    os._exit(0)\n"
            "os.wait()"
        )
        assert soon(lambda: len(processes_with(word)) > 0)
    assert soon(lambda: processes_with(word) == [])


async def test_the_environment_and_memory_of_the_parent_are_out_of_reach(
    way: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    step = await after(
        "import glob, os\n"
        "found = []\n"
        f"parent = {os.getpid()}\n"
        "for path in [*glob.glob('/proc/*/environ'), f'/proc/{parent}/environ']:\n"
        "    try:\n"
        "        found.append(open(path, 'rb').read())\n"
        "    except OSError:\n"
        "        pass\n"
        "print(b'sk-ant' in b''.join(found), 'ANTHROPIC_API_KEY' in os.environ)\n"
        "for name in ('mem', 'cwd', 'root', 'fd'):\n"
        "    print(os.path.lexists(f'/proc/{parent}/{name}'))",
        way=way,
    )
    assert step.output == "False False\n" + "False\n" * 4


async def test_no_process_outside_can_be_seen_traced_or_killed(way: Isolation) -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        step = await after(
            "import ctypes, os, signal\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            f"for pid in ({os.getpid()}, {bystander.pid}):\n"
            "    print(libc.ptrace(16, pid, 0, 0))\n"
            "    try:\n"
            "        os.kill(pid, signal.SIGKILL)\n"
            "    except OSError as error:\n"
            "        print(type(error).__name__)\n"
            "print(sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))",
            way=way,
        )
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()
    assert step.output == "-1\nProcessLookupError\n" * 2 + "[1, 2]\n"


async def test_the_first_process_of_its_namespace_is_closed_to_it(way: Isolation) -> None:
    # That one ends with the run and goes unfiltered. Who can make it do calls has neither bound.
    step = await after(
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.ptrace(16, 1, 0, 0), errno.errorcode.get(ctypes.get_errno()))\n"
        "for name, mode in (('mem', 'r+b'), ('environ', 'rb'), ('maps', 'rb')):\n"
        "    try:\n"
        "        open(f'/proc/1/{name}', mode).close()\n"
        "        print(name)\n"
        "    except OSError:\n"
        "        pass",
        way=way,
    )
    assert step.output == "-1 EPERM\n"


async def test_killing_everybody_it_sees_ends_only_itself(way: Isolation) -> None:
    async with made(way) as interpreter:
        step = await interpreter.step(
            "import os, signal\n"
            "try:\n    os.kill(-1, signal.SIGKILL)\n"
            "except ProcessLookupError:\n    print('nobody')"
        )
        assert (step.ended, step.output) == (Ended.DONE, "nobody\n")
        step = await interpreter.step("os.kill(os.getppid(), signal.SIGKILL)\nprint(2)")
        assert step.output == "2\n"


async def test_homes_state_and_sockets_are_not_there(way: Isolation, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    path = tmp_path / "agent.sock"
    listener.bind(str(path))
    listener.listen()
    (tmp_path / "state.db").write_text("kept")
    paths = [str(path), str(tmp_path), str(Path(__file__)), "/etc/passwd", "/etc/shadow", "/run"]
    paths += [str(Path.home() / ".ssh"), str(Path.home() / ".bashrc"), "/var", "/sys", "/dev/vda"]
    with listener:
        step = await after(
            f"import json, os\nprint(json.dumps([p for p in {paths!r} if os.path.lexists(p)]))",
            way=way,
        )
    assert json.loads(step.output) == []


async def test_no_network_is_there_not_even_loopback(way: Isolation) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        step = await after(
            "import socket\n"
            "try:\n"
            f"    socket.create_connection(('127.0.0.1', {port}), timeout=5)\n"
            "except OSError as error:\n"
            "    print('refused')\n"
            "print([name for _, name in socket.if_nameindex()])",
            way=way,
        )
    assert step.output == "refused\n['lo']\n"


async def test_nothing_outside_its_directories_can_be_written(way: Isolation) -> None:
    step = await after(
        "import os\n"
        "for path in ('/', '/usr', '/usr/lib', '/dev', '/proc', '/files', os.path.dirname("
        "os.path.dirname(os.__file__))):\n"
        "    try:\n"
        "        open(path + '/x', 'w').close()\n"
        "        print('wrote', path)\n"
        "    except OSError:\n"
        "        pass\n"
        "for path in ('/work', '/tmp', '/dev/shm'):\n"
        "    open(path + '/x', 'w').close()\n"
        "    print(os.statvfs(path).f_blocks * os.statvfs(path).f_frsize <= 1 << 28)",
        way=way,
    )
    assert step.output == "True\n" * 3


async def test_it_has_no_privilege_and_cannot_get_any(way: Isolation) -> None:
    step = await after(
        "import os, subprocess, sys\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status').read().splitlines())\n"
        "print(status['CapEff'].strip(), status['NoNewPrivs'].strip(), os.getuid() != 0)\n"
        "sys.stdout.flush()\n"
        "code = 'import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))'\n"
        "program = f'/proc/{os.getpid()}/exe'\n"
        "subprocess.run([program, '-I', '-c', code])",
        way=way,
    )
    assert step.output == "0000000000000000 1 True\n-1\n"


async def test_memory_of_a_process_is_bounded(way: Isolation) -> None:
    step = await after(
        "try:\n    x = bytearray(1 << 33)\nexcept MemoryError:\n    print('no')", way=way
    )
    assert step.output == "no\n"


async def test_limits_cannot_be_raised(way: Isolation) -> None:
    step = await after(
        "import resource\n"
        "for name in ('NPROC', 'AS', 'FSIZE', 'CPU', 'NOFILE'):\n"
        "    try:\n"
        "        resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (-1, -1))\n"
        "    except (ValueError, OSError):\n"
        "        print('no')",
        way=way,
    )
    assert step.output == "no\n" * 5


async def test_a_step_that_writes_nonsense_to_the_channel_only_loses_its_own_state(
    way: Isolation,
) -> None:
    async with made(way) as interpreter:
        step = await interpreter.step(
            "import os, stat, time\n"
            "for name in os.listdir('/proc/self/fd'):\n"
            "    try:\n"
            "        if stat.S_ISSOCK(os.fstat(int(name)).st_mode):\n"
            "            os.write(int(name), b'\\xff' * 64)\n"
            "    except OSError:\n"
            "        pass\n"
            "time.sleep(1000)"
        )
        assert step.ended is Ended.DIED
        assert (await interpreter.step("print(1)")).output == "1\n"


async def test_the_interpreter_ends_with_its_parent(way: Isolation) -> None:
    word = f"orphan{secrets.token_hex(8)}"
    program = (
        "import asyncio, os, signal, sys\n"
        "from tests.codeagent.containment import made, soon, processes_with\n"
        "from sidecar.codeagent.runner.isolation import WAYS\n"
        "async def main():\n"
        "    interpreter = made(*[w for w in WAYS if w.name == sys.argv[1]])\n"
        "    await interpreter.step(sys.argv[2])\n"
        "    assert soon(lambda: len(processes_with(sys.argv[3])) > 1)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    code = (
        "import subprocess\nprogram = '/proc/self/exe'\n"
        "import os\nif os.fork() == 0:\n    os.setsid()\n"
        f"    os.execv(program, ['x', '-c', 'import time; time.sleep(1000)', 'orphan' + "
        f"{word.removeprefix('orphan')!r}])"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program, way.name, code, word], timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert soon(lambda: processes_with(word) == [])


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test here is run without privilege")
async def test_it_holds_for_a_user_without_privilege_too(way: Isolation) -> None:
    step = "import os\nprint(os.getuid(), [int(n) for n in os.listdir('/proc') if n.isdigit()])"
    code = (
        "import asyncio, sys\n"
        "from tests.codeagent.containment import after\n"
        "from sidecar.codeagent.runner.isolation import WAYS\n"
        "way = next(way for way in WAYS if way.name == sys.argv[1])\n"
        "print(asyncio.run(after(sys.argv[2], way=way)).output)"
    )
    assert await program(code, way.name, step, user=STRANGER) == f"{STRANGER} [1, 2]\n\n"


async def test_without_isolation_the_environment_and_the_users_id_are_still_kept_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In a process of its own: what makes a process unreadable cannot be taken back by a test.
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    program = (
        "import asyncio, sys, tempfile\n"
        "from tests.codeagent.containment import after\n"
        "from sidecar.codeagent.runner.isolation import Nothing\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    step = asyncio.run(after(sys.argv[1], way=Nothing(directory=place)))\n"
        "print(step.output)"
    )
    code = (
        "import os\nparent = os.getppid()\n"
        "try:\n    print('sk-ant' in open(f'/proc/{parent}/environ').read())\n"
        "except OSError:\n    print('unreadable')\n"
        "print('ANTHROPIC_API_KEY' in os.environ, os.getuid() == 0)"
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program, code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["unreadable", "False", "False"]


def test_a_home_in_which_python_is_installed_is_not_mounted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = tmp_path / "bin" / "python3"
    monkeypatch.setattr(isolation, "interpreter", lambda: str(python))
    inside = isolation.Inside(channel=3, files={}, limits={})
    spec = json.loads(isolation.Namespaces().launch(inside).command[-1])
    assert str(tmp_path) not in spec["mounts"]
    assert str(python) in spec["mounts"] and str(tmp_path / "lib") in spec["mounts"]


async def test_a_home_among_the_systems_own_directories_is_empty(
    way: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/usr/share")
    step = await after("import os\nprint(os.listdir('/usr/share'))", way=way)
    assert step.output == "[]\n"


async def test_a_home_that_has_python_in_it_shows_nothing_but_python(
    way: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/usr/bin")
    step = await after(
        "import os\npython = os.readlink('/proc/self/exe')\n"
        "print([n for n in os.listdir('/usr/bin') if f'/usr/bin/{n}' != python])",
        way=way,
    )
    assert step.output == "[]\n"


def test_a_state_directory_and_sockets_below_what_is_mounted_are_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system, home = tmp_path / "usr", tmp_path / "home"
    for directory in (system / "state/sidecar", system / "run/sidecar", home):
        directory.mkdir(parents=True)
    monkeypatch.setattr(isolation, "SYSTEM", (str(system),))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(system / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(system / "run"))
    inside = isolation.Inside(channel=3, files={}, limits={})
    spec = json.loads(isolation.Namespaces().launch(inside).command[-1])
    assert spec["hidden"] == [str(system / "run/sidecar"), str(system / "state/sidecar")]
