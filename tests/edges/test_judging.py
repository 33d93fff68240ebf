"""Which runs are judged, when, and what becomes of a verdict: beside every decision."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sidecar.adapters.convert import line_out
from sidecar.adapters.run_file import Line
from sidecar.config.models import JudgeSettings
from sidecar.core.breaker import Breaker, State
from sidecar.core.directive import Cause, Commit, Decision, Proceed, Rotate
from sidecar.core.episode import Episode
from sidecar.core.opening import Closing, Continue, Opening, Reset, Verdict
from sidecar.core.run_state import RunState
from sidecar.core.texts import TurnTexts
from sidecar.core.turn import ToolCall, Turn
from sidecar.health import Component, Status
from sidecar.judging.judge import Judge
from sidecar.judging.schedule import AT_A_TIME, BOUNDED, FAILED, STALE, Judging, is_due
from sidecar.kept_texts import KeptTexts
from sidecar.models.metered import MeteredModel
from sidecar.models.purse import Allowance, Purse, PurseBounds
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.ports import Model, ModelReply, ModelRequest, Purpose
from sidecar.presets import preset, watching_judges
from sidecar.replaying.recorded import Problem, Replay
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import Fail, FakeClock, FakeModel, MemoryRecorder, MemoryStore
from sidecar.testing.recorder import WasJudged, WasLost
from tests.edges.around_sessions import Listening
from tests.edges.models import PATIENT_S
from tests.edges.test_judge import says

SETTINGS = JudgeSettings(model="m", every_turns=5, from_turn=8)

POLICIES = {
    "default": watching_judges(preset("default")),
    "deaf": preset("gaia"),
}


def circling(since: int = 2) -> Any:
    return says(
        evidence=[{"turn": 3, "quote": "visit_webpage"}, {"turn": 5, "quote": "visit_webpage"}],
        since_turn=since,
    )


@dataclass(slots=True)
class Judged:
    """Sessions under a judge."""

    model: Model
    settings: JudgeSettings = SETTINGS
    bounds: SessionBounds = field(default_factory=SessionBounds)
    clock: FakeClock = field(default_factory=FakeClock)
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    texts: KeptTexts = field(default_factory=KeptTexts)
    store: MemoryStore = field(init=False)
    sessions: Sessions = field(init=False)
    judging: Judging = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lost=self.recorder.lost)
        self.start()

    def start(self) -> None:
        """Begin; again: a restart."""
        self.sessions = Sessions(
            policies=Policies(by_name=POLICIES, default="default"),
            bounds=self.bounds,
            clock=self.clock,
            journal=self.store,
            snapshots=self.store,
            recorder=self.recorder,
            keeper=NoKeeper(),
        )
        self.judging = Judging(
            self.sessions,
            Judge(self.model),
            settings=self.settings,
            journal=self.store,
            texts=self.texts,
            timeout_s=20.0,
            recorder=self.recorder,
        )

    def open(self, session_id: str = "s", **facts: Any) -> Session:
        session, _ = self.sessions.open(Opening(session_id=session_id, **facts), None)
        return session

    def turn(self, session: Session, **facts: Any) -> Decision:
        sequence = session.last_sequence + 1
        digest = sequence.to_bytes(8, "little")
        call = ToolCall(name="visit_webpage", call=digest, result=digest)
        turn = Turn(sequence=sequence, tool_calls=(call,), **facts)
        return self.sessions.turn(session, turn, sequence.to_bytes(8))

    async def turns(self, session: Session, count: int) -> list[Decision]:
        """So many turns, with every verdict there before the next."""
        decisions = []
        for _ in range(count):
            decisions.append(self.turn(session))
            await self.judging.settled()
        return decisions

    @property
    def outcomes(self) -> list[str]:
        return [record.verdict for record in self.recorder.of(WasJudged)]


@asynccontextmanager
async def judged(model: Model, **facts: Any) -> AsyncIterator[Judged]:
    around = Judged(model, **facts)
    try:
        yield around
    finally:
        await around.judging.close()


HEALTHY, TRIPPED = Breaker(), Breaker(state=State.TRIPPED)


@pytest.mark.parametrize(
    ("why", "sequence", "asked_at", "breaker", "episodes", "due"),
    [
        ("too short", 7, 0, HEALTHY, (), False),
        ("long enough", 8, 0, HEALTHY, (), True),
        ("judged lately", 12, 8, HEALTHY, (), False),
        ("judged so many turns ago", 13, 8, HEALTHY, (), True),
        ("short, but something is wrong", 5, 0, TRIPPED, (), True),
        ("short, but a warning was lately", 5, 0, HEALTHY, (Episode(actor="", signal="x"),), True),
        ("too short for any verdict", 4, 0, TRIPPED, (), False),
    ],
)
def test_a_run_is_due_when_it_is_long_or_near_a_warning_and_was_not_judged_lately(
    why: str, sequence: int, asked_at: int, breaker: Breaker, episodes: Any, due: bool
) -> None:
    state = RunState(sequence=sequence, breaker=breaker, episodes=episodes)
    assert is_due(state, asked_at, SETTINGS) is due, why
    assert is_due(replace(state, judged_at=asked_at), 0, SETTINGS) is due, why


async def test_the_first_verdict_rotates_the_second_commits_and_both_are_journalled() -> None:
    async with judged(FakeModel([circling(), circling()])) as around:
        session = around.open()
        decisions = await around.turns(session, 14)
        told = {each.sequence: type(each.directive) for each in decisions if each.signal}
        assert told == {9: Rotate, 14: Commit}
        assert {each.signal for each in decisions if each.signal} == {"circling"}
        assert around.outcomes == ["circling", "circling"]
        kept = [
            entry
            for entry in around.store.read("s")
            if isinstance(entry.event, Verdict) and entry.decision is not None
        ]
        assert [entry.decision.sequence for entry in kept if entry.decision] == [8, 13]
        assert {entry.decision.cause for entry in kept if entry.decision} == {Cause.JUDGE}


@pytest.mark.parametrize("word", ["by a command", "in a turn"])
async def test_a_run_that_was_told_to_end_is_judged_no_more_until_a_person_speaks(
    word: str,
) -> None:
    model = FakeModel([circling()] * 3)
    async with judged(model) as around:
        session = around.open()
        decisions = await around.turns(session, 40)
        told = {each.sequence: type(each.directive) for each in decisions if each.signal}
        assert told == {9: Rotate, 14: Commit}
        assert len(model.requests) == 2
        if word == "by a command":
            around.sessions.command(session, Continue(reason="go on"))
        around.turn(session, user_input=word == "in a turn")
        await around.judging.settled()
        assert len(model.requests) == 3


async def test_a_judge_that_asks_for_an_answer_leaves_a_call_for_it() -> None:
    model, clock = FakeModel([circling()] * 9), FakeClock()
    few = Allowance(calls_max=3, tokens_max=1_000, cost_usd_max=1.0)
    purse = Purse(PurseBounds(session=few), clock=clock)
    metered = MeteredModel(model, purse=purse, recorder=MemoryRecorder(), clock=clock)
    async with judged(metered) as around:
        session = around.open()
        decisions = await around.turns(session, 16)
        assert any(isinstance(each.directive, Commit) for each in decisions)
        with purse.call(session.id, Purpose.COMMIT):
            pass


async def test_a_replay_of_the_journal_decides_the_same_without_any_judge() -> None:
    async with judged(FakeModel([circling(), circling()])) as around:
        session = around.open()
        decisions = await around.turns(session, 16)
        lines, last = [], 0
        for number, entry in enumerate(around.store.read("s"), start=1):
            lines.append(Line(number=number, message=line_out(entry, after_sequence=last)))
            last = entry.event.sequence if isinstance(entry.event, Turn) else last
        replay = Replay("s", Policies(by_name=POLICIES))
        answers = [each for each in replay.run(lines) if not isinstance(each, Problem)]
        found = [each.decision for each in answers if each.HasField("decision")]
        assert [each.decision_id for each in found] == [each.decision_id for each in decisions]
        assert [_directive(each) for each in found] == [
            type(each.directive).__name__.lower() for each in decisions
        ]


def _directive(decision: Any) -> str:
    return decision.WhichOneof("directive") or "proceed"


async def test_a_restart_keeps_the_row_and_when_the_run_was_judged() -> None:
    model = FakeModel([circling(), circling()])
    async with judged(model) as around:
        await around.turns(around.open(), 8)
        assert around.outcomes == ["circling"]
        await around.judging.close()
        around.start()
        session = around.open()
        decisions = await around.turns(session, 5)
        assert isinstance(decisions[0].directive, Rotate)
        assert len(model.requests) == 2, "not again on the same turns, but five turns later"
        assert isinstance(around.turn(session).directive, Commit)


class Silent(FakeModel):
    """A model that never comes back."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked = asyncio.Event()

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_no_decision_waits_for_a_judge_and_a_run_is_asked_about_once_at_a_time() -> None:
    model = Silent()
    async with judged(model) as around:
        session = around.open()
        for _ in range(8):
            around.turn(session)
        await model.asked.wait()
        for _ in range(40):
            assert isinstance(around.turn(session).directive, Proceed)
            await asyncio.sleep(0)
        assert len(model.requests) == 1


