"""Steps of one run share an interpreter; what they print, raise and answer comes back, bounded."""

import asyncio
import contextlib
import os
from pathlib import Path

import psutil
import pytest

from sidecar.codeagent.runner.capture import Capture
from sidecar.codeagent.runner.files import FileUnusableError, named
from sidecar.codeagent.runner.frames import Hello
from sidecar.codeagent.runner.interpreter import Bounds, Interpreter, IsolationMissingError
from sidecar.codeagent.runner.isolation import Bubblewrap, Inside, Launch, Namespaces, Nothing
from sidecar.codeagent.runner.step import Ended
from tests.codeagent.containment import SHORT, made, soon

pytestmark = pytest.mark.process

NAMESPACES = dict.fromkeys(("user", "pid", "mnt", "ipc", "net"), "x:[1]")

ANSWER_IN_A_THREAD = """
import threading
thread = threading.Thread(target=final_answer, args=("t",))
thread.start()
thread.join()
"""


async def test_variables_functions_and_imports_persist_between_steps(
    interpreter: Interpreter,
) -> None:
    await interpreter.step("import math\ndef double(x):\n    return 2 * x\nn = 21")
    step = await interpreter.step("print(double(n), math.floor(1.5))")
    assert (step.ended, step.output) == (Ended.DONE, "42 1\n")


async def test_standard_error_comes_apart_from_standard_output(interpreter: Interpreter) -> None:
    step = await interpreter.step("import sys\nprint('a')\nprint('b', file=sys.stderr)")
    assert (step.output, step.complaints) == ("a\n", "b\n")


async def test_what_a_program_prints_that_a_step_starts_is_output_too(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step("import subprocess\nsubprocess.run(['echo', 'hi'])")
    assert step.output == "hi\n"


async def test_the_traceback_shows_the_steps_own_frames_and_the_exception(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step("def f():\n    return 1 / 0\nf()")
    assert step.ended is Ended.RAISED
    assert step.error is not None
    assert "return 1 / 0" in step.error
    assert step.error.endswith("ZeroDivisionError: division by zero")
    assert "guest" not in step.error and "exec(" not in step.error


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("def (", "SyntaxError: invalid syntax"),
        ("print(undefined_name)", "NameError: name 'undefined_name' is not defined"),
        ("final_answer()", "missing 1 required positional argument: 'answer'"),
        ("final_answer('  ')", "ValueError: final_answer needs an answer, and this one is empty"),
        ("final_answer(None)", "ValueError: final_answer needs an answer, and this one is empty"),
        ("echo(1, 2, 3)", "takes from 1 to 2 positional arguments but 3 were given"),
        ("refuse()", "ToolError: refuse: not today"),
        ("echo(float('nan'))", "the arguments have no JSON: Out of range float values"),
        ("x = []\nfor _ in range(99999): x = [x]\necho(x)", "the arguments have no JSON"),
        ("echo('a' * 1_000_000)", "arguments of 1,000,024 characters are too many"),
        ("echo('\u00e9' * 9_000)", "arguments of 18,024 bytes; there may be 16,384"),
        ("echo(object())", "the arguments have no JSON: Object of type object is not JSON"),
        (
            "class E(Exception):\n    def __str__(self):\n        raise E\nraise E",
            "<exception str() failed>",
        ),
        ("def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded"),
    ],
)
async def test_what_goes_wrong_in_a_step_is_said_and_the_next_goes_on(
    interpreter: Interpreter, code: str, end: str
) -> None:
    await interpreter.step("kept = 'kept'")
    step = await interpreter.step(code)
    assert step.ended is Ended.RAISED
    assert end in (step.error or "").splitlines()[-1]
    assert step.answer is None
    assert (await interpreter.step("print(kept)")).output == "kept\n"


