"""No content leaves by JSON over HTTP: the canary is looked for in all of its answers."""

import logging

import pytest
from google.protobuf import json_format

from sidecar.v1 import run_pb2
from tests.wire.json_ports import ports
from tests.wire.served import Served
from tests.wire.test_redaction import CANARY, TURNS, fill, texts, turn


@pytest.mark.parametrize("text", list(texts().values()), ids=list(texts()))
async def test_content_is_in_no_answer_of_any_listener(
    server: Served, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    closing = run_pb2.Close()
    fill(closing, text)
    close = json_format.MessageToDict(closing, preserving_proto_field_name=True)
    async with ports(server) as http:
        answers = []
        for number in range(1, TURNS + 1):
            said = json_format.MessageToDict(
                turn(number, text).turn, preserving_proto_field_name=True
            )
            answers.append(await http.agent.post("/v1/sessions/s/turns", {"turn": said}))
        changed = {**said, "text": text + "!"}
        answers += [
            await http.agent.post("/v1/sessions/s/turns", {"turn": changed}),
            await http.agent.post("/v1/sessions/s/turns", {"turn": {"usage": text}}),
            await http.agent.post(
                "/v1/sessions/s/turns", {text: {}, "turn": {text: {}, "text": {}}}
            ),
            await http.agent.post("/v1/sessions/s/turns", {"close": close}),
            await http.admin.get("/v1/sessions"),
            await http.admin.get("/v1/sessions/s?turns_max=100"),
            await http.admin.get("/v1/sessions/s/turns"),
            await http.admin.post("/v1/sessions/s:close", {"reason": "over"}),
        ]

    assert [answer.status for answer in answers] == [200] * TURNS + [409, 400, 400] + [200] * 5
    for answer in answers:
        assert CANARY.encode() not in answer.body
        assert CANARY not in str(answer.headers)
    assert CANARY not in caplog.text
    assert CANARY not in repr(server.world.recorder.records)
