"""What a step finds as it was: its output, its tools, its directory, and the module that it is."""

from pathlib import Path

import pytest

from sidecar.codeagent.runner.interpreter import Interpreter
from sidecar.codeagent.runner.isolation import Isolation
from sidecar.codeagent.runner.step import Ended
from tests.codeagent.containment import SHORT, STRANGER, after, made, program

pytestmark = pytest.mark.process

POOL = """
from multiprocessing import get_context
def f(x):
    return x - 1
with get_context("fork").Pool(2) as pool:
    print(*pool.map(f, [2]))
"""
DELETE = "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)"
READ = "print(open('table.csv').read(), os.listdir(), os.path.exists(ATTACHMENT_PATH))"
THERE = "a,b\n ['table.csv'] True\n"


@pytest.mark.parametrize(
    ("before", "end", "ended"),
    [
        ("pass", "while True: pass", Ended.TIMED_OUT),
        ("pass", "import os\nos.kill(os.getpid(), 9)", Ended.DIED),
        ("import sys\nsys.stdout.close()", "import os\nos._exit(1)", Ended.DIED),
        ("import sys\nkept = sys.stdout.detach()", "import os\nos._exit(1)", Ended.DIED),
    ],
)
async def test_lines_that_a_step_printed_are_kept_though_it_is_broken_off(
    before: str, end: str, ended: Ended
) -> None:
    async with made(bounds=SHORT) as interpreter:
        await interpreter.step(before)
        step = await interpreter.step(f"for n in range(3): print('row', n)\n{end}")
    assert (step.ended, step.output) == (ended, "row 0\nrow 1\nrow 2\n")


@pytest.mark.parametrize(
    "slip",
    [
        "final_answer = echo = ToolError = 6 * 7",
        "del final_answer, echo, ToolError",
        "globals().clear()",
        "__name__ = 'x'\n__builtins__ = {}",
    ],
)
async def test_a_name_of_a_tool_that_a_step_takes_is_the_tools_again_in_the_next(
    interpreter: Interpreter, slip: str
) -> None:
    await interpreter.step(slip)
    step = await interpreter.step(
        "try:\n    refuse()\nexcept ToolError:\n    print(__name__, echo('a'))\nfinal_answer(42)"
    )
    assert (step.ended, step.output, step.answer) == (Ended.DONE, "__main__ a\n", "42")


async def test_a_variable_that_was_given_and_is_set_anew_stays_so(interpreter: Interpreter) -> None:
    await interpreter.step("FILES = 7")
    assert (await interpreter.step("print(FILES)")).output == "7\n"


@pytest.mark.parametrize(
    "code",
    [
        "import pickle\nclass A:\n    x = 1\nprint(pickle.loads(pickle.dumps(A())).x)",
        POOL,
        "import typing\nclass B:\n    b: 'B'\nprint(int(typing.get_type_hints(B)['b'] is B))",
        "import sys\nx = 1\nprint(sys.modules['__main__'].x)",
    ],
)
async def test_what_a_step_defines_is_found_in_the_module_main(
    interpreter: Interpreter, code: str
) -> None:
    step = await interpreter.step(code)
    assert (step.output, step.error) == ("1\n", None)


async def test_named_files_are_in_the_directory_again_after_a_step_deletes_it(
    way: Isolation, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    async with made(way, files={path.name: path}) as interpreter:
        await interpreter.step(DELETE)
        assert (await interpreter.step(READ)).output == THERE


@pytest.mark.parametrize("user", [None, STRANGER])
async def test_named_files_are_there_again_without_isolation_too(user: int | None) -> None:
    code = (
        "import asyncio, pathlib, sys, tempfile\n"
        "from tests.codeagent.containment import made\n"
        "from sidecar.codeagent.runner.isolation import Nothing\n"
        "async def main(place):\n"
        "    file = pathlib.Path(place, 'named')\n"
        "    file.write_text('a,b\\n')\n"
        "    async with made(Nothing(directory=place), files={'table.csv': file}) as interpreter:\n"
        "        await interpreter.step(sys.argv[1])\n"
        "        print((await interpreter.step(sys.argv[2])).output)\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    asyncio.run(main(place))"
    )
    assert await program(code, DELETE, READ, user=user) == f"{THERE}\n"


async def test_what_a_step_puts_in_the_place_of_a_named_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    async with made(files={path.name: path}) as interpreter:
        await interpreter.step(
            "import os\nos.remove('table.csv')\nwith open('table.csv', 'w') as f: f.write('mine')"
        )
        assert (await interpreter.step("print(open('table.csv').read())")).output == "mine\n"


async def test_the_working_directory_is_the_same_in_each_step(way: Isolation) -> None:
    step = await after("import os\nos.chdir('/tmp')", "print(os.getcwd())", way=way)
    assert step.output == "/work\n"


@pytest.mark.parametrize("answer", ["[1, 'b']", "(1, 'b')", "'1, b'"])
async def test_an_answer_of_several_parts_is_what_people_would_write(
    interpreter: Interpreter, answer: str
) -> None:
    step = await interpreter.step(f"final_answer({answer})")
    assert step.answer == "1, b"
