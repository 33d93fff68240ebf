"""Which code of a reply is run."""

import pytest

from sidecar.codeagent.blocks import code_in
from tests.codeagent.founding import blocks


@pytest.mark.parametrize(("name", "text", "code"), blocks())
def test_code_is_found_as_the_founding_agent_found_it(
    name: str, text: str, code: str | None
) -> None:
    assert code_in(text) == code, name


@pytest.mark.parametrize(
    ("why", "text", "code"),
    [
        ("a tagged block goes before one without a tag", "```\na\n```\n```py\nb\n```", "b"),
        ("other languages are passed over", "```sh\nls\n```\n```python\nx\n```", "x"),
        ("the end of another block begins none", "```output\n4\n```\nso\n```\nx\n```", "x"),
        ("an unclosed last block counts", "think\n```python\nx = 1", "x = 1"),
        ("lines end as on Windows", "```python\r\nx = 1\r\ny = 2\r\n```", "x = 1\ny = 2"),
        ("blanks behind the tag do not matter", "```python  \nx\n```", "x"),
        ("an indented block keeps its shape", "```python\n  if x:\n    y\n```", "if x:\n  y"),
    ],
)
def test_code_is_found(why: str, text: str, code: str) -> None:
    assert code_in(text) == code, why


def test_an_unclosed_block_of_a_truncated_reply_is_none() -> None:
    assert code_in("```python\nx = 1", truncated=True) is None
    assert code_in("```python\nx = 1\n```\nand", truncated=True) == "x = 1"


def test_a_reply_full_of_fences_is_read_in_one_pass() -> None:
    assert code_in("```x\n" * 200_000) is None
