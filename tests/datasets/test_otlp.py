"""What GenAI spans in OTLP JSON become."""

import json
from typing import Any

from sidecar.datasets.formats import otlp
from tests.datasets.telling import document, findings, only, recordings, skipped, told, usage


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case dict():
            pairs = [{"key": key, "value": _value(part)} for key, part in value.items()]
            return {"kvlistValue": {"values": pairs}}
        case list():
            return {"arrayValue": {"values": [_value(part) for part in value]}}
    return {"stringValue": value}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _span(
    second: float, attributes: dict[str, Any], *, trace: str = "t1", parent: str = "", code: int = 0
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": f"s{second}",
        "parentSpanId": parent,
        "startTimeUnixNano": str(int(second * 1e9)),
        "endTimeUnixNano": str(int((second + 0.5) * 1e9)),
        "attributes": _attributes(attributes),
        "status": {"code": code, "message": "boom" if code else ""},
    }


def _export(*spans: dict[str, Any], **resource: str) -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}],
            }
        ]
    }


def _chat(second: float, fields: dict[str, Any], *, code: int = 0) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", **fields}
    return _span(second, attributes, parent="s1", code=code)


def _tool(second: float, fields: dict[str, Any], *, code: int = 0) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", **fields}
    return _span(second, attributes, parent="s1", code=code)


AGENT = _span(
    1,
    {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "coder",
        "gen_ai.conversation.id": "conv/1",
    },
)


def _messages(*messages: tuple[str, list[dict[str, Any]]]) -> str:
    return json.dumps([{"role": role, "parts": parts} for role, parts in messages])


EXPORT = _export(
    AGENT,
    _chat(
        6,
        {
            "gen_ai.usage.input_tokens": 700,
            "gen_ai.usage.cache_read.input_tokens": 500,
            "gen_ai.usage.output_tokens": 9,
        },
    ),
    _chat(2, {}),
    _tool(
        3,
        {
            "gen_ai.tool.name": "ls",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"path": "."}',
            "gen_ai.tool.call.result": "a.py",
        },
    ),
    _tool(4, {"gen_ai.tool.name": "make", "gen_ai.tool.call.arguments": {"n": 1}}, code=2),
    _span(5, {"http.method": "GET"}),
)


def test_a_model_call_begins_a_turn_and_the_tools_up_to_the_next_belong_to_it() -> None:
    run = only(otlp.convert, document(EXPORT))
    assert (run.session_id, run.agent, run.model) == ("conv/1", "coder", "gpt-5")
    assert told(run) == ["user> '' ls(path='.') = ok 'a.py' make(n=1) = error 'boom'", "''"]
    assert usage(run, 2) == {
        "input_tokens": 700,
        "output_tokens": 9,
        "cache_read_input_tokens": 500,
        "context_tokens": 709,
    }
    assert skipped(findings(otlp.convert, document(EXPORT))) == {"span of another kind": 1}


def test_recorded_messages_say_who_spoke_what_was_called_and_what_came_back() -> None:
    asked = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"path": "."}}
    answer = {"type": "tool_call_response", "id": "c1", "response": "a.py"}
    text = {"type": "text", "content": "Look"}
    spans = [
        _chat(
            2,
            {
                "gen_ai.input.messages": _messages(("user", [text])),
                "gen_ai.output.messages": _messages(("assistant", [text, asked])),
            },
        ),
        _chat(
            3,
            {
                "gen_ai.input.messages": _messages(("user", [text]), ("tool", [answer])),
                "gen_ai.output.messages": "no JSON",
                "error.type": "timeout",
            },
            code=2,
        ),
    ]
    assert told(only(otlp.convert, document(_export(AGENT, *spans)))) == [
        "user> 'Look' ls(path='.') = ok 'a.py'",
        "'' ! timeout: boom",
    ]


def test_a_tool_span_fills_in_what_the_message_left_out() -> None:
    asked = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"path": "."}}
    spans = [
        _chat(2, {"gen_ai.output.messages": _messages(("assistant", [asked]))}),
        _tool(3, {"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "a.py"}),
    ]
    assert told(only(otlp.convert, document(_export(*spans)))) == ["'' ls(path='.') = ok 'a.py'"]


def test_the_agents_name_is_found_though_its_span_began_after_another() -> None:
    early = _span(0.5, {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conv/1"})
    assert only(otlp.convert, document(_export(early, AGENT))).agent == "coder"


def test_a_tool_that_failed_without_a_word_says_its_kind_of_error() -> None:
    span = _tool(3, {"gen_ai.tool.name": "search", "error.type": "timeout"}, code=2)
    span["status"]["message"] = ""
    (turn,) = told(only(otlp.convert, document(_export(AGENT, _chat(2, {}), span))))
    assert "search() = error 'timeout'" in turn


def test_a_subagents_turns_name_it_and_its_tools_are_its_own() -> None:
    sub = _span(
        3,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "searcher"},
        parent="s2.5",
    )
    delegate = _tool(2.5, {"gen_ai.tool.name": "delegate", "gen_ai.tool.call.result": "found"})
    asked = _span(4, {"gen_ai.operation.name": "chat"}, parent="s3")
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    late = _tool(4.5, {"gen_ai.tool.name": "note"})
    export = _export(AGENT, _chat(2, {}), delegate, sub, asked, _span(5, own, parent="s3"), late)
    assert told(only(otlp.convert, document(export))) == [
        "user> '' delegate() = ok 'found' note() = ok ''",
        "[searcher] '' search() = ok ''",
    ]


def test_openinference_spans_are_read_too() -> None:
    spans = [
        _span(
            2,
            {
                "openinference.span.kind": "LLM",
                "llm.model_name": "claude",
                "output.value": "Look",
                "llm.token_count.prompt": 40,
                "llm.token_count.completion": 2,
            },
        ),
        _span(
            3,
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "ls",
                "input.value": "{}",
                "output.value": "a.py",
            },
        ),
    ]
    run = only(otlp.convert, document(_export(*spans, **{"session.id": "sess-9"})))
    assert (run.session_id, run.model) == ("sess-9", "claude")
    assert told(run) == ["'Look' ls() = ok 'a.py'"]
    assert usage(run, 1)["input_tokens"] == 40


def test_runs_are_told_apart_by_conversation_and_else_by_trace() -> None:
    def chat(second: float, trace: str, **fields: str) -> dict[str, Any]:
        return _span(second, {"gen_ai.operation.name": "chat", **fields}, trace=trace)

    lines = [
        _export(chat(1, "a", **{"gen_ai.conversation.id": "one"}), chat(2, "a")),
        _export(chat(3, "b"), chat(4, "c", **{"gen_ai.conversation.id": "one"})),
    ]
    found = recordings(otlp.convert, document(*lines))
    assert [(run.session_id, len(told(run))) for run in found] == [("one", 3), ("b", 1)]


def test_the_session_is_the_conversation_as_it_is_named() -> None:
    names = ["会话一", "会话二", "a/b", "a-b"]
    spans = [
        _span(second, {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": name})
        for second, name in enumerate(names, start=1)
    ]
    found = recordings(otlp.convert, document(_export(*spans)))
    assert [run.session_id for run in found] == names
