"""The key of the model that a command asks by itself."""

import os
from pathlib import Path

from sidecar.cli.options import fail
from sidecar.config.checks import check_file
from sidecar.config.given import ConfigError
from sidecar.config.keys import Config
from sidecar.models.access import access_fault, has_key


def model_key(config: Config) -> str:
    """The key in `model_key_file`; empty: the SDK finds one in its variables. Ends the process
    where there is none."""
    path = config.model_key_file
    try:
        check_file("model_key_file", path, "")
    except ConfigError as error:
        fail(str(error))
    key = Path(path).read_text("utf-8").strip() if path else ""
    if not has_key(key, os.environ):
        fail("no model is configured: set ANTHROPIC_API_KEY, or model_key_file")
    if fault := access_fault(key, config.model_base_url, os.environ):
        fail(fault)
    return key