@pytest.mark.parametrize(
    ("code", "answer", "output"),
    [
        ("final_answer('42')", "42", ""),
        ("final_answer(42.0)", "42.0", ""),
        ("final_answer('  a b \\n')", "a b", ""),
        ("final_answer('ab' * 20_000_000)", "ab" * 10_000, ""),
        ("print('work'); final_answer('x'); print('after')", "x", "work\n"),
        ("try:\n    final_answer('x')\nexcept Exception:\n    print('caught')", "x", ""),
        (
            "for a in ('x', 'y'):\n  try: final_answer(a)\n  except SystemExit: pass",
            "y",
            "",
        ),
        (
            ANSWER_IN_A_THREAD,
            "t",
            "",
        ),
    ],
)
async def test_the_answer_is_what_final_answer_was_last_called_with(
    interpreter: Interpreter, code: str, answer: str, output: str
) -> None:
    step = await interpreter.step(code)
    assert (step.answer, step.output, step.ended) == (answer, output, Ended.DONE)


async def test_an_answer_stands_though_the_step_fails_afterwards(interpreter: Interpreter) -> None:
    step = await interpreter.step(
        "try:\n    final_answer('x')\nexcept SystemExit:\n    pass\nraise ValueError('boom')"
    )
    assert (step.answer, step.ended) == ("x", Ended.RAISED)


async def test_leaving_with_a_message_is_a_complaint_and_the_interpreter_stays(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step("import sys\nn = 1\nsys.exit('bye')")
    assert (step.ended, step.complaints) == (Ended.DONE, "bye\n")
    assert (await interpreter.step("print(n)")).output == "1\n"


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print(echo('\\ud800'))", "?\n"),
        ("print(echo('\u00e9\U0001f600'))", "\u00e9\U0001f600\n"),
        ("print(echo('a', 1_000_000) == 'a' * 1_000_000)", "True\n"),
        ("print(echo('😀' * 4_000) == '😀' * 4_000)", "True\n"),
        ("print(echo(2 ** 100))", f"{2**100}\n"),
        ("print(half() == '\\ud800')", "True\n"),
        ("print('\\ud800'.encode('utf-8', 'surrogatepass'))", "b'\\xed\\xa0\\x80'\n"),
        ("import os\nn = os.write(1, b'\\xff')", "\ufffd"),
    ],
)
async def test_odd_text_passes_both_ways(interpreter: Interpreter, code: str, output: str) -> None:
    step = await interpreter.step(code)
    assert (step.ended, step.output) == (Ended.DONE, output)


