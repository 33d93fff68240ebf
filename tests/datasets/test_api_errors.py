"""Which words of Claude Code's client are an error of the API: it marks them, or they read so."""

from typing import Any

import pytest

from sidecar.datasets.formats import claude_code
from sidecar.datasets.moves import Broken
from tests.datasets.telling import document, findings, only, skipped, told

NOTHING = "No response requested."
FAILED = "API Error: 529 overloaded"


def _said(model: str, text: str, **fields: Any) -> dict[str, Any]:
    message = {"id": text, "model": model, "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, **fields}


@pytest.mark.parametrize(
    ("why", "text", "fields", "failure"),
    [
        ("it is marked", FAILED, {"isApiErrorMessage": True}, f" ! api error: {FAILED}"),
        ("marked, whatever it says", "Oh", {"isApiErrorMessage": True}, " ! api error: Oh"),
        ("it is marked as none", NOTHING, {"isApiErrorMessage": False}, ""),
        ("marked as none, though it reads so", FAILED, {"isApiErrorMessage": False}, ""),
        ("not marked, and it reads so", FAILED, {}, f" ! api error: {FAILED}"),
        ("a null marks nothing", FAILED, {"isApiErrorMessage": None}, f" ! api error: {FAILED}"),
        ("not marked, and it reads otherwise", NOTHING, {}, ""),
    ],
)
def test_the_client_speaks_of_an_api_error_where(
    why: str, text: str, fields: dict[str, Any], failure: str
) -> None:
    lines = document(_said("claude-opus", "a"), _said("<synthetic>", text, **fields))
    assert told(only(claude_code.convert, lines)) == [f"'a'{failure}"], why
    kinds = skipped(findings(claude_code.convert, lines))
    assert kinds == ({} if failure else {"word of the client": 1}), why


@pytest.mark.parametrize("fields", [{}, {"isApiErrorMessage": False}])
def test_a_model_that_tells_of_an_api_error_has_answered(fields: dict[str, Any]) -> None:
    lines = document(_said("claude-opus", FAILED, **fields))
    assert told(only(claude_code.convert, lines)) == [repr(FAILED)]


def test_a_mark_that_is_no_truth_value_is_broken() -> None:
    found = findings(claude_code.convert, document(_said("x", "a", isApiErrorMessage="yes")))
    assert [type(finding) for finding in found] == [Broken]
