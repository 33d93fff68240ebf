"""The stuck detector of the OpenHands SDK, with its default thresholds.

Our reading of the rules in OpenHands/software-agent-sdk at
611629e6999ad398dc49c761721eefe18d5e6bd9, openhands-sdk/openhands/sdk/conversation/stuck_detector.py
and impl/local_conversation.py: before each step of the agent it looks at the last 20 events, back
to the last message of a person. One action with errors for the third time is pointed out to the
agent (WARNING); a stuck agent is stopped (BREAK). Its rule for the context window is not written
yet there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from eval.baselines.rules.openhands_events import (
    OBSERVATIONS,
    Event,
    Kind,
    alike,
    alternate,
    events,
    last,
)
from eval.baselines.told import Finding, Run, Severity, each

EVENTS_MAX: Final = 20
PAIRS: Final = 4
ERRORS: Final = 3
MESSAGES: Final = 3
ALTERNATING: Final = 6

ACTIONS: Final = frozenset({Kind.ACTION})
REPORTED: Final = frozenset({Kind.RESULT, Kind.ERROR})


def findings(run: Run) -> Iterator[Finding]:
    """What would be said or done after each step."""
    history: list[Event] = []
    for step in run.steps:
        happened = [_as_kept(event, len(history)) for event in events(step)]
        history.extend(happened)
        looked_at = since_person(history)
        if step.calls and error_streak(looked_at) == ERRORS:
            yield Finding(sequence=step.sequence, severity=Severity.WARNING, rule="repeated_error")
        elif rule := stuck(looked_at):
            yield Finding(sequence=step.sequence, severity=Severity.BREAK, rule=rule)


def since_person(history: Sequence[Event]) -> Sequence[Event]:
    """The events looked at."""
    recent = history[-EVENTS_MAX:]
    spoken = [place for place, event in enumerate(recent) if event.kind is Kind.PERSON]
    return recent[spoken[-1] + 1 :] if spoken else recent


def error_streak(history: Sequence[Event]) -> int:
    """How often the last action was taken in a row, each time with an error."""
    actions = last(history, ACTIONS, EVENTS_MAX)
    observed = last(history, OBSERVATIONS, EVENTS_MAX)
    streak = 0
    for action, observation in zip(actions, observed, strict=False):
        if action.identity != actions[0].identity or observation.kind is not Kind.ERROR:
            break
        streak += 1
    return streak


def stuck(history: Sequence[Event]) -> str:
    """The first rule by which the agent is stuck; empty: none."""
    actions = last(history, ACTIONS, ALTERNATING)
    observed = last(history, OBSERVATIONS, PAIRS)
    reported = last(history, REPORTED, ALTERNATING)
    if alike(actions[:PAIRS], PAIRS) and alike(observed, PAIRS):
        return "repeated_action"
    if error_streak(history) > ERRORS:
        return "repeated_error"
    if _monologue(history):
        return "monologue"
    if alternate(actions, ALTERNATING) and alternate(reported, ALTERNATING):
        return "alternating"
    return ""


def _monologue(history: Sequence[Event]) -> bool:
    """Whether the last events are messages of the agent, whatever they say."""
    recent = [event for event in history if event.kind is not Kind.CONDENSATION][-MESSAGES:]
    return len(recent) == MESSAGES and all(event.kind is Kind.MESSAGE for event in recent)


def _as_kept(event: Event, place: int) -> Event:
    """A rejection is like no other event there, not even one with the same words."""
    return replace(event, identity=place) if event.kind is Kind.REJECTION else event


judge = each(findings)
