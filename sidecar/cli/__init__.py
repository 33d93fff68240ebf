"""The `sidecar` command."""

from sidecar.cli.main import main

__all__ = ["main"]
