"""Which directive a turn's readings amount to, and what the run remembers of having said it."""

from typing import Final

from sidecar.core import wording
from sidecar.core.breaker import State
from sidecar.core.directive import PROCEED, Action, Directive, Proceed, Strength
from sidecar.core.episode import Due, Situation, raised, told
from sidecar.core.policy import Policy
from sidecar.core.reading import Reading
from sidecar.core.run_state import RunState
from sidecar.core.story import Totals
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value

SUGGESTED_MAX = 64
"""Rotates whose suggestions are remembered; past it the oldest may be given again."""

ASKING: Final = (
    *(Action.ROTATE, Action.PAUSE),
    *(Action.COMMIT, Action.REST),
    *(Action.STOP, Action.ASK_USER),
)
"""Actions, of those that are equally strong the one that asks for less first."""


@value
class Directed:
    """The outcome: the state that remembers it, and what the agent is told."""

    state: RunState
    directive: Directive = PROCEED
    signal: str = ""
    overridden: bool = False


@value
class Director:
    """What of a run stays the same and bears on its directives."""

    session_id: str
    policy: Policy
    observed: bool

    def direct(
        self, state: RunState, turn: Turn, readings: tuple[Reading, ...], *, state_before: State
    ) -> Directed:
        """The directive for this turn's readings; `state` is the state after the turn."""
        situation = Situation(
            sequence=turn.sequence,
            actor=turn.actor,
            state_before=state_before,
            seen=None if self.observed else turn.directive_seen,
            nudged=state.nudged,
            committed_at=0 if self.observed else state.committed_at,
        )
        due, episodes = raised(readings, situation, self.policy, state.episodes)
        committed_at = state.committed_at if episodes else 0
        state = replace(state, episodes=episodes, committed_at=committed_at)
        if committed_at and state.breaker.state is State.TRIPPED:
            # Whoever is to end is not told to go on in another way.
            due = tuple(want for want in due if want.strength > Strength.ROTATE)
        if not due or turn.has_final_answer:
            return Directed(state=state, directive=_notice(readings))
        strongest = max(want.strength for want in due)
        said = tuple(want for want in due if want.strength is strongest)
        signal = said[0].reading.signal
        after = self._remember(state, said, situation)
        if self.policy.force_continue or self.observed:
            # Nobody was told, so no approach was ended and no rotation applied by it.
            after = replace(after, story=state.story)
        if self.policy.force_continue:
            return Directed(
                state=after, directive=_notice(readings), signal=signal, overridden=True
            )
        return Directed(state=after, directive=self._word(state, said), signal=signal)

    def _word(self, state: RunState, said: tuple[Due, ...]) -> Directive:
        chosen = said[0]
        readings = tuple(want.reading for want in said)
        # Where one signal asks for a person, or a hand-over, and another for no more than another
        # way, or an answer, nobody is passed over.
        action = max((want.action for want in said), key=ASKING.index)
        match chosen.strength:
            case Strength.ROTATE:
                return wording.rotate(
                    readings,
                    action=action,
                    approaches=state.story.names,
                    ways=wording.suggest(
                        self.policy.words(chosen.reading.signal).suggestions,
                        rotates=state.suggested.count(chosen.reading.signal),
                    ),
                    wait_max_s=self.policy.staging.wait_max_s,
                )
            case Strength.COMMIT:
                return wording.commit(
                    readings,
                    action=action,
                    gathered=_gathered(state.totals),
                    answer_form=self.policy.answer_form,
                )
            case Strength.HALT | Strength.PROCEED:
                return wording.halt(readings, action=action, session_id=self.session_id)

    def _remember(
        self,
        state: RunState,
        said: tuple[Due, ...],
        situation: Situation,
    ) -> RunState:
        chosen = said[0]
        signal, sequence = chosen.reading.signal, situation.sequence
        story, suggested, committed_at = state.story, state.suggested, state.committed_at
        match chosen.strength:
            case Strength.ROTATE:
                story = story.rotated(sequence, signal)
                suggested = (*suggested, signal)[-SUGGESTED_MAX:]
            case Strength.COMMIT:
                story = story.ended(signal)
                arrived = situation.seen is None or situation.seen >= committed_at
                stands = committed_at and arrived
                if not stands and any(
                    want.reading.signal not in self.policy.advisory for want in said
                ):
                    committed_at = sequence
            case Strength.HALT | Strength.PROCEED:
                story = story.ended(signal)
        names = (want.reading.signal for want in said)
        return replace(
            state,
            episodes=told(state.episodes, said, situation),
            story=story,
            suggested=suggested,
            committed_at=committed_at,
            nudged=tuple(dict.fromkeys((*state.nudged, *names))),
        )


def _notice(readings: tuple[Reading, ...]) -> Proceed:
    notices = [reading.summary for reading in readings if reading.notice]
    return Proceed(notice=" ".join(notices)) if notices else PROCEED


def _gathered(totals: Totals) -> str:
    counts = (
        (totals.turns, "turn"),
        (totals.tool_calls, "tool call"),
        (totals.files_changed, "changed file"),
        (totals.errors_distinct, "distinct error"),
    )
    return ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count
    )
