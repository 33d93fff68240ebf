"""Whole runs of the agent: a scripted model, and everything else real."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import AsyncClient, Directive, Kind
from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.conversation import Options, Report
from sidecar.codeagent.observation import observe
from sidecar.codeagent.result import AgentResult, StopReason
from sidecar.codeagent.runner.files import FileUnusableError
from sidecar.codeagent.runner.interpreter import Bounds, IsolationMissingError
from sidecar.codeagent.runner.isolation import WAYS
from sidecar.codeagent.runner.step import Step as Ran
from sidecar.codeagent.tools.searching import LocalIndex
from sidecar.core.answers.answer import Source
from sidecar.ports import ModelRequest, Purpose
from sidecar.review import Reviewer, Verdict, run_with_review
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Call, Fail, Say, Step
from sidecar.testing.process import SidecarProcess
from tests.codeagent.containment import after
from tests.codeagent.founding import (
    ANSWERS,
    OBSERVED,
    RUNS,
    founding_observation,
    recorded,
    said,
)
from tests.codeagent.scripted import code

pytestmark = pytest.mark.process


def verdict(word: str) -> Say:
    return Say(calls=[Call(name="verdict", input={"verdict": word, "reasoning": "So it is."})])


async def answered(*replies: Step, question: str = "6 x 7?", **options: Any) -> AgentResult:
    return await CodeAgent(Surroundings(model=FakeModel(replies))).run(question, **options)


async def stepped(scenario: Mapping[str, Any]) -> Ran:
    """The code of a scenario, run."""
    code = scenario["input"]["code"]
    bounds = Bounds(step_timeout_s=4.0 if "sleep" in code else 60.0)
    return await after(code, way=WAYS[0], bounds=bounds)


@pytest.mark.parametrize("scenario", list(recorded("step")), ids=lambda scenario: scenario["name"])
async def test_a_step_gives_the_answer_that_the_founding_agent_took(
    scenario: Mapping[str, Any],
) -> None:
    step, founding = await stepped(scenario), scenario["founding"]
    assert step.answer == ANSWERS.get(scenario["name"], founding["final_answer"])


@pytest.mark.parametrize("scenario", list(recorded("step")), ids=lambda scenario: scenario["name"])
async def test_a_step_shows_what_it_did_in_the_founding_agent_but_for_what_is_listed(
    scenario: Mapping[str, Any],
) -> None:
    step = await stepped(scenario)
    observed, same = observe(step, "nonce"), founding_observation(scenario)
    other = OBSERVED.get(scenario["name"])
    assert (observed == same) == (other is None)
    assert other is None or (other in observed and other not in same)


@pytest.mark.parametrize("scenario", list(recorded("run")), ids=lambda scenario: scenario["name"])
async def test_a_run_comes_to_what_the_founding_agents_came_to(
    scenario: Mapping[str, Any], tmp_path: Path
) -> None:
    given = scenario["input"]
    founding = {**scenario["founding"], **RUNS.get(scenario["name"], {})}
    replies = [said(reply) for reply in given["model_replies"]]
    timeout_s = given["options"].get("perStepTimeoutMs", 60_000) / 1000
    calls = 0

    def reply(_: ModelRequest) -> Step:
        nonlocal calls
        calls += 1
        return replies[min(calls, len(replies)) - 1]

    surroundings = Surroundings(
        model=FakeModel(reply),
        search=LocalIndex(tmp_path),
        options=Options(turns_max=given["options"].get("maxTurns", 20)),
        bounds=Bounds(step_timeout_s=timeout_s),
    )
    result = await CodeAgent(surroundings).run(given["question"]["question"])
    outcome = result.outcome
    if "throws" in founding:  # it ends the run in order
        assert outcome.stop_reason is StopReason.ERROR
        return
    assert outcome.answer == founding["final_answer"]
    assert outcome.turns == founding["turns"]
    assert outcome.replans == founding["replan_count"]
    assert dict(outcome.tool_calls) == founding["tool_calls_by_name"]
    assert (outcome.stop_reason is StopReason.ERROR) == bool(founding["error"])
    stopped = outcome.stop_reason in (StopReason.MAX_TURNS, StopReason.NO_CODE)
    assert stopped == bool(founding["timed_out"])
    if founding["final_answer"] != "x":
        assert [step.code for step in outcome.steps] == [s["code"] for s in founding["steps"]]


async def test_variables_and_files_serve_a_run_to_its_answer(tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text("item,price\ntea,2.5\nmilk,1.5\n")
    result = await answered(
        code("rows = read_file('sales.csv')\nprint(rows[0])"),
        code("final_answer(sum(float(price) for _, price in rows[1:]))"),
        files=[table],
        question_id="q7",
    )
    assert (result.answer, result.outcome.stop_reason) == ("4.0", StopReason.ANSWERED)
    told = result.as_json()
    assert told["question_id"] == "q7"
    assert told["tool_calls"] == {"read_file": 1}
    assert (told["input_tokens"], told["output_tokens"]) == (200, 20)
    assert told["steps"][0]["output"] == "['item', 'price']\n"
    assert told["isolation"] in ("namespaces", "bwrap")


async def test_the_question_is_never_in_the_system_prompt_and_no_key_in_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    model = FakeModel([code("import os; print(dict(os.environ))"), code("final_answer(1)")])
    result = await CodeAgent(Surroundings(model=model)).run("Who wrote XYZZY?")
    assert all("XYZZY" not in request.system for request in model.requests)
    assert all(request.purpose is Purpose.AGENT for request in model.requests)
    assert "sk-ant" not in str(result.as_json())
    assert "sk-ant" not in str(model.requests)


async def test_a_file_that_is_not_there_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(FileUnusableError):
        await answered(files=[Path("/no/such/file")])


async def test_where_nothing_contains_code_nothing_is_asked() -> None:
    model = FakeModel([code("print(1)")])
    with pytest.raises(IsolationMissingError):
        await CodeAgent(Surroundings(model=model, ways=())).run("6 x 7?")
    assert model.requests == []


async def test_without_isolation_code_runs_in_a_directory_that_is_removed() -> None:
    model = FakeModel(
        [code("import os\nopen('x', 'w').close()\nprint(os.getcwd())"), code("final_answer(1)")]
    )
    result = await CodeAgent(Surroundings(model=model, isolated=False)).run("?")
    assert (result.answer, result.isolation) == ("1", "none")
    place = Path(result.outcome.steps[0].output.strip())
    assert not await asyncio.to_thread(place.exists)


async def test_a_run_without_a_sidecar_goes_on_as_if_nobody_watched(tmp_path: Path) -> None:
    nobody = f"unix:{tmp_path}/nobody.sock"
    surroundings = Surroundings(
        model=FakeModel([code("print(1)"), code("final_answer(42)")]),
        watch=lambda session: AsyncClient(nobody, session_id=session),
    )
    assert (await CodeAgent(surroundings).run("6 x 7?")).answer == "42"


async def test_a_run_whose_history_is_too_long_is_answered_from_what_fits_of_it(
    tmp_path: Path,
) -> None:
    def reply(request: ModelRequest) -> Step:
        if request.purpose is Purpose.COMMIT:
            return Say(text="FINAL_ANSWER: 42")
        if len(request.messages) > 1:
            return Fail(status=400, message="prompt is too long")
        return code("print(42)")

    turns: dict[int, Directive] = {}

    def seen(report: Report, told: Directive) -> None:
        turns[report.turn] = told

    with SidecarProcess(tmp_path) as sidecar:
        surroundings = Surroundings(
            model=FakeModel(reply),
            watch=lambda session: AsyncClient(sidecar.agent, session_id=session, timeout_s=30.0),
            seen=seen,
        )
        result = await CodeAgent(surroundings).run("6 x 7?")
    outcome = result.outcome
    assert (outcome.answer, outcome.source) == ("42", Source.MODEL)
    assert (outcome.stop_reason, outcome.turns) == (StopReason.ERROR, 2)
    assert "prompt is too long" in outcome.error
    assert list(turns) == [1, 2, 3], "the turn that failed is reported too"
    assert all(told.fail_open_reason is None for told in turns.values())


async def test_a_run_that_loops_is_rotated_told_to_commit_reviewed_and_run_once_more(
    tmp_path: Path,
) -> None:
    asked: list[Purpose] = []

    def reply(request: ModelRequest) -> Step:
        asked.append(request.purpose)
        if request.purpose is Purpose.COMMIT:
            return Say(text="FINAL_ANSWER: 41")
        if "An earlier run on this question answered '41'" in str(request.messages[0]):
            return code("final_answer(42)")
        return code("print('same')")

    critic = FakeModel([verdict("FAIL"), verdict("PASS")])
    results = []
    with SidecarProcess(tmp_path) as sidecar:
        agent = CodeAgent(
            Surroundings(
                model=FakeModel(reply),
                watch=lambda session: AsyncClient(
                    sidecar.agent, session_id=session, timeout_s=30.0
                ),
            )
        )

        async def attempt(question: str, note: str) -> AgentResult:
            results.append(await agent.run(question, note=note))
            return results[-1]

        reviewed = await run_with_review(
            attempt, "6 x 7?", timeout_s=20.0, reviewer=Reviewer(critic)
        )
    first, second = results
    assert first.outcome.stop_reason is StopReason.COMMITTED
    assert (first.answer, first.outcome.source) == ("41", Source.MODEL)
    kinds = [told.directive.kind for told in first.outcome.told]
    assert kinds[0] is Kind.ROTATE and kinds[-1] is Kind.COMMIT
    assert first.outcome.told[-1].signal == "loop"
    assert first.outcome.turns < 20
    assert (reviewed.answer, second.outcome.stop_reason) == ("42", StopReason.ANSWERED)
    assert [each.verdict for each in reviewed.reviews] == [Verdict.FAIL, Verdict.PASS]
    assert asked.count(Purpose.COMMIT) == 1
