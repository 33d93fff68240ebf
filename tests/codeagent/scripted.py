"""Replies of a model that writes code."""

from sidecar.testing.model_script import Say


def code(text: str) -> Say:
    """One with this code in it, at the same cost each time."""
    return Say(text=f"```python\n{text}\n```", input_tokens=100, output_tokens=10)
