"""Histories in JSON: as the proto has them, and as the APIs of models do."""

from typing import Any

import pytest

from tests.wire.json_ports import Ports


@pytest.mark.parametrize(
    "said",
    [
        {"content": "FINAL_ANSWER: 1"},
        {"content": [{"type": "text", "text": "FINAL_ANSWER: 1"}], "id": "m"},
        {"text": "FINAL_ANSWER: 1", "content": None},
        {"content": "FINAL_ANSWER: 1", "text": None, "blocks": None},
        {"content": [{"type": "text", "text": "FINAL_ANSWER: 1"}], "text": None, "blocks": None},
    ],
)
async def test_a_history_may_be_as_apis_of_models_write_it(http: Ports, said: Any) -> None:
    messages = [{"role": "user", "content": "Q"}, {"role": "assistant", **said}]
    answer = await http.agent.post("/v1/answers:extract", {"messages": messages})

    assert (answer.status, answer.json["answer"]) == (200, "1")


@pytest.mark.parametrize("said", [{"content": 7}, {"content": {}}, {"content": "a", "text": "b"}])
async def test_what_is_said_is_a_text_or_blocks_and_said_once(http: Ports, said: Any) -> None:
    answer = await http.agent.post("/v1/answers:extract", {"messages": [{"role": "user", **said}]})

    assert (answer.status, answer.json["field"]) == (400, "messages[0].content")


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"content": "half \ud83d"}, "content"),
        ({"content": [{}] * 65_537}, "content"),
        ({"content": [{"text": "half \ud83d"}]}, "content[0]"),
        ({"blocks": [{"text": "half \ud83d"}]}, "blocks[0]"),
        ({"content": "a", "role": 5}, "role"),
    ],
)
async def test_what_is_wrong_is_named_as_it_was_sent(http: Ports, said: Any, field: str) -> None:
    answer = await http.agent.post("/v1/answers:extract", {"messages": [said]})

    assert (answer.status, answer.json["field"]) == (400, f"messages[0].{field}")
    assert answer.json["detail"].startswith(f"messages[0].{field} must be ")
