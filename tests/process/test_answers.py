"""Answers from a real sidecar process: configured by the standard variables, or by a file."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.testing import Call, FakeAnthropicServer, Say, SidecarProcess
from sidecar.v1 import answer_service_pb2 as pb
from sidecar.v1 import answer_service_pb2_grpc

pytestmark = pytest.mark.process

WITHIN_S = 30.0
"""The first call imports the SDK."""

HISTORY = [pb.Message(role="user", text="What is the capital of France?")]

COUNTING = """
import asyncio, sys
from sidecar.config.load import load
from sidecar.serving.secret_files import read_secrets
from sidecar.serve import Sidecar

async def main():
    config = load(environment={}, flags={
        "agent_address": sys.argv[1] + "/agent.sock", "admin_address": sys.argv[1] + "/admin.sock",
        "agent_tcp_address": "", "telemetry_address": "", "admin_http_address": "",
        "state_directory": "",
    })
    sidecar = Sidecar(config, read_secrets(config))
    await sidecar.start()
    await sidecar.stop()
    packages = [name.partition(".")[0] for name in sys.modules]
    print(sum(map(packages.count, ("anthropic", "httpx2", "pydantic"))))

asyncio.run(main())
"""


def stub(sidecar: SidecarProcess) -> Any:
    channel = grpc.insecure_channel(sidecar.addresses["agent_address"])
    return answer_service_pb2_grpc.AnswerServiceStub(channel)


def test_a_sidecar_that_asks_no_model_imports_nothing_of_the_sdk(tmp_path: Path) -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-any", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.strip() == "0", done.stderr


def test_key_and_address_from_the_standard_variables_are_enough(tmp_path: Path) -> None:
    verdict = Call(name="verdict", input={"verdict": "PASS", "reasoning": "It is."})
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: Paris"), Say(calls=[verdict])]) as api:
        environment = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.base_url}
        with SidecarProcess(tmp_path, environment=environment) as sidecar:
            answers = stub(sidecar)
            got = answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY), timeout=WITHIN_S)
            assert (got.answer, got.model_error) == ("Paris", "")
            request = pb.ReviewAnswerRequest(question="What?", answer=got.answer)
            assert answers.ReviewAnswer(request, timeout=WITHIN_S).verdict == pb.VERDICT_PASS
    assert [body["model"] for body in api.requests] == ["claude-haiku-4-5", "claude-sonnet-4-6"]


def test_a_key_file_a_base_url_a_model_and_its_output_can_be_configured(tmp_path: Path) -> None:
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: Paris")]) as api:
        key = tmp_path / "key"
        key.write_text(f"{api.key}\n")
        flags = [
            f"--model-key-file={key}",
            f"--model-base-url={api.base_url}",
            "--model=local",
            "--model-prices=local=10/100",
            "--model-output-tokens-max=777",
        ]
        environment = {"ANTHROPIC_API_KEY": ""}
        with SidecarProcess(tmp_path, flags=flags, environment=environment) as sidecar:
            request = pb.ForceCommitRequest(messages=HISTORY)
            got = stub(sidecar).ForceCommit(request, timeout=WITHIN_S)
    (body,) = api.requests
    assert (got.answer, body["model"], body["max_tokens"]) == ("Paris", "local", 777)
    assert got.cost_usd == pytest.approx((10 * 10 + 5 * 100) / 1e6)


def test_without_a_key_a_model_is_not_configured(tmp_path: Path) -> None:
    environment = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "")
    with SidecarProcess(tmp_path, environment=environment) as sidecar:
        answers = stub(sidecar)
        with pytest.raises(grpc.RpcError) as caught:
            answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY), timeout=WITHIN_S)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        request = pb.ExtractAnswerRequest(text="FINAL_ANSWER: Paris")
        assert answers.ExtractAnswer(request, timeout=WITHIN_S).answer == "Paris"
