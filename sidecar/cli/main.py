"""The `sidecar` command: a table of subcommands, each imported when it is called.

What a subcommand imports (grpc, OpenTelemetry, rich) takes up to half a second, which `--help` and
shell completion should not cost.
"""

import importlib
import os
import signal
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import click

from sidecar.cli.streams import standard_streams
from sidecar.version import VERSION

INTERRUPTED: Final = 128 + signal.SIGINT
"""Exit code after Ctrl-C, as a shell has it: 1 is what a command says of what it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where a subcommand is, and its line in the help."""

    module: str
    help: str


COMMANDS: Final = MappingProxyType(
    {
        "serve": Entry(module="serve", help="Run the sidecar."),
        "demo": Entry(module="demo", help="Run the sidecar with a fleet of small agents."),
        "replay": Entry(module="replay", help="Decide on recorded runs."),
        "eval": Entry(
            module="eval", help="Measure how often detectors are right on recorded runs."
        ),
        "tune": Entry(module="tune", help="Choose a policy's thresholds on recorded runs."),
        "datasets": Entry(
            module="datasets", help="Bring recorded runs of other tools into the form of run files."
        ),
        "explain": Entry(module="explain", help="Say what was decided on a run, and why."),
        "sessions": Entry(module="sessions", help="Show and steer the sessions of a sidecar."),
        "agent": Entry(module="agent", help="Answer a question with the reference agent."),
        "mcp": Entry(module="mcp", help="Report turns as an MCP server."),
        "answer": Entry(module="answer", help="Find an agent's final answer in text."),
        "journal": Entry(module="journal", help="Write a session's journal as a run file."),
        "check-config": Entry(module="check_config", help="Show every effective setting."),
        "conformance": Entry(
            module="conformance", help="Hold a client, or a service, to the protocol."
        ),
        "health": Entry(module="health", help="Ask a sidecar whether it serves."),
    }
)

ASKING: Final = frozenset({"replay", "explain", "sessions", "health", "mcp"})
"""Commands that ask a sidecar."""


class Commands(click.Group):
    """A group that imports a subcommand when it is called."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """The way in, of every command."""
        with standard_streams():
            return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        if cmd_name in ASKING:
            # What gRPC logs to standard error of a call that failed is said there in one line.
            # It reads this when it is imported.
            os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        command: click.Command = importlib.import_module(f"sidecar.cli.{entry.module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand; where there is none of that name, the nearest is offered."""
        if args[0] not in COMMANDS:
            _offer_nearest(ctx, args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _offer_nearest(ctx: click.Context, name: str) -> None:
    # Imported here since only a mistake needs it.
    from difflib import get_close_matches

    for near in get_close_matches(name, COMMANDS, n=1):
        ctx.fail(f"No such command {name!r}. Did you mean {near!r}?")


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="sidecar")
def main(**_: Any) -> None:
    """Notices when an agent is stuck, and says so in time."""
