"""Where the demo's agents work: a bench for each, a folder with files and tools that are real."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, assert_never

from sidecar.demo.mind import Call, Result, Tool
from sidecar.demo.processes import Processes

_RAN: Final = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_WENT_WRONG: Final = re.compile(r"(?:failures|errors)=(\d+)")
"""How `python -m unittest` ends its report."""


class Bench:
    """One agent's folder and tools. Used by one thread."""

    def __init__(self, folder: Path, files: Mapping[str, str], processes: Processes) -> None:
        self._folder = folder
        self._processes = processes
        self._job: subprocess.Popen[bytes] | None = None
        self._job_said = ""
        folder.mkdir(parents=True)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def do(self, call: Call) -> Result:
        """Carry a call out. What a tool cannot do is a failed result; raises Stopped when the demo
        is over."""
        try:
            return self._do(call)
        except OSError as error:
            return Result(text=f"{type(error).__name__}: {error.strerror}", failed=True)

    def close(self) -> None:
        """End the job, if one still runs."""
        if self._job is not None:
            self._processes.end(self._job)

    def _do(self, call: Call) -> Result:
        given = call.arguments
        match call.tool:
            case Tool.READ:
                return Result(text=self._path(given["path"]).read_text(encoding="utf-8"))
            case Tool.WRITE:
                return self._write(given["path"], given["content"])
            case Tool.EDIT:
                return self._edit(given["path"], given["old"], given["new"])
            case Tool.SEARCH:
                return Result(text=self._search(given["text"]))
            case Tool.RUN:
                return self._run(given["command"])
            case Tool.START:
                return self._start(given["command"])
            case Tool.LOOK:
                return self._look()
            case _:
                assert_never(call.tool)

    def _path(self, name: str) -> Path:
        return self._folder / name

    def _write(self, name: str, content: str) -> Result:
        path = self._path(name)
        changes = not path.exists() or path.read_text(encoding="utf-8") != content
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return Result(text=f"{name} was written", files_changed=int(changes))

    def _edit(self, name: str, old: str, new: str) -> Result:
        text = self._path(name).read_text(encoding="utf-8")
        if text.count(old) != 1:
            found = text.count(old)
            return Result(text=f"error: the old text stands {found} times in {name}", failed=True)
        result = self._write(name, text.replace(old, new))
        return Result(text=f"{name} was edited", files_changed=result.files_changed)

    def _search(self, text: str) -> str:
        """The lines with the text, as grep prints them; nothing where there are none."""
        found = []
        for path in sorted(self._folder.rglob("*")):
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if text in line:
                    found.append(f"{path.relative_to(self._folder)}:{number}:{line}")
        return "\n".join(found)

    def _run(self, command: str) -> Result:
        finished = self._processes.run(_arguments(command), self._folder)
        match finished.exit_code:
            case 0:
                end = ""
            case None:
                end = "\nerror: killed when its time was over"
            case code:
                end = f"\nexit code {code}"
        passed, failed = _tests(finished.output)
        return Result(
            text=finished.output.rstrip() + end,
            failed=finished.exit_code != 0,
            tests_passed=passed,
            tests_failed=failed,
        )

    def _start(self, command: str) -> Result:
        self.close()
        job = self._processes.begin(_arguments(command), self._folder)
        self._job = job
        # A job says something first, so this waits for its start and no longer.
        said = job.stdout.readline().decode().rstrip() if job.stdout else ""
        if job.stdout:
            os.set_blocking(job.stdout.fileno(), False)
        self._job_said = said
        return Result(text=f"started: {said}")

    def _look(self) -> Result:
        job = self._job
        if job is None or job.stdout is None:
            return Result(text="error: no job was started", failed=True)
        exit_code = job.poll()
        said = (job.stdout.read() or b"").decode().splitlines()
        self._job_said = said[-1] if said else self._job_said
        if exit_code is None:
            return Result(text=f"still running: {self._job_said}")
        end = f"exit code {exit_code}: {self._job_said}"
        return Result(text=end, failed=exit_code != 0)


def _arguments(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    if program != "python":
        raise FileNotFoundError(None, f"{program} is not on this bench, python is")
    return arguments


def _tests(output: str) -> tuple[int | None, int | None]:
    """Tests that passed and that did not; None: none were run."""
    ran = _RAN.search(output)
    if ran is None:
        return None, None
    last = output.rstrip().splitlines()[-1]
    wrong = sum(map(int, _WENT_WRONG.findall(last)))
    return int(ran[1]) - wrong, wrong
