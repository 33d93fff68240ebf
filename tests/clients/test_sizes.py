"""How long the clients are: who copies one reads it first."""

import pytest

from tests.clients.languages import LANGUAGES, code_lines

CODE_LINES = {"go": 698, "typescript": 587, "java": 807}
"""What they have now; one that grows does so here too."""
FILE_LINES_MAX = 400


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_does_not_grow_unnoticed(language: str) -> None:
    texts = LANGUAGES[language].texts()

    assert 0 < sum(map(code_lines, texts)) <= CODE_LINES[language]
    assert max(text.count("\n") for text in texts) <= FILE_LINES_MAX


SOURCE = """\
/* What it is,
   in two lines. */
package client;

import java.util.List;
import {
  Client,
} from "client";
import (
\t"io/fs"
)
import "os"

// A comment.
int one() { // one more
  return 1; /* the first */
}
"""


def test_comments_imports_and_lone_brackets_are_no_code() -> None:
    assert code_lines(SOURCE) == 2
