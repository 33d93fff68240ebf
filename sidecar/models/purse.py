"""What model calls may cost: bounds for each session, and over all callers, in each UTC day."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from sidecar.nowhere import NoLedger
from sidecar.ports import Clock, DaySpent, Ledger, Purpose, Spent, Used
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal
from sidecar.wording import counted

DAY_S: Final = 86_400

ALL: Final = "all"
JUDGE: Final = "judge"
SESSION: Final = "session:"
"""Names of accounts: of all callers, of the judge, and before the id that of a session."""

ACCOUNTS_KEPT_MAX: Final = 4_096
"""Kept over a restart, those used last; 1,000 calls a day have fewer."""

KEPT_SHARE: Final = 0.1
"""Of what may be used up, what a judge leaves to calls that somebody waits for, and one call at
least: of the 50 calls of a session five, for a forced commit and its reviews."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What may be used up in a day."""

    calls_max: int
    tokens_max: int
    """Sent and received. It is what bounds models whose price is not known."""
    cost_usd_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseBounds:
    """Over all callers, for each session, and at a time."""

    all: Allowance = field(
        default_factory=lambda: Allowance(calls_max=1_000, tokens_max=20_000_000, cost_usd_max=10.0)
    )
    session: Allowance = field(
        default_factory=lambda: Allowance(calls_max=50, tokens_max=2_000_000, cost_usd_max=1.0)
    )
    judge_cost_usd_max: float = 1.0
    concurrency_max: int = 8


_Reasons = tuple[Reason, Reason, Reason]


class Purse:
    """Admits model calls, and keeps the accounts of the day, over a restart too.

    A call counts from its beginning, its tokens and cost when it ends: what is under way when a
    bound is met, at most `concurrency_max` calls, may go beyond it. A judge, for whom nobody waits,
    leaves a share of each bound to the others.
    """

    def __init__(self, bounds: PurseBounds, *, clock: Clock, ledger: Ledger | None = None) -> None:
        """Begin with what the ledger has of today; without one, with nothing used up."""
        self._bounds = bounds
        self._clock = clock
        self._ledger = ledger or NoLedger()
        self._day = 0
        self._accounts: dict[str, Used] = {}
        """Those used last come last; no more than there were calls today, and two."""
        if (kept := self._ledger.load()) is not None:
            self._day = kept.day
            self._accounts.update(kept.accounts)
        self._under_way = 0

    @contextmanager
    def call(
        self, session_id: str, purpose: Purpose | None = None
    ) -> Iterator[Callable[[Spent], None]]:
        """One call; what it took is told to the function that the block is given.

        Raises Refusal, with the time after which it makes sense to try again.
        """
        names = self._admit(session_id, purpose)
        self._under_way += 1

        def charge(spent: Spent) -> None:
            tokens = spent.input_tokens + spent.output_tokens
            self._use(names, Used(tokens=tokens, cost_usd=spent.cost_usd or 0.0))

        try:
            yield charge
        finally:
            self._under_way -= 1

    def _admit(self, session_id: str, purpose: Purpose | None) -> list[str]:
        now_s = self._clock.now_s()
        day = int(now_s // DAY_S)
        if day != self._day:
            self._day = day
            self._accounts.clear()
        # One place stays free for a call that somebody waits for.
        places = 2 if purpose is Purpose.JUDGE else 1
        at_a_time = self._bounds.concurrency_max
        if self._under_way + places > at_a_time:
            bound = f"{counted(at_a_time, 'call')} at a time"
            raise _refusal(Reason.MODEL_CONCURRENCY_MAX, bound, RETRY_AFTER_S)
        left_s = (day + 1) * DAY_S - now_s
        held = list(self._held(session_id, purpose))
        for name, allowance, reasons in held:
            if met := _met(self._accounts.get(name, NOTHING), allowance, reasons):
                reason, bound = met
                raise _refusal(reason, f"{bound} a day", left_s)
        names = [name for name, _, _ in held]
        self._use(names, Used(calls=1))
        return names

    def _held(
        self, session_id: str, purpose: Purpose | None
    ) -> Iterator[tuple[str, Allowance, _Reasons]]:
        """The accounts that a call counts in, and what they may use."""
        bounds = self._bounds
        whole, session = bounds.all, bounds.session
        if purpose is Purpose.JUDGE:
            whole, session = _for_judge(whole), _for_judge(session)
            allowance = replace(UNBOUNDED, cost_usd_max=bounds.judge_cost_usd_max)
            yield JUDGE, allowance, (Reason.JUDGE_COST_USD_MAX,) * 3
        yield ALL, whole, _OF_ALL
        if session_id:
            yield SESSION + session_id, session, _OF_SESSION

    def _use(self, names: list[str], more: Used) -> None:
        for name in names:
            used = self._accounts.pop(name, NOTHING)
            self._accounts[name] = Used(
                calls=used.calls + more.calls,
                tokens=used.tokens + more.tokens,
                cost_usd=used.cost_usd + more.cost_usd,
            )
        latest = list(self._accounts.items())[-ACCOUNTS_KEPT_MAX:]
        self._ledger.save(DaySpent(day=self._day, accounts=dict(latest)))


NOTHING: Final = Used()

UNBOUNDED: Final = Allowance(calls_max=2**63, tokens_max=2**63, cost_usd_max=math.inf)

_OF_ALL: Final[_Reasons] = (
    Reason.MODEL_CALLS_MAX,
    Reason.MODEL_TOKENS_MAX,
    Reason.MODEL_COST_USD_MAX,
)
_OF_SESSION: Final[_Reasons] = (
    Reason.SESSION_MODEL_CALLS_MAX,
    Reason.SESSION_MODEL_TOKENS_MAX,
    Reason.SESSION_MODEL_COST_USD_MAX,
)


def _for_judge(allowance: Allowance) -> Allowance:
    return Allowance(
        calls_max=allowance.calls_max - math.ceil(allowance.calls_max * KEPT_SHARE),
        tokens_max=allowance.tokens_max - math.ceil(allowance.tokens_max * KEPT_SHARE),
        cost_usd_max=allowance.cost_usd_max * (1 - KEPT_SHARE),
    )


def _met(account: Used, allowance: Allowance, reasons: _Reasons) -> tuple[Reason, str] | None:
    """The first bound that an account has reached, and the same in words."""
    calls, tokens, cost = reasons
    if account.calls >= allowance.calls_max:
        return calls, counted(allowance.calls_max, "call")
    if account.tokens >= allowance.tokens_max:
        return tokens, counted(allowance.tokens_max, "token")
    if account.cost_usd >= allowance.cost_usd_max:
        return cost, f"{allowance.cost_usd_max:g} US dollars"
    return None


def _refusal(reason: Reason, bound: str, retry_after_s: float) -> Refusal:
    key = _KEYS.get(reason, reason.value.lower())
    return Refusal(reason, f"the bound of {bound} ({key}) is reached", retry_after_s=retry_after_s)


_KEYS: Final = {Reason.JUDGE_COST_USD_MAX: "judge.cost_usd_max"}
"""Of the configuration, where it is not the reason in lower case."""
