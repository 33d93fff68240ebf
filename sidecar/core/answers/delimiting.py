"""What others wrote, on its way to a model: JSON data between two lines that it cannot imitate."""

import json
from collections.abc import Mapping
from typing import Any


def delimited(data: Mapping[str, Any], nonce: str) -> str:
    """Data as JSON between two lines; with `<` written otherwise nothing in it can be either."""
    written = json.dumps(data).replace("<", "\\u003c")
    return f"<data-{nonce}>\n{written}\n</data-{nonce}>"
