"""A sidecar that is never idle: the demo's fleet over and over, and two agents beside it.

The demo's agents have neither costs nor limits and ask the sidecar for no answer. So one more, the
spender, meets its limit, is told to commit, gets its answer by force and has it reviewed. Another,
the visitor, speaks plain JSON: it makes what goes wrong now and then, and what an operator does.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc

from sidecar.client import Client, Directive, Kind
from sidecar.demo.fleet import fleet
from sidecar.testing import Call, FakeAnthropicServer, Say, SidecarProcess
from sidecar.v1 import answer_service_pb2 as pb
from sidecar.v1 import answer_service_pb2_grpc
from tests.edges.otlp_receiver import Received, grpc_receiver

SPENDER: Final = "spender"
SPENDER_MODEL: Final = "claude-haiku-4-5"
COST_USD: Final = 0.02
"""Of each of its turns."""
COST_MAX_USD: Final = 0.1
TURNS_MAX: Final = 20
"""It is told to commit long before."""
ANSWER_WITHIN_S: Final = 30.0
"""The sidecar's first call imports the SDK."""
VISITOR: Final = "visitor"
TOOL_CALLS_MAX: Final = 256
"""Of the sidecar, by default; a turn with more is not counted."""
PAUSE_S: Final = 0.3
"""Between two turns of the spender, and of the visitor."""
REST_S: Final = 1.5
"""Between two rounds of one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A sidecar with agents at work."""

    sidecar: SidecarProcess
    spans: Received
    """What its exporter sent."""
    rounds: "Rounds"

    @property
    def metrics_address(self) -> str:
        """Host and port of `/metrics`."""
        return self.sidecar.addresses["telemetry_address"]

    @property
    def api(self) -> str:
        """Base of the control plane's JSON API."""
        return f"http://{self.sidecar.addresses['admin_http_address']}"


class Rounds:
    """Work that is done again and again in threads of its own, until it is stopped."""

    def __init__(self, works: Sequence[Callable[[threading.Event], None]]) -> None:
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._done = 0
        self._pool = ThreadPoolExecutor(max_workers=len(works))
        self._runs = [self._pool.submit(self._repeat, work) for work in works]

    def _repeat(self, work: Callable[[threading.Event], None]) -> None:
        while not self._stop.is_set():
            work(self._stop)
            with self._changed:
                self._done += 1
                self._changed.notify_all()
            self._stop.wait(REST_S)

    def wait_for(self, count: int, *, within_s: float) -> None:
        """Until so many rounds are over. Raises TimeoutError, and what a round has raised."""
        until_s = time.monotonic() + within_s
        with self._changed:
            while self._done < count:
                self.check()
                if time.monotonic() > until_s:
                    raise TimeoutError(f"{self._done} of {count} rounds within {within_s:g} s")
                self._changed.wait(0.5)

    def check(self) -> None:
        """Raises what a round has raised."""
        for run in self._runs:
            if run.done():
                run.result()

    def stop(self) -> None:
        """No more rounds; those under way are ended."""
        self._stop.set()
        self._pool.shutdown()
        self.check()


@contextmanager
def busy(directory: Path, *, agents: int = 8, speed: float = 5.0) -> Iterator[Busy]:
    """A sidecar of its own in `directory`, with a fleet beside it for as long as the block lasts.

    The fleet's agents make two turns a second at speed 1; when all have ended others begin.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        api = stack.enter_context(FakeAnthropicServer(_reply))
        spans, port = stack.enter_context(grpc_receiver())
        environment = {
            "ANTHROPIC_API_KEY": api.key,
            "ANTHROPIC_BASE_URL": api.base_url,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        }
        flags = ["--model-calls-max=100000", "--model-cost-usd-max=1000"]
        sidecar = stack.enter_context(
            SidecarProcess(directory, flags=flags, environment=environment)
        )
        rounds = Rounds(
            [
                _Fleet(sidecar.addresses["agent_address"], directory, agents=agents, speed=speed),
                _Spender(sidecar.addresses["agent_address"]),
                _Visitor(
                    f"http://{sidecar.addresses['agent_http_tcp_address']}",
                    f"http://{sidecar.addresses['admin_http_address']}",
                ),
            ]
        )
        stack.callback(rounds.stop)
        yield Busy(sidecar=sidecar, spans=spans, rounds=rounds)


class _Fleet:
    """The demo's agents, once through."""

    def __init__(self, address: str, directory: Path, *, agents: int, speed: float) -> None:
        self._address = address
        self._directory = directory
        self._agents = agents
        self._speed = speed
        self._number = 0

    def __call__(self, stop: threading.Event) -> None:
        self._number += 1
        folder = self._directory / f"round-{self._number}"
        with fleet(self._agents, address=self._address, speed=self._speed, folder=folder) as crew:
            while not crew.done() and not stop.wait(0.1):
                pass


