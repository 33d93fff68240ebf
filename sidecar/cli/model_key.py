"""The key of the model that a command asks by itself."""

import os
from pathlib import Path

from sidecar.cli.options import fail
from sidecar.config import Config
from sidecar.model_access import KEY_EXPECTED, access_fault, has_key, is_key


def model_key(config: Config) -> str:
    """The key in `model_key_file`; empty: the SDK finds one in its variables. Ends the process
    where there is none."""
    path = config.model_key_file
    try:
        key = Path(path).read_text("utf-8").strip() if path else ""
    except OSError as error:
        fail(f"model_key_file: {path}: {error.strerror}")
    if not has_key(key, os.environ):
        fail("no model is configured: set ANTHROPIC_API_KEY, or model_key_file")
    if not is_key(key):
        fail(f"model_key_file: {path}: it must hold a key of {KEY_EXPECTED}")
    if fault := access_fault(path, config.model_base_url, os.environ):
        fail(fault)
    return key
