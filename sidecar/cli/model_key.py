"""The key of the model that a command asks by itself."""

import os
from pathlib import Path

from sidecar.cli.options import fail
from sidecar.config import Config


def model_key(config: Config) -> str:
    """The key in `model_key_file`; empty: the SDK finds one in its variables. Ends the process
    where there is none."""
    from sidecar.adapters.anthropic_model import has_key

    path = config.model_key_file
    try:
        key = Path(path).read_text("utf-8").strip() if path else ""
    except OSError as error:
        fail(f"model_key_file: {path}: {error.strerror}")
    if not has_key(key, os.environ):
        fail("no model is configured: set ANTHROPIC_API_KEY, or model_key_file")
    return key