async def test_code_with_half_a_character_is_run_or_refused_and_the_run_goes_on(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step("print('\ud800')")
    assert step.ended is Ended.RAISED
    assert (await interpreter.step("print(1)")).output == "1\n"


@pytest.mark.parametrize(
    "turned_away",
    [
        "sys.stdout = sys.stderr = io.StringIO()\nraise ValueError",
        "sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = None",
        "sys.stdout.close()\nsys.stderr.close()",
        "kept = sys.stdout.detach(), sys.stderr.detach()",
        "os.close(1)\nos.close(2)",
        "null = os.open('/dev/null', os.O_WRONLY)\nos.dup2(null, 1)\nos.dup2(null, 2)",
    ],
)
async def test_output_that_a_step_turns_away_is_back_with_the_next(
    interpreter: Interpreter, turned_away: str
) -> None:
    step = await interpreter.step(f"import io, os, sys\nprint('before', flush=True)\n{turned_away}")
    assert step.output == "before\n"
    step = await interpreter.step("print('a')\nprint('b', file=sys.stderr)")
    assert (step.output, step.complaints) == ("a\n", "b\n")
    assert (await interpreter.step("n = os.system('echo c')")).output == "c\n"


async def test_a_main_guard_runs(interpreter: Interpreter) -> None:
    assert (await interpreter.step("if __name__ == '__main__':\n    print(1)")).output == "1\n"


async def test_tools_are_functions_and_their_calls_are_counted_when_made(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step(
        "# echo('comment')\nfor n in range(3): print(echo('ab', times=n))\nif 0: echo('never')"
    )
    assert step.output == "\nab\nabab\n"
    assert [use.name for use in step.uses] == ["echo"] * 3
    assert step.uses[2].arguments == {"text": "ab", "times": 2}
    assert step.uses[2].result == "abab"


async def test_a_tool_that_is_not_one_is_refused(interpreter: Interpreter) -> None:
    step = await interpreter.step("try:\n    refuse()\nexcept ToolError as e:\n    print(e)")
    assert step.output == "refuse: not today\n"
    assert step.uses[0].failed


async def test_tools_may_be_called_from_several_threads(interpreter: Interpreter) -> None:
    step = await interpreter.step(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "print(list(ThreadPoolExecutor(4).map(echo, 'abcdefgh')))"
    )
    assert step.output == f"{list('abcdefgh')}\n"


async def test_calls_of_a_step_are_bounded() -> None:
    async with made(bounds=Bounds(step_timeout_s=60.0, calls_max=3)) as interpreter:
        step = await interpreter.step("for n in range(9): echo(n)")
    assert len(step.uses) == 3
    assert step.error is not None and step.error.endswith("no more than 3 calls in a step")


async def test_the_time_of_tools_is_bounded_and_is_not_the_steps() -> None:
    bounds = Bounds(step_timeout_s=60.0, tools_timeout_s=0.2)
    async with made(bounds=bounds) as interpreter:
        step = await interpreter.step("wait()")
    assert step.error is not None
    assert step.error.endswith("the tools of a step have 0.2 s together")


async def test_a_tool_gets_the_content_of_a_file_the_step_wrote(interpreter: Interpreter) -> None:
    step = await interpreter.step(
        "with open('a.txt', 'w') as file: file.write('12345')\nprint(length('a.txt'))"
    )
    assert step.output == "5\n"
    assert step.uses[0].arguments == {"path": "a.txt"}


async def test_a_step_that_sleeps_is_broken_off_and_what_it_printed_is_kept() -> None:
    async with made(bounds=SHORT) as interpreter:
        await interpreter.step("table = [1]\ncount = 2")
        step = await interpreter.step("import time\nprint('begun', flush=True)\ntime.sleep(1000)")
        assert (step.ended, step.output) == (Ended.TIMED_OUT, "begun\n")
        assert step.lost == ("table", "count")
        again = await interpreter.step("print('table' in globals())")
    assert again.output == "False\n"


async def test_a_step_that_leaves_the_process_loses_the_variables(interpreter: Interpreter) -> None:
    await interpreter.step("n = 1")
    step = await interpreter.step("import os\nprint('x', flush=True)\nos._exit(9)")
    assert (step.ended, step.output, step.lost) == (Ended.DIED, "x\n", ("n",))
    assert (await interpreter.step("print(2)")).output == "2\n"


async def test_a_fork_that_runs_to_the_end_of_a_step_does_not_answer_for_it(
    interpreter: Interpreter,
) -> None:
    step = await interpreter.step(
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('twice')"
    )
    assert (step.ended, step.output) == (Ended.DONE, "twice\ntwice\n")
    assert (await interpreter.step("print(3)")).output == "3\n"


async def test_a_step_that_deletes_its_directory_leaves_one_to_the_next(
    interpreter: Interpreter,
) -> None:
    await interpreter.step(
        "import os, shutil\nopen('a', 'w').close()\nhere = os.getcwd()\n"
        "shutil.rmtree(here, ignore_errors=True)"
    )
    step = await interpreter.step("open('b', 'w').close()\nprint(os.listdir('.'))")
    assert step.output == "['b']\n"


async def test_output_of_100_mb_is_kept_at_both_ends(interpreter: Interpreter) -> None:
    step = await interpreter.step(
        "import sys\nprint('first')\nfor _ in range(100): sys.stdout.write('a' * 1_000_000)\n"
        "print('last')"
    )
    assert step.ended is Ended.DONE
    assert step.output.startswith("first\naaa") and step.output.endswith("aaalast\n")
    assert "bytes left out" in step.output
    assert len(step.output) < 100_000


async def test_files_that_were_named_can_be_read_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    async with made(files={"table.csv": path}) as interpreter:
        step = await interpreter.step(
            "print(open('table.csv').read() == open(ATTACHMENT_PATH).read(), length('table.csv'))"
        )
        assert step.output == "True 8\n"
        changed = await interpreter.step("open(ATTACHMENT_PATH, 'w')")
    assert changed.ended is Ended.RAISED
    assert path.read_text() == "a,b\n1,2\n"


def test_files_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        with path.open("wb") as file:
            file.truncate(48 << 20)
    with pytest.raises(FileUnusableError, match="150994944 bytes of files"):
        named(paths)
    assert list(named(paths[:2])) == ["a", "b"]


def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileUnusableError, match=r"missing\.csv: No such file"):
        named([tmp_path / "missing.csv"])
    with pytest.raises(FileUnusableError, match="not a regular file"):
        named([tmp_path])


async def test_without_isolation_nothing_starts_unless_it_is_asked_for(tmp_path: Path) -> None:
    class Claims(Namespaces):
        def launch(self, inside: Inside) -> Launch:
            return Nothing(directory=str(tmp_path)).launch(inside)

    before = set(psutil.Process().children())
    async with made(Claims()) as interpreter:
        with pytest.raises(IsolationMissingError, match="namespace of its own"):
            await interpreter.start()
        assert set(psutil.Process().children()) <= before


async def test_what_claims_to_be_root_outside_is_refused() -> None:
    hello = Hello(namespaces=NAMESPACES, filtered=True, first_closed=True)
    assert Namespaces().fault(hello, 0) == "its user is root outside"
    assert Namespaces().fault(hello, None) == "the kernel does not say who its user is outside"
    assert Namespaces().fault(hello, 1000) == ""


async def test_one_whose_system_calls_are_not_filtered_is_refused() -> None:
    hello = Hello(namespaces=NAMESPACES, first_closed=True)
    assert Namespaces().fault(hello, 1000) == "the kernel filters no system calls here"
    assert Bubblewrap().fault(hello, 1000) == "the kernel filters no system calls here"


async def test_one_that_can_trace_the_first_process_is_refused() -> None:
    hello = Hello(namespaces=NAMESPACES, filtered=True)
    assert Namespaces().fault(hello, 1000) == "it can trace the first process of its namespace"
    assert Bubblewrap().fault(hello, 1000) == "it can trace the first process of its namespace"


async def test_what_is_printed_between_steps_waits_in_its_pipe() -> None:
    output = Capture()
    os.set_blocking(output.write_fd, False)
    output.take()
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(output.write_fd, b"x" * 4096)
    for _ in range(10):
        await asyncio.sleep(0)
    with pytest.raises(BlockingIOError):
        os.write(output.write_fd, b"x")
    output.listen()
    for _ in range(10):
        await asyncio.sleep(0)
    assert os.write(output.write_fd, b"next") == 4
    assert output.take().endswith("xnext")
    output.close()


@pytest.mark.parametrize("rounds", [1, 3, 30, 300])
async def test_a_start_that_is_cancelled_leaves_no_process(rounds: int) -> None:
    before = set(psutil.Process().children())
    async with made() as interpreter:
        start = asyncio.create_task(interpreter.start())
        for _ in range(rounds):
            await asyncio.sleep(0)
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
    assert soon(lambda: set(psutil.Process().children()) <= before)


async def test_a_run_that_is_cancelled_leaves_no_interpreter() -> None:
    before = set(psutil.Process().children())
    async with made() as interpreter:
        await interpreter.start()
        step = asyncio.create_task(interpreter.step("import time\ntime.sleep(1000)"))
        await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert set(psutil.Process().children()) <= before
