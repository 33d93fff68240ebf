"""A run is a fold: turns in, decisions out. Start reading here.

`Run.advance` takes the run so far and one more turn, and gives the run after it and a decision.
Nothing else decides anything: not the wire, not the store, not the clock. So the same turns under
the same policy give the same decisions on any machine, and a replay, a resume after a crash and a
what-if over thresholds are one and the same thing.

A turn is folded in four steps: what the run had seen (`novelty`), what each signal makes of it
(`sidecar.signals`), where that leads (`breaker`), and what the agent is told (`directing`).
"""

from typing import Any

from sidecar.core import snapshot, wording
from sidecar.core.breaker import Breaker, State
from sidecar.core.detectors import Detectors, Plan
from sidecar.core.directing import Director
from sidecar.core.directive import Cause, Decision, Rejection, decision_id
from sidecar.core.episode import after_lost_turns
from sidecar.core.limits import Claims, Limits
from sidecar.core.opening import Command, Continue, Idle, Reset, Verdict
from sidecar.core.policy import Policy
from sidecar.core.reading import Reading, Severity
from sidecar.core.run_state import RunState
from sidecar.core.signal import Signal
from sidecar.core.snapshot import Json, SnapshotInvalid
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value


@value
class Run:
    """One agent's run: a policy and where it stands."""

    session_id: str
    policy: Policy
    observed: bool
    """Whether the agent is only watched: nothing reaches it, so nothing counts as seen."""
    plan: Plan
    """The policy's signals, under the limits of this run."""
    state: RunState
    detectors: Detectors

    @staticmethod
    def start(
        session_id: str,
        policy: Policy,
        *,
        limits: Limits | None = None,
        asked: Limits | None = None,
        observed: bool = False,
    ) -> "Run":
        """A new run, under the limits given and the policy's where none is; `asked`: those that its
        agent asked for."""
        state = RunState(
            limits=(limits or Limits()).or_else(policy.limits),
            claims=Claims().with_asked(asked or Limits()),
        )
        detectors = Detectors.start(Plan.of(policy, state.limits))
        return _run(session_id, policy, state, detectors, observed=observed)

    def successor(
        self,
        session_id: str,
        policy: Policy,
        *,
        limits: Limits | None = None,
        claims: Claims | None = None,
        observed: bool = False,
    ) -> "Run":
        """The run that goes on with this one's state in fresh context: it starts in recovery and
        keeps approaches, strikes and spent budgets; limits and claims too where none are given."""
        state = RunState(
            limits=self.state.limits if limits is None else limits,
            claims=self.state.claims if claims is None else claims,
            breaker=Breaker(state=State.RECOVERY),
            nudged=self.state.nudged,
            suggested=self.state.suggested,
            totals=self.state.totals,
            story=self.state.story,
        )
        detectors = self.detectors.succeeded(self.plan, Plan.of(policy, state.limits))
        return _run(session_id, policy, state, detectors, observed=observed)

    def advance(self, turn: Turn) -> tuple["Run", Decision]:
        """The run after one more turn, and what to do about it."""
        before = self.state
        if turn.user_input and (before.episodes or before.breaker.state is not State.HEALTHY):
            run, decision = self._continued(before)._fold(turn)
            return run, replace(decision, state_before=before.breaker.state)
        return self._fold(turn)

    def reject(self, sequence: int, rejection: Rejection) -> tuple["Run", Decision]:
        """The run after a turn that cannot be counted: its sequence is used up, no more."""
        run = self._with(replace(self.state, sequence=sequence))
        return run, replace(run._decide(Cause.TURN, self.state), rejection=rejection)

    def obey(self, command: Command, number: int) -> tuple["Run", Decision]:
        """The run after a command, the number-th entry of its session."""
        match command:
            case Continue():
                run = self._continued(self._extended(command))
                if self.state.breaker.state is State.TRIPPED and not self.state.episodes:
                    # Quiet since, but what tripped it would trip it again by what was forgiven.
                    again = run.detectors.restarted(run.plan, _behaviour, forgetting=False)
                    run = replace(run, detectors=again)
            case Reset():
                run = self._reset()
            case Verdict():
                # No more than heard: what it amounts to comes with the next turn.
                heard = self.detectors.heard(self.plan, command, self.state.sequence)
                run = self._with(replace(self.state, judged_at=self.state.sequence), heard)
                return run, run._decide(Cause.JUDGE, self.state, number)
            case Idle(waited_s=waited_s):
                halt = wording.idle(waited_s, self.session_id)
                decision = self._decide(Cause.IDLE, self.state, number)
                return self, replace(decision, directive=halt)
        return run, run._decide(Cause.OPERATOR, self.state, number)

    def skip_to(self, sequence: int) -> "Run":
        """The run that goes on at a sequence, the turns before it lost: what needs consecutive
        turns starts again."""
        state, lost = self.state, sequence - 1 - self.state.sequence
        totals = replace(state.totals, turns_missing=state.totals.turns_missing + lost)
        state = replace(
            state,
            sequence=sequence - 1,
            breaker=state.breaker.after_lost_turns(),
            episodes=after_lost_turns(state.episodes),
            totals=totals,
        )
        detectors = self.detectors.restarted(self.plan, _consecutive, forgetting=True)
        return replace(self, state=state, detectors=detectors)

    def encode(self) -> Json:
        """The run as JSON; its policy stays where it is."""
        return snapshot.seal(
            {
                "state": snapshot.encode(self.state),
                "detectors": self.detectors.encode(self.plan),
            }
        )

    @staticmethod
    def decode(session_id: str, policy: Policy, json: object, *, observed: bool) -> "Run":
        """What `encode` wrote, under this policy. Raises SnapshotInvalid."""
        body = snapshot.unseal(json)
        if type(body) is not dict or body.keys() != {"state", "detectors"}:
            raise SnapshotInvalid("", "expected state and detectors")
        state = snapshot.decode(RunState, body["state"])
        detectors = Detectors.decode(Plan.of(policy, state.limits), body["detectors"])
        return _run(session_id, policy, state, detectors, observed=observed)

    def _fold(self, turn: Turn) -> tuple["Run", Decision]:
        before, policy = self.state, self.policy
        detectors, turn, readings, below = self.detectors.read(turn, self.plan)
        severity = Severity.NONE
        for reading in readings:
            if not reading.notice and reading.severity > severity:
                severity = reading.severity
        breaker = before.breaker.after(
            severity, progressed=turn.progressed, patience=policy.patience
        )
        state = RunState(  # all of it by name: `replace` takes three times as long
            sequence=turn.sequence,
            limits=before.limits,
            claims=before.claims,
            breaker=breaker,
            episodes=before.episodes,
            nudged=before.nudged,
            suggested=before.suggested,
            committed_at=before.committed_at,
            judged_at=before.judged_at,
            totals=before.totals.after(turn),
            story=before.story.after(turn) if turn.approach else before.story,
        )
        if not readings and not before.episodes:
            run = self._with(state, detectors)
            return run, run._decide(Cause.TURN, before, 0, below)
        director = Director(session_id=self.session_id, policy=policy, observed=self.observed)
        directed = director.direct(state, turn, readings, state_before=before.breaker.state)
        run = self._with(directed.state, detectors)
        decision = replace(
            run._decide(Cause.TURN, before, 0, below),
            readings=readings,
            directive=directed.directive,
            signal=directed.signal,
            overridden=directed.overridden,
        )
        return run, decision

    def _continued(self, state: RunState) -> "Run":
        raised = {(episode.actor, episode.signal) for episode in state.episodes}
        names = {signal for _, signal in raised}

        def again(signal: Signal[Any, Any], actor: str | None) -> bool:
            if signal.budget:
                return False
            return signal.name in names if actor is None else (actor, signal.name) in raised

        state = replace(
            state,
            breaker=state.breaker.after_continue(),
            episodes=(),
            committed_at=0,
            nudged=tuple(name for name in state.nudged if name not in names),
        )
        detectors = self.detectors.restarted(self.plan, again, forgetting=False)
        return _run(self.session_id, self.policy, state, detectors, observed=self.observed)

    def _reset(self) -> "Run":
        breaker = self.state.breaker.after_reset()
        return replace(
            self,
            state=replace(self.state, breaker=breaker, episodes=(), committed_at=0),
            detectors=self.detectors.restarted(self.plan, _behaviour, forgetting=True),
        )

    def _decide(
        self,
        cause: Cause,
        before: RunState,
        number: int = 0,
        below: tuple[Reading, ...] = (),
    ) -> Decision:
        """A plain proceed at where the run stands."""
        sequence, revision = self.state.sequence, self.policy.revision
        return Decision(
            decision_id=decision_id(self.session_id, sequence, cause, revision, number),
            sequence=sequence,
            cause=cause,
            state=self.state.breaker.state,
            state_before=before.breaker.state,
            below=below,
            policy_revision=revision,
        )

    def _extended(self, command: Continue) -> RunState:
        """What is granted counts where there is a limit."""
        limits = self.state.limits
        turns = 0 if limits.max_turns is None else command.extra_turns
        tokens = 0 if limits.input_tokens_max is None else command.extra_input_tokens
        return replace(
            self.state,
            limits=limits.extended(turns=turns, input_tokens=tokens),
            claims=self.state.claims.with_extra(turns=turns, input_tokens=tokens),
        )

    def _with(self, state: RunState, detectors: Detectors | None = None) -> "Run":
        return Run(
            session_id=self.session_id,
            policy=self.policy,
            observed=self.observed,
            plan=self.plan,
            state=state,
            detectors=detectors or self.detectors,
        )


def _run(
    session_id: str, policy: Policy, state: RunState, detectors: Detectors, *, observed: bool
) -> Run:
    return Run(
        session_id=session_id,
        policy=policy,
        observed=observed,
        plan=Plan.of(policy, state.limits),
        state=state,
        detectors=detectors,
    )


def _behaviour(signal: Signal[Any, Any], _actor: str | None) -> bool:
    return not signal.budget


def _consecutive(signal: Signal[Any, Any], _actor: str | None) -> bool:
    return signal.consecutive and not signal.budget
