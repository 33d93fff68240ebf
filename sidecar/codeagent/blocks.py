"""The code in a reply."""

import re
import textwrap
from typing import Final

TAGS: Final = ("python", "py")

_FENCE = re.compile(r"```([^\n`]*)\n(.*?)(```|\Z)", re.DOTALL)


def code_in(text: str, *, truncated: bool = False) -> str | None:
    """The first ```python or ```py block, else the first without a tag; None: there is none.

    A block without its closing fence counts only in a reply that was not `truncated`, since what is
    missing could be anything. An empty one is none.
    """
    untagged = None
    for fence in _FENCE.finditer(text.replace("\r\n", "\n")):
        tag, body, closing = fence[1].strip(), fence[2], fence[3]
        code = textwrap.dedent(body).strip()
        if not code or (truncated and not closing):
            continue
        if tag in TAGS:
            return code
        if not tag and untagged is None:
            untagged = code
    return untagged
