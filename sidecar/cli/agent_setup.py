"""What the commands of `sidecar agent` have in common: their options, and what they work with."""

import asyncio
import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from sidecar.cli.agent_watch import check_address, check_watched
from sidecar.cli.model_key import model_key
from sidecar.cli.options import config_option, configured, fail, policies_of
from sidecar.config.checks import check_asking
from sidecar.config.keys import Config
from sidecar.printable import printable

if TYPE_CHECKING:
    from sidecar.adapters.anthropic_model import AnthropicModel
    from sidecar.client import Directive
    from sidecar.codeagent.agent import Surroundings
    from sidecar.codeagent.bench import Row, Side
    from sidecar.codeagent.conversation import Report
    from sidecar.codeagent.gaia import Question
    from sidecar.codeagent.instruments import Instruments
    from sidecar.codeagent.result import AgentResult
    from sidecar.codeagent.reviewed import ReviewedResult
    from sidecar.codeagent.smoke import Checked
    from sidecar.codeagent.tools.pages import Pages
    from sidecar.codeagent.tools.searching import Search
    from sidecar.ports import Model

Seen: TypeAlias = "Callable[[Report, Directive], None]"
"""Gets each turn of a run as it ends, with what the sidecar said to it."""

BY_MODEL: Final = "model"
"""In place of where to search: the model's provider does."""

OTEL: Final = "OTEL_"
"""How the variables begin by which OpenTelemetry is set up."""


def web_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options by which code gets at the web."""
    options = (
        click.option("--web", is_flag=True, help="Let code read pages of the public internet."),
        click.option(
            "--search",
            metavar="DIR|URL|brave|model",
            help="Where to search: a folder of pages, a SearXNG, Brave ($BRAVE_API_KEY), or by "
            "the model's own search.",
        ),
        click.option(
            "--allow-network",
            "networks",
            multiple=True,
            metavar="CIDR",
            help="Addresses that pages may come from though they are not public; repeatable.",
        ),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), function)


def agent_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that every run has."""
    options = (
        click.option("--watch", metavar="ADDRESS", help="Of the sidecar (default: the user's)."),
        click.option("--model", metavar="NAME", help="Model to ask (default: that of the config)."),
        click.option("--policy", default="", metavar="NAME", help="Policy that it is watched by."),
        click.option(
            "--max-turns", type=click.IntRange(1, 200), default=20, show_default=True, metavar="N"
        ),
        click.option(
            "--unsafe-no-isolation",
            is_flag=True,
            help="Run the model's code without containment: it can do what you can.",
        ),
        config_option,
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), function)


class RunHaltedError(Exception):
    """A run was told to halt, so that its question is not asked once more."""


