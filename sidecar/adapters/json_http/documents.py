"""The descriptions of what is served (OpenAPI 3.1), as scripts/render_openapi.py wrote them."""

from importlib.resources import files
from typing import Final

AGENT: Final = "openapi.agent.json"
CONTROL: Final = "openapi.admin.json"


def agent_document() -> bytes:
    """Of what agents are served."""
    return _document(AGENT)


def control_document() -> bytes:
    """Of what operators are served."""
    return _document(CONTROL)


def _document(name: str) -> bytes:
    # Read when it is asked for, which is seldom, and not kept.
    return files("sidecar.adapters.json_http").joinpath(name).read_bytes()
