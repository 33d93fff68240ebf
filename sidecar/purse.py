"""What model calls may cost: bounds for each session, and over all callers, in each UTC day."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from sidecar.nowhere import NoLedger
from sidecar.ports import Clock, DaySpent, Ledger, Spent
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal

DAY_S: Final = 86_400

ALL: Final = ""
"""The account of all callers; a session's id is never empty."""


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
    concurrency_max: int = 8


@dataclass(slots=True)
class _Account:
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


class Purse:
    """Admits model calls, and keeps the accounts of the day. Over a restart that of all callers is
    kept; those of sessions begin anew.

    A call counts from its beginning, its tokens and cost when it ends: what is under way when a
    bound is met, at most `concurrency_max` calls, may go beyond it.
    """

    def __init__(self, bounds: PurseBounds, *, clock: Clock, ledger: Ledger | None = None) -> None:
        """Begin with what the ledger has of today; without one, with nothing used up."""
        self._bounds = bounds
        self._clock = clock
        self._ledger = ledger or NoLedger()
        self._day = 0
        self._accounts: dict[str, _Account] = {}
        """No more than there were calls today."""
        if (kept := self._ledger.load()) is not None:
            self._day = kept.day
            self._accounts[ALL] = _Account(
                calls=kept.calls, tokens=kept.tokens, cost_usd=kept.cost_usd
            )
        self._under_way = 0

    @contextmanager
    def call(self, session_id: str) -> Iterator[Callable[[Spent], None]]:
        """One call; what it took is told to the function that the block is given.

        Raises Refusal, with the time after which it makes sense to try again.
        """
        accounts = self._admit(session_id)
        self._under_way += 1

        def charge(spent: Spent) -> None:
            for account in accounts:
                account.tokens += spent.input_tokens + spent.output_tokens
                account.cost_usd += spent.cost_usd or 0.0
            self._save()

        try:
            yield charge
        finally:
            self._under_way -= 1

    def _admit(self, session_id: str) -> list[_Account]:
        now_s = self._clock.now_s()
        day = int(now_s // DAY_S)
        if day != self._day:
            self._day = day
            self._accounts.clear()
        if self._under_way >= self._bounds.concurrency_max:
            raise _refusal(Reason.MODEL_CONCURRENCY_MAX, RETRY_AFTER_S)
        left_s = (day + 1) * DAY_S - now_s
        held = [(ALL, self._bounds.all, _OF_ALL)]
        if session_id != ALL:
            held.append((session_id, self._bounds.session, _OF_SESSION))
        for name, allowance, reasons in held:
            if reason := _met(self._accounts.get(name, _Account()), allowance, reasons):
                raise _refusal(reason, left_s)
        accounts = [self._accounts.setdefault(name, _Account()) for name, _, _ in held]
        for account in accounts:
            account.calls += 1
        self._save()
        return accounts

    def _save(self) -> None:
        used = self._accounts.get(ALL, _Account())
        self._ledger.save(
            DaySpent(day=self._day, calls=used.calls, tokens=used.tokens, cost_usd=used.cost_usd)
        )


_Reasons = tuple[Reason, Reason, Reason]

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


def _met(account: _Account, allowance: Allowance, reasons: _Reasons) -> Reason | None:
    """The first bound that an account has reached."""
    calls, tokens, cost = reasons
    if account.calls >= allowance.calls_max:
        return calls
    if account.tokens >= allowance.tokens_max:
        return tokens
    return cost if account.cost_usd >= allowance.cost_usd_max else None


def _refusal(reason: Reason, retry_after_s: float) -> Refusal:
    key = reason.value.lower()
    return Refusal(reason, f"{key} is reached", retry_after_s=retry_after_s)
