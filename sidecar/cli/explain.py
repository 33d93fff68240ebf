"""`sidecar explain`: what was decided on a run, and why."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from sidecar.adapters.convert import session_out
from sidecar.adapters.run_file import STANDARD_INPUT, read_lines
from sidecar.cli.options import config_option, configured, fail, policies_of
from sidecar.cli.show import console, show
from sidecar.explaining import Explanation, explain, markdown
from sidecar.replaying import Problem, Replay, records
from sidecar.v1 import session_service_pb2 as admin_pb

TURNS_MAX = 1000


@click.command()
@click.argument("session")
@click.option("--policy", default="", help="For a run file: this policy instead of its own.")
@click.option("--admin", metavar="ADDRESS", help="Admin address of the sidecar.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
@config_option
def command(
    session: str, policy: str, admin: str | None, form: str, config_path: str | None
) -> None:
    """Explain SESSION: a session of a live sidecar, or a run file (`-`: standard input)."""
    is_file = session == STANDARD_INPUT or Path(session).is_file()
    explanation = (
        _from_file(session, policy, config_path)
        if is_file
        else _from_sidecar(session, admin, config_path)
    )
    match form:
        case "json":
            click.echo(json.dumps(asdict(explanation), indent=2, ensure_ascii=False))
        case "markdown":
            click.echo(markdown(explanation), nl=False)
        case _:
            console().print(show(explanation))


def _from_file(source: str, policy: str, config_path: str | None) -> Explanation:
    config = configured(config_path)
    policies = policies_of(config)
    if policy and policy not in policies.by_name:
        fail(f"--policy {policy}: no such policy; there are {', '.join(sorted(policies.by_name))}")
    replay = Replay.under(config, source, policies, policy=policy)
    for answer in replay.run(read_lines(source)):
        match answer:
            case Problem(number=number, text=text):
                fail(f"{source}:{number}: {text}", code=1)
            case _:
                pass
    if replay.session is None:
        fail(f'{source}: nothing in it; a run file begins with {{"open": ...}}', code=1)
    return explain(session_out(replay.session), records(replay.entries))


def _from_sidecar(session_id: str, admin: str | None, config_path: str | None) -> Explanation:
    from sidecar.cli.control import control

    with control(admin, config_path) as service:
        request = admin_pb.GetSessionRequest(session_id=session_id, turns_max=TURNS_MAX)
        found: admin_pb.GetSessionResponse = service.GetSession(request)
    return explain(found.session, found.turns)
