"""The demo's benches do real work, within bounds, and leave nothing behind."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sidecar.demo.calls import edit, look, read, run, search, start, write
from sidecar.demo.mind import Call
from sidecar.demo.processes import Processes, Stopped, processes
from sidecar.demo.workshop import Bench

FILES = {"a.txt": "one\ntwo\n", "sub/b.txt": "two\n"}

TESTS = """import unittest


class T(unittest.TestCase):
    def test_right(self):
        pass

    def test_wrong(self):
        self.fail("no")

    def test_error(self):
        raise KeyError("no")
"""


@pytest.fixture
def running() -> Iterator[Processes]:
    with processes(running_max=2) as started:
        yield started


@pytest.fixture
def bench(tmp_path: Path, running: Processes) -> Iterator[Bench]:
    made = Bench(tmp_path / "bench", FILES, running)
    yield made
    made.close()


def test_a_bench_begins_with_its_files(bench: Bench) -> None:
    assert bench.do(read("sub/b.txt")).text == "two\n"


def test_a_file_that_is_not_there_is_a_failed_result(bench: Bench) -> None:
    result = bench.do(read("c.txt"))
    assert result.failed
    assert result.text == "FileNotFoundError: No such file or directory"


@pytest.mark.parametrize(
    ("call", "files_changed"),
    [
        (write("new/c.txt", "x"), 1),
        (write("a.txt", "one\ntwo\n"), 0),
        (edit("a.txt", "one", "1"), 1),
        (edit("a.txt", "one", "one"), 0),
        (edit("a.txt", "absent", "x"), 0),
        (read("a.txt"), 0),
    ],
)
def test_a_changed_file_counts_once_and_only_if_it_changed(
    bench: Bench, call: Call, files_changed: int
) -> None:
    assert bench.do(call).files_changed == files_changed


def test_an_edit_wants_its_old_text_exactly_once(bench: Bench) -> None:
    result = bench.do(edit("a.txt", "o", "0"))
    assert result.failed
    assert result.text == "error: the old text stands 2 times in a.txt"
    assert bench.do(read("a.txt")).text == FILES["a.txt"]


def test_a_search_gives_place_and_line_and_nothing_for_nothing(bench: Bench) -> None:
    assert bench.do(search("two")).text == "a.txt:2:two\nsub/b.txt:1:two"
    assert bench.do(search("three")).text == ""


@pytest.mark.process
def test_a_test_run_tells_what_passed_and_what_did_not(bench: Bench) -> None:
    bench.do(write("test_it.py", TESTS))
    result = bench.do(run("python -m unittest"))
    assert result.failed
    assert (result.tests_passed, result.tests_failed) == (1, 2)
    assert result.text.endswith("FAILED (failures=1, errors=1)\nexit code 1")


@pytest.mark.process
def test_a_program_that_is_no_test_has_no_tests(bench: Bench) -> None:
    result = bench.do(run("python -c 'print(6 * 7)'"))
    assert result.text == "42"
    assert (result.failed, result.tests_passed, result.tests_failed) == (False, None, None)


@pytest.mark.process
def test_an_edit_counts_at_once_though_it_is_of_the_same_second_and_size(bench: Bench) -> None:
    bench.do(write("value.py", "VALUE = 1\n"))
    show = run("python -c 'import value; print(value.VALUE)'")
    assert bench.do(show).text == "1"
    bench.do(edit("value.py", "1", "2"))
    assert bench.do(show).text == "2"


def test_only_python_runs_on_a_bench(bench: Bench) -> None:
    result = bench.do(run("rm -r /"))
    assert result.failed
    assert "rm is not on this bench" in result.text


@pytest.mark.process
def test_a_program_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "b", {}, Processes(running_max=1, timeout_s=0.2))
    result = bench.do(run("python -c 'print(1, flush=True); import time; time.sleep(60)'"))
    assert result.failed
    assert result.text.endswith("error: killed when its time was over")


JOB = """import sys
print("begun", flush=True)
sys.stdout.flush()
open("go").read()
print("done", flush=True)
"""


@pytest.mark.process
def test_a_job_says_that_it_runs_until_it_has_ended(bench: Bench, tmp_path: Path) -> None:
    gate = tmp_path / "bench" / "go"
    os.mkfifo(gate)
    bench.do(write("job.py", JOB))
    assert bench.do(start("python job.py")).text == "started: begun"
    assert bench.do(look()).text == "still running: begun"
    gate.write_text("")
    (job,) = psutil.Process().children()
    # Waits for its end and leaves it to the bench to hear of it.
    os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
    assert bench.do(look()).text == "exit code 0: done"


def test_a_look_at_no_job_is_a_failed_result(bench: Bench) -> None:
    assert bench.do(look()).failed


@pytest.mark.process
def test_closing_a_bench_ends_its_job(bench: Bench) -> None:
    bench.do(start("python -c 'print(1, flush=True); import time; time.sleep(60)'"))
    bench.close()
    assert psutil.Process().children() == []


@pytest.mark.process
def test_closing_the_processes_ends_those_that_run_and_starts_no_more(
    bench: Bench, running: Processes
) -> None:
    results = []
    sleeper = threading.Thread(
        target=lambda: results.append(bench.do(run("python -c 'import time; time.sleep(60)'")))
    )
    sleeper.start()
    deadline_s = time.monotonic() + 60
    while not psutil.Process().children() and time.monotonic() < deadline_s:
        pass
    running.close()
    sleeper.join(timeout=60)
    assert results[0].failed
    with pytest.raises(Stopped):
        bench.do(run("python -c 1"))
    assert psutil.Process().children() == []
