"""The clients in other languages: where each is, what checks it, and how long it is."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "proto" / "examples"
GO_OF_PYPI = ROOT / ".tools" / "go" / "bin"
"""Where scripts/install-test-tools.sh puts Go, if the machine has none that is new enough."""

CHECKED_WITHIN_S = 900.0
"""With an empty cache the check downloads what the client needs."""
ENDS_WITHIN_S = 60.0

_BLOCK_COMMENT = re.compile(r"^\s*/\*.*?\*/", re.MULTILINE | re.DOTALL)
_LINE_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_IMPORT = re.compile(
    r'^import \([^)]*\)$|^import ".*"$|^import [^;()]*;$|^package .*$', re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A client, in a folder of its own."""

    name: str
    sources: str
    """Pattern below the folder: the client itself, without what is generated and its tests."""

    @property
    def folder(self) -> Path:
        return EXAMPLES / self.name

    @property
    def driver(self) -> Path:
        """What `sidecar conformance --client` runs, once it is built."""
        return self.folder / "driver.sh"

    def texts(self) -> list[str]:
        """The source files of the client."""
        paths = sorted(self.folder.glob(self.sources))
        return [path.read_text("utf-8") for path in paths if "_test" not in path.name]


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        each.name: each
        for each in (
            Language(name="go", sources="*.go"),
            Language(name="typescript", sources="src/*.ts"),
            Language(name="java", sources="src/main/java/**/*.java"),
        )
    }
)


def checked(language: Language) -> Language:
    """The client, installed, linted, built and tested by its own check. Raises AssertionError with
    what the check says; one that passes says nothing."""
    with subprocess.Popen(
        [language.folder / "check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as check:
        try:
            said, _ = check.communicate(timeout=CHECKED_WITHIN_S)
        finally:
            if check.poll() is None:
                os.killpg(check.pid, signal.SIGKILL)
    assert (check.returncode, said) == (0, ""), f"{language.name}/check:\n{said}"
    return language


def said_by(*command: str | Path, **environment: str) -> str:
    """What a program writes to standard output. Raises AssertionError unless it ends with 0."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_WITHIN_S,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def code_lines(source: str) -> int:
    """Lines that say something: no blank ones, comments, imports or lone brackets."""
    without_comments = _LINE_COMMENT.sub("", _BLOCK_COMMENT.sub("", source))
    lines = _IMPORT.sub("", without_comments).split("\n")
    return sum(bool(re.search(r"\w", line)) for line in lines)
