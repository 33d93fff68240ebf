"""A run and its agent as a real backend for traces has them: Phoenix, asked over its own API."""

import json
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.testing import FakeAnthropicServer, SidecarProcess
from tests.observability.programs import ROOT, free_port, read, running, wait_for
from tests.process.test_circle import QUESTION, model

PHOENIX: Final = ROOT / ".tools" / "phoenix" / "bin" / "phoenix"
PROJECT: Final = "default"
"""Where Phoenix puts what names no project."""
PAGE_SPANS: Final = 1_000

pytestmark = [
    pytest.mark.observability,
    pytest.mark.skipif(
        not PHOENIX.exists(), reason="no Phoenix: run scripts/install-test-tools.sh observability"
    ),
]

RUN_WITHIN_S: Final = 240.0
STARTS_WITHIN_S: Final = 240.0
"""It imports a great deal, and makes its database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoenix:
    """One that runs."""

    base: str
    receiver: str
    """Where it takes OTLP over gRPC."""

    def spans(self) -> list[dict[str, Any]]:
        """All spans that it has, in the order in which they began."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            query = urllib.parse.urlencode(
                {"limit": PAGE_SPANS, "cursor": cursor} if cursor else {"limit": PAGE_SPANS}
            )
            page = json.loads(read(f"{self.base}/v1/projects/{PROJECT}/spans?{query}"))
            found.extend(page["data"])
            cursor = page.get("next_cursor")
        return sorted(found, key=lambda span: str(span["start_time"]))


@contextmanager
def phoenix(directory: Path) -> Iterator[Phoenix]:
    """A Phoenix with a database of its own, which tells nobody of it."""
    port, receiver = free_port(), free_port()
    settings = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(receiver),
        "PHOENIX_WORKING_DIR": str(directory),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    base = f"http://127.0.0.1:{port}"
    command = [
        "env",
        *(f"{name}={value}" for name, value in settings.items()),
        str(PHOENIX),
        "serve",
    ]
    with running(
        command, directory / "phoenix.log", ready=f"{base}/healthz", within_s=STARTS_WITHIN_S
    ):
        yield Phoenix(base=base, receiver=f"http://127.0.0.1:{receiver}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was read back."""

    spans: Sequence[Mapping[str, Any]]
    decided: Mapping[str, Sequence[Mapping[str, Any]]]
    """By session, what the sidecar's own journal has of its turns."""

    def of(self, name: str, session: str = "") -> list[Mapping[str, Any]]:
        """The spans whose name begins so; only of that session, if one is named."""
        return [
            span
            for span in self.spans
            if span["name"].startswith(name)
            and session in ("", span["attributes"].get("gen_ai.conversation.id"))
        ]


@pytest.fixture(scope="module")
def read_back(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """The reference agent's runs on one question, watched by a sidecar; both export to Phoenix."""
    home = tmp_path_factory.mktemp("traces")
    with phoenix(tmp_path_factory.mktemp("phoenix")) as backend:
        otel = {"OTEL_EXPORTER_OTLP_ENDPOINT": backend.receiver}
        with (
            FakeAnthropicServer(model) as server,
            SidecarProcess(home, environment=otel) as sidecar,
        ):
            access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
            _ask(home, sidecar, {**access, **otel})
            decided = _decided(sidecar)
            assert sidecar.stop() == 0  # and with that its last spans are sent
        expected = sum(len(turns) for turns in decided.values())

        def arrived() -> list[dict[str, Any]]:
            spans = backend.spans()
            names = [span["name"] for span in spans]
            is_whole = names.count("sidecar.turn") >= expected and "sidecar.session" in names
            # Those of the agent come from another process, by a batch of their own.
            runs = sum(1 for name in names if name.startswith("invoke_agent"))
            return spans if is_whole and runs >= len(decided) else []

        yield Read(spans=wait_for(arrived, "the spans of the run"), decided=decided)


def _ask(home: Path, sidecar: SidecarProcess, variables: Mapping[str, str]) -> None:
    places = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(home))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "sidecar.cli",
            "agent",
            QUESTION,
            "--review",
            "--watch",
            sidecar.agent,
        ],
        env={**os.environ, **places, **variables},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=RUN_WITHIN_S,
    )


def _decided(sidecar: SidecarProcess) -> dict[str, list[dict[str, Any]]]:
    base = f"http://{sidecar.addresses['admin_http_address']}/v1/sessions"
    sessions = [one["session_id"] for one in json.loads(read(base))["sessions"]]
    return {name: json.loads(read(f"{base}/{name}/turns"))["turns"] for name in sessions}


def test_every_session_is_found_by_its_conversation_id_with_one_span_a_turn(
    read_back: Read,
) -> None:
    assert len(read_back.decided) == 2
    for session, turns in read_back.decided.items():
        spans = read_back.of("sidecar.turn", session)
        sequences = [span["attributes"]["sidecar.sequence"] for span in spans]
        assert sequences == list(range(1, len(turns) + 1))
        assert {span["attributes"]["session.id"] for span in spans} == {session}


def test_the_agent_s_own_spans_are_the_parents_in_the_same_trace(read_back: Read) -> None:
    for session in read_back.decided:
        [run] = read_back.of("invoke_agent codeagent", session)
        turns = read_back.of("sidecar.turn", session)
        assert {turn["parent_id"] for turn in turns} == {run["context"]["span_id"]}
        assert {turn["context"]["trace_id"] for turn in turns} == {run["context"]["trace_id"]}


def test_what_the_signals_found_are_evaluation_events_of_their_turns(read_back: Read) -> None:
    raised = [
        span for span in read_back.of("sidecar.turn") if span["attributes"].get("sidecar.signals")
    ]
    assert raised
    for span in raised:
        found = [
            event["attributes"]["gen_ai.evaluation.name"]
            for event in span["events"]
            if event["name"] == "gen_ai.evaluation.result"
        ]
        assert found == list(span["attributes"]["sidecar.signals"])
    labels = {
        event["attributes"]["gen_ai.evaluation.score.label"]
        for span in raised
        for event in span["events"]
        if event["name"] == "gen_ai.evaluation.result"
    }
    assert {"warning", "break"} <= labels


def test_each_directive_is_an_event_of_the_turn_that_it_answered(read_back: Read) -> None:
    told = [
        span
        for span in read_back.of("sidecar.turn")
        if span["attributes"]["sidecar.directive"] != "proceed"
    ]
    assert {span["attributes"]["sidecar.directive"] for span in told} == {"rotate", "commit"}
    for span in told:
        [event] = [event for event in span["events"] if event["name"] == "sidecar.directive"]
        assert (
            event["attributes"]["sidecar.decision.id"] == span["attributes"]["sidecar.decision.id"]
        )
