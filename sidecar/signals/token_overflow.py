"""token_overflow: the run has spent its tokens or its money, or its context window is full.

Two kinds of measure in one signal. What was spent is a budget of the whole run: its warning is a
notice, and nothing gives it back. The context window is a level, kept for each actor: nearly full
is a warning, staying so is a break. The level stands in the same state as the budgets, so a reset
leaves it alone; it corrects itself at the next turn that measures it.
"""

import hashlib
from typing import Final

from sidecar.core.bounds import (
    COST_MAX_USD,
    COUNT_MAX,
    below,
    budget_severity,
    occupancy,
    require_at_least,
    require_share,
)
from sidecar.core.limits import Limits
from sidecar.core.reading import QUIET, Reading, Severity, worse
from sidecar.core.signal import Signal
from sidecar.core.turn import NO_USAGE, Turn
from sidecar.core.value import replace, value
from sidecar.core.words import Measure, Unit, Words

ACTORS_MAX: Final = 8
"""Actors whose context is remembered; with more, the least recent is forgotten. Subagents run a
few at a time, and one that is forgotten is known again at its next turn."""

NANO_PER_USD: Final = 1_000_000_000
"""Costs are summed in billionths of a dollar, as integers: ten turns of 0.1 make exactly 1, and
the cheapest cached token costs some ten of them."""


@value
class TokenOverflowThresholds:
    """What a run may spend, and how full its context window may be. The first two are those of the
    policy's `limits`: where both are set, the smaller holds."""

    input_tokens_max: int | None = None
    """Input tokens summed over the run at which it breaks; None: no limit."""
    cost_usd_max: float | None = None
    """Cost of the run at which it breaks; None: no limit."""
    budget_warning_ratio: float | None = 0.8
    """Share of either limit from which on a notice is given; None: never."""
    window_notice_ratio: float | None = 0.8
    """Share of the context window from which on a notice is given; None: never."""
    window_warning_ratio: float | None = 0.95
    """Share of the context window that warns; None: never."""
    window_break_turns: int | None = 5
    """Turns in a row at window_warning_ratio or above that break; None: never."""

    def __post_init__(self) -> None:
        """Refuse ratios outside (0, 1] and fewer than 1 turn."""
        require_share(
            budget_warning_ratio=self.budget_warning_ratio,
            window_notice_ratio=self.window_notice_ratio,
            window_warning_ratio=self.window_warning_ratio,
        )
        require_at_least(1, window_break_turns=self.window_break_turns)


@value
class Context:
    """The context of one actor, as last measured."""

    actor: bytes = b""
    """Digest of the actor's name; empty: the agent itself."""
    tokens: int = 0
    full_turns: int = 0
    """Turns in a row that found the window nearly full."""
    full_since: int = 0
    """Sequence of the first of them."""
    compacts: bool = False
    """Whether it has been seen to shrink by more than half: this actor clears its own context, by
    compaction or by a fresh start, and needs no more than a notice."""


@value
class TokenOverflowState:
    """What was spent so far, and how full each actor's context was."""

    input_tokens: int = 0
    cost_nano_usd: int = 0
    contexts: tuple[Context, ...] = ()
    """At most ACTORS_MAX, the most recent last."""


def _step(
    state: TokenOverflowState, turn: Turn, thresholds: TokenOverflowThresholds
) -> tuple[TokenOverflowState, Reading]:
    usage = turn.usage
    if usage is NO_USAGE:
        return state, QUIET
    tokens, cost_usd, level = usage.input_tokens, usage.cost_usd, usage.context_tokens
    input_tokens, cost_nano_usd, contexts = state.input_tokens, state.cost_nano_usd, state.contexts
    spends = watched = False
    window = QUIET
    # NaN, negative and absent amounts are not added: the sums go on without them.
    if tokens is not None and 0 <= tokens <= COUNT_MAX:
        spends, input_tokens = True, input_tokens + tokens
    if cost_usd is not None and 0 <= cost_usd <= COST_MAX_USD:
        spends, cost_nano_usd = True, cost_nano_usd + round(cost_usd * NANO_PER_USD)
    if level is not None and 0 <= level <= COUNT_MAX and _watches_window(thresholds):
        watched = True
        contexts, window = _window(contexts, level, turn, thresholds)
    if not spends and not watched:
        return state, QUIET
    state = TokenOverflowState(
        input_tokens=input_tokens, cost_nano_usd=cost_nano_usd, contexts=contexts
    )
    budget = _budget(state, turn, thresholds) if spends else QUIET
    if window is QUIET or budget is QUIET:
        return state, budget if window is QUIET else window
    if budget.notice and window.severity and not window.notice:
        return state, window  # a warning is worse than a notice
    return state, worse(budget, window)


def _watches_window(thresholds: TokenOverflowThresholds) -> bool:
    return thresholds.window_warning_ratio is not None or thresholds.window_notice_ratio is not None


