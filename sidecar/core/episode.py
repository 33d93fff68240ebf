"""When a raised signal is spoken of: once, again when it stands, stronger when it stays.

An episode begins when a signal rises and ends after `Staging.episode_quiet` quiet turns. Within it
a directive is due when the signal is new, when it calls for more than was said, when it has stood
for `repeat_after` turns since, or when what was said never arrived.
"""

from collections.abc import Sequence

from sidecar.core.breaker import State
from sidecar.core.directive import Action, Strength, strength
from sidecar.core.policy import Policy
from sidecar.core.reading import Reading, Severity
from sidecar.core.value import replace, value


@value
class Episode:
    """One signal of one actor, from rising until it has been quiet for a while."""

    actor: str
    signal: str
    said: Strength = Strength.PROCEED
    """The strongest directive given in this episode."""
    said_at: int = 0
    """Sequence of the latest directive; 0: none yet."""
    quiet: int = 0
    """Quiet turns in a row."""


@value
class Due:
    """A reading that a directive is due for."""

    reading: Reading
    action: Action
    strength: Strength


@value
class Situation:
    """What decides how strongly a reading is answered, apart from the reading."""

    sequence: int
    actor: str
    state_before: State
    seen: int | None
    """Last decision that reached the agent; None: all did."""
    nudged: tuple[str, ...]
    """Signals that a directive has named in this run."""
    committed_at: int
    """Sequence of the commit that the agent was last told; 0: none."""


def raised(
    readings: Sequence[Reading], situation: Situation, policy: Policy, episodes: tuple[Episode, ...]
) -> tuple[tuple[Due, ...], tuple[Episode, ...]]:
    """The readings that a directive is due for, and the episodes of this actor after the turn.

    The episodes come back as if nothing had been said; `told` says that it was.
    """
    due: list[Due] = []
    after: list[Episode] = []
    waiting = {reading.signal: reading for reading in readings if not reading.notice}
    for episode in episodes:
        if episode.actor != situation.actor:
            after.append(episode)
        elif reading := waiting.pop(episode.signal, None):
            if want := _due(reading, episode, situation, policy):
                due.append(want)
            after.append(replace(episode, quiet=0))
        elif episode.quiet + 1 < policy.staging.episode_quiet:
            after.append(replace(episode, quiet=episode.quiet + 1))
    for reading in waiting.values():
        episode = Episode(actor=situation.actor, signal=reading.signal)
        if want := _due(reading, episode, situation, policy):
            due.append(want)
        after.append(episode)
    return tuple(due), tuple(after)


def told(
    episodes: tuple[Episode, ...], due: Sequence[Due], situation: Situation
) -> tuple[Episode, ...]:
    """The episodes once the agent has been told of these readings."""
    named = {want.reading.signal: want.strength for want in due}
    return tuple(
        replace(
            episode,
            said=max(episode.said, named[episode.signal]),
            said_at=situation.sequence,
            quiet=0,
        )
        if episode.actor == situation.actor and episode.signal in named
        else episode
        for episode in episodes
    )


def after_lost_turns(episodes: tuple[Episode, ...]) -> tuple[Episode, ...]:
    """The episodes after turns that nobody has: quiet turns in a row are counted from here."""
    return tuple(replace(episode, quiet=0) for episode in episodes)


def _due(reading: Reading, episode: Episode, situation: Situation, policy: Policy) -> Due | None:
    missed = episode.said_at > 0 and situation.seen is not None and situation.seen < episode.said_at
    unheard = reading.signal not in situation.nudged or (missed and episode.said is Strength.ROTATE)
    want = _wanted(reading, situation, policy, unheard=unheard)
    is_due = (
        want.strength > episode.said
        or missed
        or situation.sequence - episode.said_at >= policy.staging.repeat_after
    )
    return want if is_due else None


def _wanted(reading: Reading, situation: Situation, policy: Policy, *, unheard: bool) -> Due:
    # Recovery is half-open: what comes back at once is answered as a break.
    severity = Severity.BREAK if situation.state_before is State.RECOVERY else reading.severity
    action = policy.action(reading.signal, severity)
    if reading.signal in policy.advisory:
        action = _advised(action, severity)
    asked = strength(action, severity)
    staged = policy.staging.nudge_first and reading.signal not in policy.budgets
    if staged and unheard and asked >= Strength.COMMIT:
        return Due(reading=reading, action=Action.ROTATE, strength=Strength.ROTATE)
    may_halt = reading.severity is Severity.BREAK and reading.signal not in policy.advisory
    if may_halt and _grace_is_over(situation, policy):
        return Due(reading=reading, action=Action.STOP, strength=Strength.HALT)
    return Due(reading=reading, action=action, strength=asked)


def _advised(action: Action, severity: Severity) -> Action:
    """The most that an advisory signal may ask for: neither a halt, nor a wait that ends in one."""
    match strength(action, severity):
        case Strength.HALT:
            return Action.COMMIT
        case Strength.ROTATE:
            return Action.ROTATE
        case _:
            return action


def _grace_is_over(situation: Situation, policy: Policy) -> bool:
    told_at = situation.committed_at
    arrived = situation.seen is None or situation.seen >= told_at
    grace = policy.staging.commit_grace_turns
    return told_at > 0 and arrived and situation.sequence - told_at >= grace
