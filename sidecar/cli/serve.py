"""`sidecar serve`: run the sidecar."""

import asyncio
import faulthandler
import json
import logging
import sys
from collections.abc import Mapping

import click

from sidecar.cli.options import config_option, configured, fail, sets
from sidecar.cli.streams import OutputLost, drop_output
from sidecar.config.keys import Config

logger = logging.getLogger(__name__)

UNABLE = 1
"""Exit code when an address or a file cannot be had."""


class JsonLines(logging.Formatter):
    """A log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """The record on one line."""
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "severity": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


@click.command()
@config_option
@sets
def command(config_path: str | None, flags: Mapping[str, str]) -> None:
    """Run the sidecar until SIGTERM or Ctrl-C; prints `ready` once every address answers."""
    config = configured(config_path, flags)
    _log(config)
    # A watchdog that gave up sends SIGABRT: what the event loop's thread, which Linux gives it to,
    # was at is written to standard error. Not of all threads: those that run on meanwhile have been
    # seen to crash the writing before it came to that one.
    faulthandler.enable(all_threads=False)
    # Imported here since the flags above have to be checked first, and fast.
    from sidecar.serve import Sidecar, serve

    def ready(sidecar: Sidecar) -> None:
        try:
            click.echo("ready " + " ".join(f"{k}={v}" for k, v in sidecar.addresses.items()))
        except (OutputLost, BrokenPipeError) as fault:
            # Whoever started it has left; its agents have not.
            drop_output()
            why = getattr(fault, "strerror", None) or fault
            logger.warning("nobody takes the line `ready`, and it serves all the same: %s", why)

    try:
        code = asyncio.run(serve(config, ready=ready))
    except OSError as error:
        fail(str(error), code=UNABLE)
    sys.exit(code)


def _log(config: Config) -> None:
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(
        JsonLines()
        if config.log_format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=config.log_level.upper(), handlers=[stream])