class Setup:
    """What one command works with."""

    def __init__(self, config: Config, options: dict[str, Any], instruments: "Instruments") -> None:
        from sidecar.codeagent.bounded_model import purse_by_day
        from sidecar.serving.answering import purse_bounds

        self._config = config
        self._purse = purse_by_day(purse_bounds(config))
        self._options = options
        self._instruments = instruments
        self._models: list[AnthropicModel] = []

    async def ask(self, question: str, files: tuple[Path, ...], *, seen: "Seen") -> "AgentResult":
        """One question; `seen` gets each turn as it ends."""
        from sidecar.codeagent.agent import CodeAgent

        surroundings = replace(self._surroundings(), seen=seen)
        return await CodeAgent(surroundings).run(question, files=files)

    async def ask_reviewed(
        self, question: str, files: tuple[Path, ...], *, seen: "Seen"
    ) -> "ReviewedResult":
        """As `ask`, with a second opinion on the answer."""
        from sidecar.codeagent.agent import CodeAgent
        from sidecar.codeagent.instrumented import InstrumentedModel
        from sidecar.codeagent.instruments import REVIEWED
        from sidecar.codeagent.result import StopReason
        from sidecar.codeagent.reviewed import ReviewedResult
        from sidecar.review import Reviewer, run_with_review

        agent = CodeAgent(replace(self._surroundings(), seen=seen))

        attempts: list[AgentResult] = []

        async def attempt(asked: str, note: str) -> "AgentResult":
            if attempts and attempts[-1].outcome.stop_reason is StopReason.HALTED:
                raise RunHaltedError  # whoever halts a run wants no other in its place
            attempts.append(await agent.run(asked, files=files, note=note))
            return attempts[-1]

        critic = InstrumentedModel(self._model(self._config.review_model), self._instruments)
        with self._instruments.workflow(REVIEWED) as workflow:
            reviewed = await run_with_review(
                attempt,
                question,
                timeout_s=self._config.model_timeout_s,
                reviewer=Reviewer(critic),
                session_id="review",
            )
            for review in reviewed.reviews:
                self._instruments.reviewed(workflow, review)
                click.echo(f"review: {review.verdict}: {printable(review.reasoning)}", err=True)
        return ReviewedResult(attempts=tuple(attempts), reviewed=reviewed)

    async def smoke(self, done: "Callable[[Checked], None]") -> "Sequence[Checked]":
        """The five; `done` gets each as it comes."""
        from sidecar.codeagent.smoke import smoke

        with tempfile.TemporaryDirectory(prefix="sidecar-smoke-") as folder:
            return await smoke(self._surroundings(), Path(folder), done=done)

    async def bench(
        self,
        questions: "Sequence[Question]",
        sides: "Sequence[Side]",
        *,
        results: Path,
        concurrency: int,
        begun: "Callable[[int], None]",
        done: "Callable[[Row], None]",
    ) -> "list[Row]":
        """Many questions, on each of the sides. Without a sidecar for those that it is to watch,
        the process ends before the first."""
        from sidecar.codeagent.agent import CodeAgent
        from sidecar.codeagent.bench import Settings, Side, bench

        options = self._options
        watched = self._surroundings()
        settings = Settings(
            model=watched.model.name,
            policy=options["policy"],
            turns_max=watched.options.turns_max,
            search=options["search"] or "",
            web=options["web"],
            networks=",".join(options["networks"]),
            isolated=watched.isolated,
        )

        def begin(to_come: "Sequence[Side]") -> None:
            if Side.WITH in to_come:
                check_watched(options["watch"])
            begun(len(to_come))

        surroundings = {Side.WITH: watched, Side.WITHOUT: replace(watched, watch=None)}
        agents = {side: CodeAgent(surroundings[side]) for side in sides}
        return await bench(
            agents,
            questions,
            settings=settings,
            results=results,
            concurrency=concurrency,
            begun=begin,
            done=done,
        )

    async def close(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.close()

    def _surroundings(self) -> "Surroundings":
        from sidecar.client import AsyncClient
        from sidecar.codeagent.agent import AGENT_NAME, Surroundings
        from sidecar.codeagent.conversation import Options
        from sidecar.codeagent.tools.model_search import ModelSearch
        from sidecar.codeagent.tools.pages import WebPages
        from sidecar.codeagent.tools.searching import NoSearch

        options = self._options
        check_address(options["watch"])
        model = self._model(options["model"] or self._config.model)
        policy = policies_of(self._config, options["policy"]).named(options["policy"])
        search = _search(options["search"]) or NoSearch()
        networks = _networks(options.get("networks", ()))
        if networks and not options["web"]:
            fail("--allow-network: it needs --web")
        web = WebPages(opened=networks) if options["web"] else None

        def watch(session_id: str) -> AsyncClient:
            return AsyncClient(
                options["watch"],
                agent_name=AGENT_NAME,
                model=model.name,
                session_id=session_id,
                policy=options["policy"],
                max_turns=options["max_turns"],
            )

        return Surroundings(
            model=model,
            search=search,
            search_of_run=ModelSearch if options["search"] == BY_MODEL else None,
            pages=_pages(search, web),
            watch=watch,
            isolated=not options["unsafe_no_isolation"],
            options=Options(turns_max=options["max_turns"], answer_form=policy.answer_form),
            model_timeout_s=self._config.model_timeout_s,
            instruments=self._instruments,
        )

    def _model(self, name: str) -> "Model":
        from sidecar.adapters.anthropic_model import AnthropicModel
        from sidecar.codeagent.bounded_model import BoundedModel
        from sidecar.serving.answering import model_settings

        settings = model_settings(self._config, name, model_key(self._config))
        self._models.append(AnthropicModel(settings))
        return BoundedModel(self._models[-1], self._purse)


def run(work: Callable[[Setup], Any], options: dict[str, Any]) -> Any:
    """Do the work; what the caller has to change ends the process with exit code 2 and a line."""
    from sidecar.codeagent.runner.interpreter import IsolationMissingError

    config = configured(options.pop("config_path"), checked=check_asking)

    async def worked(instruments: "Instruments") -> Any:
        setup = Setup(config, options, instruments)
        try:
            return await work(setup)
        finally:
            await setup.close()

    try:
        with _instruments() as instruments:
            return asyncio.run(worked(instruments))
    except IsolationMissingError as error:
        fail(f"code cannot be contained here ({error}); see --unsafe-no-isolation in docs/agent.md")


@contextlib.contextmanager
def _instruments() -> "Iterator[Instruments]":
    """What shows the runs, as the OTEL_* variables ask for; what went wrong is said at the end."""
    from sidecar.codeagent.instruments import SCOPE, Instruments

    if not any(name.startswith(OTEL) for name in os.environ):
        yield Instruments()
        return
    # Imported when asked for: half a second that a run without a collector need not spend.
    from sidecar.adapters.telemetry.agent_export import exported
    from sidecar.version import VERSION

    def say(problem: str) -> None:
        click.echo(f"telemetry: {problem}", err=True)

    with exported(SCOPE, VERSION, say=say) as to:
        yield Instruments(to.tracer, to.meter)


def _search(where: str | None) -> "Search | None":
    from sidecar.codeagent.tools.searching import Brave, LocalIndex, SearxNG

    if not where or where == BY_MODEL:
        return None
    if where == "brave":
        key = os.environ.get("BRAVE_API_KEY", "")
        return Brave(key) if key else fail("--search brave: BRAVE_API_KEY is not set")
    if where.startswith(("http://", "https://")):
        return SearxNG(where)
    if not Path(where).is_dir():
        fail(f"--search {where}: no folder, no address that begins with http, not brave, not model")
    return LocalIndex(Path(where))


def _pages(search: "Search", web: "Pages | None") -> "Pages":
    """A folder that is searched has its pages whether there is a web or not."""
    from sidecar.codeagent.tools.folder_and_web import FolderAndWeb
    from sidecar.codeagent.tools.pages import NoPages
    from sidecar.codeagent.tools.searching import LocalIndex

    if not isinstance(search, LocalIndex):
        return web or NoPages()
    return search if web is None else FolderAndWeb(search, web)


def _networks(texts: tuple[str, ...]) -> list[Any]:
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        fail(f"--allow-network: {error}")
