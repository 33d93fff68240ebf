"""Models to ask, and what to ask them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

from sidecar.adapters.anthropic_model import AnthropicModel, AnthropicSettings
from sidecar.ports import ModelRequest, Purpose, Tool
from sidecar.testing import FakeAnthropicServer
from sidecar.testing.model_script import Step

PATIENT_S: Final = 20.0
"""More than anything on loopback takes."""

VERDICT: Final = Tool(
    name="verdict",
    description="Says it.",
    schema={
        "type": "object",
        "properties": {"verdict": {"type": "string"}},
        "required": ["verdict"],
        "additionalProperties": False,
    },
)


def asked(text: str = "What is the capital of France?", **fields: Any) -> ModelRequest:
    """A request; `fields` are those of ModelRequest."""
    plain: dict[str, Any] = {
        "messages": [{"role": "user", "content": text}],
        "output_tokens_max": 100,
        "timeout_s": PATIENT_S,
        "purpose": Purpose.COMMIT,
    }
    return ModelRequest(**{**plain, **fields})


@asynccontextmanager
async def real_model(
    steps: Iterable[Step], **settings: Any
) -> AsyncIterator[tuple[AnthropicModel, FakeAnthropicServer]]:
    """The real model over the real SDK, speaking to a scripted server."""
    with FakeAnthropicServer(steps) as server:
        reached = {"base_url": server.base_url, "api_key": server.key}
        model = AnthropicModel(AnthropicSettings(**{**reached, **settings}))
        try:
            yield model, server
        finally:
            await model.close()