async def test_so_many_runs_are_judged_at_a_time_and_the_others_after_a_later_turn() -> None:
    model = Silent()
    async with judged(model) as around:
        sessions = [around.open(str(number)) for number in range(AT_A_TIME + 2)]
        for session in sessions:
            for _ in range(8):
                around.turn(session)
        async with asyncio.timeout(PATIENT_S):
            while len(model.requests) < AT_A_TIME:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
        assert [each.session_id for each in model.requests] == ["0", "1"]


async def test_a_policy_that_does_not_watch_for_it_costs_nothing() -> None:
    model = FakeModel([])
    async with judged(model) as around:
        await around.turns(around.open(policy="deaf"), 20)
        assert model.requests == []


async def test_a_model_that_fails_changes_nothing_and_is_asked_again_when_it_is_due() -> None:
    model = FakeModel([Fail(status=500), circling()])
    async with judged(model) as around:
        decisions = await around.turns(around.open(), 14)
        assert around.outcomes == [FAILED, "circling"]
        assert [each.sequence for each in decisions if each.signal] == [14]


async def test_at_a_bound_no_model_is_asked_and_the_run_goes_on() -> None:
    model = FakeModel([circling()])
    clock, recorder = FakeClock(), MemoryRecorder()
    none = Allowance(calls_max=0, tokens_max=0, cost_usd_max=0.0)
    metered = MeteredModel(
        model, purse=Purse(PurseBounds(all=none), clock=clock), recorder=recorder, clock=clock
    )
    async with judged(metered) as around:
        await around.turns(around.open(), 9)
        assert around.outcomes == [BOUNDED]
        assert model.requests == []