class _Spender:
    """A run that costs money, up to its limit."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._number = 0

    def __call__(self, stop: threading.Event) -> None:
        self._number += 1
        session_id = f"{SPENDER}-{self._number}"
        with (
            grpc.insecure_channel(_target(self._address)) as channel,
            Client(
                self._address,
                agent_name=SPENDER,
                model=SPENDER_MODEL,
                session_id=session_id,
                cost_usd_max=COST_MAX_USD,
                timeout_s=5.0,
            ) as client,
        ):
            answer = ""
            for number in range(TURNS_MAX):
                directive = client.turn(**_turn(number))
                if directive.kind in (Kind.COMMIT, Kind.HALT):
                    answer = _committed(channel, session_id, directive)
                    break
                if stop.wait(PAUSE_S):
                    break
            client.close(outcome="succeeded", final_answer=answer, timeout_s=5.0)


class _Visitor:
    """A run over HTTP, every other going on from the one before: it sends a turn that cannot be
    counted and one too early, is let go on by an operator, and ends at its limit of turns."""

    def __init__(self, agents: str, admin: str) -> None:
        self._agents = agents
        self._admin = admin
        self._number = 0

    def __call__(self, stop: threading.Event) -> None:
        previous = f"{VISITOR}-{self._number}" if self._number % 2 else ""
        self._number += 1
        path = f"/v1/sessions/{VISITOR}-{self._number}"
        turns = f"{self._agents}{path}/turns"
        opening: dict[str, Any] = {"agent_name": VISITOR, "model": "opus"}
        opening |= {"previous_session_id": previous, "limits": {"max_turns": "4"}}
        look = {"name": "look"}

        def turn(said: Mapping[str, Any], *, refused: bool = False, **more: Any) -> None:
            _post(turns, {"open": opening, "turn": said, **more}, refused=refused)

        turn({"usage": {"input_tokens": "10"}, "tool_calls": [look]})
        turn({"tool_calls": [look] * (TOOL_CALLS_MAX + 1)})
        turn({"sequence": 99}, refused=True)
        _post(f"{self._admin}{path}:continue", {"reason": "it is nearly there", "extra_turns": "1"})
        for number in range(3):
            turn({"text": f"I look once more, for the {number}th time.", "tool_calls": [look]})
            if stop.wait(PAUSE_S):
                return
        turn({"text": "That is all."}, close={"outcome": "RUN_OUTCOME_FAILED"})


def _post(url: str, body: Mapping[str, Any], *, refused: bool = False) -> None:
    """A call over HTTP. Raises HTTPError where it fails, unless it is to be refused."""
    request = urllib.request.Request(  # noqa: S310 - loopback, a fixed scheme
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310
            answer.read()
    except urllib.error.HTTPError as error:
        with error:
            if not refused:
                raise


def _turn(number: int) -> dict[str, Any]:
    now_s = time.time()
    return {
        "tool_calls": [{"name": "search", "arguments": {"page": number}, "result": f"r{number}"}],
        "input_tokens": 4_000 + 100 * number,
        "output_tokens": 150,
        "cache_read_input_tokens": 3_000,
        "cache_write_input_tokens": 100,
        "context_tokens": 4_000 + 100 * number,
        "context_window": 10_000,
        "cost_usd": COST_USD,
        "start_time": now_s - 0.2,
        "end_time": now_s,
    }


def _committed(channel: grpc.Channel, session_id: str, directive: Directive) -> str:
    answers = answer_service_pb2_grpc.AnswerServiceStub(channel)
    request = pb.ForceCommitRequest(
        session_id=session_id,
        messages=[
            pb.Message(role="user", text="How many are there?"),
            pb.Message(role="assistant", text=f"I was told: {directive.instruction}"),
        ],
    )
    got = answers.ForceCommit(request, timeout=ANSWER_WITHIN_S)
    review = pb.ReviewAnswerRequest(question="How many are there?", answer=got.answer)
    answers.ReviewAnswer(review, timeout=ANSWER_WITHIN_S)
    return str(got.answer)


def _reply(body: Mapping[str, Any]) -> Say:
    if body.get("tools"):
        verdict = {"verdict": "PASS", "reasoning": "There are.", "suggested_revision": ""}
        return Say(calls=[Call(name="verdict", input=verdict)], input_tokens=400, output_tokens=40)
    return Say(text="FINAL_ANSWER: 42", input_tokens=500, output_tokens=20)


def _target(address: str) -> str:
    return f"unix:{address}" if address.startswith("/") else address