def _budget(state: TokenOverflowState, turn: Turn, thresholds: TokenOverflowThresholds) -> Reading:
    tokens_max, cost_usd_max = thresholds.input_tokens_max, thresholds.cost_usd_max
    if tokens_max is None and cost_usd_max is None:
        return QUIET
    ratio = thresholds.budget_warning_ratio
    tokens, cost_usd = state.input_tokens, state.cost_nano_usd / NANO_PER_USD
    by_tokens = budget_severity(tokens, tokens_max, ratio)
    by_cost = budget_severity(cost_usd, cost_usd_max, ratio)
    if tokens_max is not None and by_tokens and by_tokens >= by_cost:
        words = f"{tokens:,} of its {tokens_max:,} input tokens by turn {turn.sequence}"
        return _spent(by_tokens, tokens, tokens_max, words)
    if cost_usd_max is not None and by_cost:
        words = f"{cost_usd:.8g} of its {cost_usd_max:.8g} US dollars by turn {turn.sequence}"
        return _spent(by_cost, cost_usd, cost_usd_max, words)
    return worse(below(tokens, tokens_max), below(cost_usd, cost_usd_max))


def _spent(severity: Severity, spent: float, limit: float, words: str) -> Reading:
    return Reading(
        severity=severity,
        value=spent,
        threshold=limit,
        summary=f"the run has used {words}",
        notice=severity is Severity.WARNING,
    )


def _window(
    contexts: tuple[Context, ...], tokens: int, turn: Turn, thresholds: TokenOverflowThresholds
) -> tuple[tuple[Context, ...], Reading]:
    """The contexts after a turn that measured its actor's, and what to say of that one."""
    actor = _digest(turn.actor) if turn.actor else b""
    before, others = _taken(contexts, actor)
    share, full_ratio = occupancy(turn), thresholds.window_warning_ratio
    full_turns, full_since = before.full_turns, before.full_since
    if share is not None:
        is_full = full_ratio is not None and share >= full_ratio
        full_turns = full_turns + 1 if is_full else 0
        full_since = (full_since or turn.sequence) if is_full else 0
    after = Context(
        actor=actor,
        tokens=tokens,
        full_turns=full_turns,
        full_since=full_since,
        compacts=before.compacts or 2 * tokens < before.tokens,
    )
    reading = QUIET if share is None else _fullness(after, share, turn, thresholds)
    return (*others, after), reading


def _taken(contexts: tuple[Context, ...], actor: bytes) -> tuple[Context, tuple[Context, ...]]:
    """The actor's context and the others', of which there is room for one more."""
    if contexts and contexts[-1].actor == actor:
        return contexts[-1], contexts[:-1]
    before = next((known for known in contexts if known.actor == actor), Context(actor=actor))
    others = tuple(known for known in contexts if known.actor != actor)
    return before, others[-(ACTORS_MAX - 1) :]


def _fullness(
    context: Context, share: float, turn: Turn, thresholds: TokenOverflowThresholds
) -> Reading:
    notice_ratio, warning_ratio = thresholds.window_notice_ratio, thresholds.window_warning_ratio
    turns = f"turn {turn.sequence}"
    if warning_ratio is not None and share >= warning_ratio:
        severity, threshold = Severity.WARNING, warning_ratio
        lasting = thresholds.window_break_turns
        if lasting is not None and context.full_turns >= lasting and not context.compacts:
            severity = Severity.BREAK
        if context.full_turns > 1:
            turns = f"{context.full_turns} turns in a row ({context.full_since} to {turn.sequence})"
    elif notice_ratio is not None and share >= notice_ratio:
        severity, threshold = Severity.WARNING, notice_ratio
    else:
        return below(share, notice_ratio, warning_ratio)
    return Reading(
        severity=severity,
        value=share,
        threshold=threshold,
        summary=f"the context window was {100 * share:.4g} % full "
        f"({context.tokens:,} of {turn.usage.context_window:,} tokens) in {turns}",
        notice=context.compacts or warning_ratio is None or share < warning_ratio,
    )


def _digest(actor: str) -> bytes:
    """8 bytes in place of a name of any length, so that the state stays bounded."""
    return hashlib.blake2b(actor.encode(errors="surrogatepass"), digest_size=8).digest()


def _limited(thresholds: TokenOverflowThresholds, limits: Limits) -> TokenOverflowThresholds:
    return replace(
        thresholds,
        input_tokens_max=thresholds.input_tokens_max
        if limits.input_tokens_max is None
        else limits.input_tokens_max,
        cost_usd_max=thresholds.cost_usd_max
        if limits.cost_usd_max is None
        else limits.cost_usd_max,
    )


WORDS: Final = Words(
    measured="tokens and cost against the run's limits; the context window's fill",
    raised_by="a context that overflows",
    diagnosis="The run has used up the tokens, money or context it was given.",
    suggestions=(
        "save the findings so far",
        "go on with a fresh context that holds only what is needed",
    ),
    measures=(
        Measure(within="context window", words="context window {value} full", unit=Unit.SHARE),
        Measure(within="US dollars", words="spent {value} of {threshold}", unit=Unit.US_DOLLARS),
        Measure(words="{value} of {threshold} input tokens"),
    ),
)

TOKEN_OVERFLOW: Final = Signal(
    name="token_overflow",
    words=WORDS,
    defaults=TokenOverflowThresholds(),
    initial=TokenOverflowState(),
    step=_step,
    per_actor=False,  # the sums are the run's; the contexts are told apart in the state
    budget=True,
    consecutive=False,
    limited=_limited,
    state_bytes_max=1024,
)