async def test_a_model_s_component_says_how_the_last_call_went() -> None:
    model = FakeModel([Fail(status=401), circling()])
    clock = FakeClock()
    component = Component("model", clock)
    metered = MeteredModel(
        model,
        purse=Purse(PurseBounds(), clock=clock),
        recorder=MemoryRecorder(),
        clock=clock,
        component=component,
    )
    async with judged(metered) as around:
        session = around.open()
        await around.turns(session, 8)
        failed = component.condition
        await around.turns(session, 6)
        assert (failed.status, component.condition.status) == (Status.RECOVERABLE, Status.OK)
        assert failed.error == f"{model.name}: unauthenticated: scripted"


async def test_a_verdict_on_a_run_that_was_reset_or_closed_meanwhile_is_not_heard() -> None:
    for after in (Reset(reason="anew"), Closing()):
        async with judged(FakeModel([circling()])) as around:
            session = around.open()
            for _ in range(8):
                around.turn(session)
            if isinstance(after, Reset):
                around.sessions.command(session, after)
            else:
                around.sessions.close(session, after)
            await around.judging.settled()
            assert around.outcomes == [STALE]
            assert not [e for e in around.store.read("s") if isinstance(e.event, Verdict)]


async def test_turns_that_come_meanwhile_do_not_make_a_verdict_stale() -> None:
    async with judged(FakeModel([circling()])) as around:
        session = around.open()
        for _ in range(10):
            around.turn(session)
        await around.judging.settled()
        assert around.outcomes == ["circling"]
        assert isinstance(around.turn(session).directive, Rotate)


async def test_an_agent_hears_nothing_of_a_verdict_and_a_wait_goes_on() -> None:
    async with judged(FakeModel([circling()])) as around:
        listening = Listening()
        session, _ = around.sessions.open(Opening(session_id="s"), listening)
        for _ in range(8):
            around.turn(session)
        session.waits_until_s = 99.0
        await around.judging.settled()
        assert around.outcomes == ["circling"]
        assert (listening.heard, session.waits_until_s, session.unasked) == ([], 99.0, None)


async def test_the_judge_is_shown_the_texts_that_may_be_kept() -> None:
    model = FakeModel([circling(), circling()])
    texts = KeptTexts(10_000)
    texts.keep("s", TurnTexts(sequence=4, said="nothing new here"))
    async with judged(model, texts=texts) as around:
        await around.turns(around.open(), 8)
        await around.turns(around.open("t"), 8)
        first, second = (str(request.messages) for request in model.requests)
        assert "nothing new here" in first
        assert "nothing new here" not in second
        assert "names, labels and counts only" in second


async def test_the_sessions_that_were_judged_are_remembered_as_far_as_sessions_are_held() -> None:
    model = FakeModel([circling()] * 9)
    async with judged(model, bounds=SessionBounds(sessions_max=2)) as around:
        for name in "abcd":
            await around.turns(around.open(name), 8)
        assert len(model.requests) == 4
        assert len(around.judging._asked_at) == 2


async def test_a_fault_of_ours_is_counted_and_harms_no_run() -> None:
    class Broken(FakeModel):
        async def ask(self, request: ModelRequest) -> ModelReply:
            raise ValueError("broken")

    async with judged(Broken([])) as around:
        decisions = await around.turns(around.open(), 9)
        assert len(decisions) == 9
        losses = around.recorder.of(WasLost)
        assert [(loss.what, loss.reason) for loss in losses] == [("verdict", "fault")]
