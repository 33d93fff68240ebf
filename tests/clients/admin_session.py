"""The grpcurl session of docs/admin.md, played against a real sidecar.

`python -m tests.clients.admin_session` writes what grpcurl answers now into the page.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sidecar.testing import SidecarProcess
from sidecar.v1 import run_pb2
from tests.process.streams import BlockingAgent

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "admin.md"
INSTALL = ROOT / "scripts" / "install-grpcurl.sh"

EXAMPLE = re.compile(r"```console\n\$ (?P<command>grpcurl (?:.*\\\n)*.+)\n(?:.*\n)*?```\n")

MASKS = (
    (re.compile(r'"\d{4}-\d\d-\d\dT[\d:.]+Z"'), '"2026-01-02T03:04:05.678Z"'),
    (re.compile(r'("decision_id": )"[0-9a-f]{16}"'), r'\1"0123456789abcdef"'),
    (re.compile(r'("policy_revision": )"[0-9a-f]{12}"'), r'\1"0123456789ab"'),
    (re.compile(r'"[^"]*/state/runs/'), '"/home/ann/.local/state/sidecar/runs/'),
)
"""What differs from one machine, day or release of a policy to another."""

LOOKS = 3


def grpcurl() -> Path:
    """The program, built now if it was not. Raises CalledProcessError."""
    done = subprocess.run([INSTALL], stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


def commands(page: str) -> list[str]:
    """The commands that a page shows."""
    return [example["command"] for example in EXAMPLE.finditer(page)]


def replayed(page: str) -> str:
    """The page with what its commands answer now, masked."""
    program = grpcurl()
    with tempfile.TemporaryDirectory() as directory:
        flags = ["--telemetry-address=", "--admin-http-address="]
        with SidecarProcess(Path(directory), flags=flags) as sidecar:
            agent = BlockingAgent(sidecar.agent, "run-7", agent_name="fixer")
            call = run_pb2.ToolCall(name="grep", arguments_json='{"q": "x"}', result_text="a.py:1")
            for sequence in range(1, LOOKS + 1):
                agent.turn_of(run_pb2.Turn(sequence=sequence, tool_calls=[call]))
            variables = {
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "ADMIN": sidecar.admin.removeprefix("unix:"),
                "AGENT": sidecar.agent.removeprefix("unix:"),
            }

            def answered(example: re.Match[str]) -> str:
                shown = _run(example["command"], variables)
                return f"```console\n$ {example['command']}\n{shown}```\n"

            try:
                return EXAMPLE.sub(answered, page)
            finally:
                agent.drop()


def _run(command: str, variables: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    shown = done.stdout
    for mask, instead in MASKS:
        shown = mask.sub(instead, shown)
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


if __name__ == "__main__":
    PAGE.write_text(replayed(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
