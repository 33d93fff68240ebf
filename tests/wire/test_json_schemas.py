"""What is served over JSON is what the served descriptions say of it, and nothing beside it."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from sidecar.adapters.json_http import agent_document, control_document
from sidecar.health import Health
from sidecar.testing import FakeClock, FakeModel
from sidecar.testing.model_script import Say
from tests.wire.json_ports import Ports, ports
from tests.wire.served import World, served

AGENT = json.loads(agent_document())
CONTROL = json.loads(control_document())
TURNS = "/v1/sessions/{session_id}/turns"
LOOPING = {
    "tool_calls": [{"name": "Grep", "arguments_json": '{"q": "x"}', "result_text": "a.py: x"}],
    "usage": {"context_tokens": 1200, "context_window": 4000},
}


@pytest.fixture
async def http(world: World) -> AsyncIterator[Ports]:
    world.model = FakeModel([Say(text="FINAL_ANSWER: 42")])
    async with served(world) as server, ports(server) as serving:
        yield serving


def closed(schema: Any) -> Any:
    """The schema with nothing allowed that it does not name."""
    match schema:
        case {"properties": dict(), **beside} if "additionalProperties" not in beside:
            whole = {**schema, "additionalProperties": False}
            return {name: closed(part) for name, part in whole.items()}
        case dict():
            return {name: closed(part) for name, part in schema.items()}
        case list():
            return [closed(part) for part in schema]
        case _:
            return schema


def holds(value: Any, content: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Hold a value to what a document says of some content."""
    (described,) = content.values()
    schema = {"components": closed(document["components"]), **described["schema"]}
    Draft202012Validator(schema).validate(value)


async def test_what_an_agent_sends_and_gets_is_described(http: Ports) -> None:
    said = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": [{"type": "text"}]}]
    calls: list[tuple[str, Any]] = [
        *((TURNS, {"open": {"labels": {"team": "a"}}, "turn": LOOPING}) for _ in range(8)),
        (TURNS, {"turn": {"final_answer": "42"}, "close": {"outcome": "RUN_OUTCOME_SUCCEEDED"}}),
        ("/v1/answers:extract", {"messages": said, "text": "FINAL_ANSWER: 42"}),
        ("/v1/answers:forceCommit", {"question": "what is it?", "messages": said}),
    ]
    for path, message in calls:
        answer = await http.agent.post(path.replace("{session_id}", "s"), message)
        operation = AGENT["paths"][path]["post"]
        assert answer.status == 200
        holds(message, operation["requestBody"]["content"], AGENT)
        holds(answer.json, operation["responses"]["200"]["content"], AGENT)


def test_a_body_that_says_nothing_is_not_described() -> None:
    with pytest.raises(ValidationError):
        holds({}, AGENT["paths"][TURNS]["post"]["requestBody"]["content"], AGENT)


async def test_what_an_operator_gets_is_described(http: Ports) -> None:
    for _ in range(8):
        await http.agent.post("/v1/sessions/s/turns", {"turn": LOOPING})
    steered = await http.admin.post("/v1/sessions/s:reset", {"reason": "afresh"})
    paths = CONTROL["paths"]
    holds(
        steered.json,
        paths["/v1/sessions/{session_id}:reset"]["post"]["responses"]["200"]["content"],
        CONTROL,
    )
    for path in ("/v1/sessions", "/v1/sessions/{session_id}", TURNS):
        answer = await http.admin.get(path.replace("{session_id}", "s") + "?turns_max=5")
        assert answer.status == 200
        holds(answer.json, paths[path]["get"]["responses"]["200"]["content"], CONTROL)


async def test_a_refusal_is_described(http: Ports) -> None:
    answers = [
        await http.agent.post("/v1/sessions/s/turns", {"turn": {"sequence": 7}}),
        await http.agent.post("/v1/sessions/s/turns", {"turn": 7}),
        await http.agent.get("/nope"),
    ]
    for answer in answers:
        operation = AGENT["paths"][TURNS]["post"]
        assert answer.status >= 400
        holds(answer.json, operation["responses"]["default"]["content"], AGENT)


def test_the_status_is_described() -> None:
    health = Health(FakeClock())
    health.component("exporter").permanent("broken")
    health.component("store")
    operation = CONTROL["paths"]["/statusz"]["get"]

    holds(health.statusz(), operation["responses"]["200"]["content"], CONTROL)
