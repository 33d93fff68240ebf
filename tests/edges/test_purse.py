"""What model calls may cost: admitted, charged, and begun anew each day."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.spending_file import SPENDING, SpendingFile
from sidecar.config.keys import Config
from sidecar.config.models import JudgeSettings
from sidecar.models.purse import ACCOUNTS_KEPT_MAX, Allowance, Purse, PurseBounds
from sidecar.ports import DaySpent, Purpose, Spent, Used
from sidecar.refusal import Reason, Refusal
from sidecar.serving.answering import purse_bounds
from sidecar.testing import FakeClock, Losses
from sidecar.testing.clock import START_S

DAY_S = 86_400


def purse(clock: FakeClock | None = None, **allowed: float) -> Purse:
    plain = {"calls_max": 10, "tokens_max": 1_000, "cost_usd_max": 1.0, **allowed}
    allowance = Allowance(**plain)  # type: ignore[arg-type]
    bounds = PurseBounds(all=allowance, session=allowance, concurrency_max=2)
    return Purse(bounds, clock=clock or FakeClock())


def spend(held: Purse, spent: Spent, session_id: str = "") -> None:
    with held.call(session_id) as charge:
        charge(spent)


def refusal(held: Purse, session_id: str = "") -> Refusal:
    with pytest.raises(Refusal) as caught, held.call(session_id):
        pass
    return caught.value


def test_exactly_at_a_bound_is_reached() -> None:
    held = purse(tokens_max=100)
    spend(held, Spent(input_tokens=60, output_tokens=39))
    spend(held, Spent(input_tokens=1))
    assert refusal(held).reason is Reason.MODEL_TOKENS_MAX


def test_a_call_counts_from_its_beginning() -> None:
    held = purse(calls_max=1)
    with held.call(""):
        assert refusal(held).reason is Reason.MODEL_CALLS_MAX


def test_a_judge_leaves_a_place_to_calls_that_somebody_waits_for() -> None:
    held = purse()
    with held.call("a", Purpose.JUDGE):
        with pytest.raises(Refusal, match="MODEL_CONCURRENCY_MAX"), held.call("b", Purpose.JUDGE):
            pass
        with held.call("c", Purpose.COMMIT):
            pass


@pytest.mark.parametrize("whose", ["all", "session"])
@pytest.mark.parametrize(
    ("why", "allowed", "spent", "judged"),
    [
        ("a tenth of the calls", {"calls_max": 20}, Spent(), 18),
        ("of few calls one", {"calls_max": 3}, Spent(), 2),
        ("a tenth of the tokens", {"tokens_max": 100}, Spent(input_tokens=10), 9),
        ("a tenth of the cost", {"cost_usd_max": 10.0}, Spent(cost_usd=1.0), 9),
    ],
)
def test_a_judge_leaves_a_share_of_each_bound_to_calls_that_somebody_waits_for(
    why: str, allowed: dict[str, Any], spent: Spent, judged: int, whose: str
) -> None:
    wide = Allowance(calls_max=99, tokens_max=9_999, cost_usd_max=99.0)
    allowances: Any = {"all": wide, "session": wide, whose: replace(wide, **allowed)}
    held = Purse(PurseBounds(**allowances, judge_cost_usd_max=99.0), clock=FakeClock())
    for _ in range(judged):
        with held.call("a", Purpose.JUDGE) as charge:
            charge(spent)
    with pytest.raises(Refusal), held.call("a", Purpose.JUDGE):
        pass
    with held.call("a", Purpose.COMMIT) as charge:
        charge(spent)


@pytest.mark.parametrize(
    ("bounds", "purpose", "said"),
    [
        ({"session": Allowance(calls_max=3, tokens_max=9_999, cost_usd_max=9.0)}, None,
         "the bound of 3 calls a day (session_model_calls_max) is reached"),
        ({"all": Allowance(calls_max=9, tokens_max=2_000, cost_usd_max=9.0)}, None,
         "the bound of 2,000 tokens a day (model_tokens_max) is reached"),
        ({"all": Allowance(calls_max=9, tokens_max=9_999, cost_usd_max=0.5)}, None,
         "the bound of 0.5 US dollars a day (model_cost_usd_max) is reached"),
        ({"judge_cost_usd_max": 0.25}, Purpose.JUDGE,
         "the bound of 0.25 US dollars a day (judge.cost_usd_max) is reached"),
        ({"concurrency_max": 0}, None,
         "the bound of 0 calls at a time (model_concurrency_max) is reached"),
    ],
)  # fmt: skip
def test_a_refusal_says_the_bound_and_the_key_that_sets_it(
    bounds: dict[str, Any], purpose: Purpose | None, said: str
) -> None:
    held = Purse(PurseBounds(**bounds), clock=FakeClock())

    def ask_four_times() -> None:
        for _ in range(4):
            with held.call("a", purpose) as charge:
                charge(Spent(input_tokens=700, cost_usd=0.25))

    with pytest.raises(Refusal) as caught:
        ask_four_times()
    assert caught.value.message == said


def test_a_call_that_was_refused_does_not_count() -> None:
    held = purse(calls_max=2)
    with held.call("a"), held.call("b"):
        assert refusal(held).reason is Reason.MODEL_CONCURRENCY_MAX
    assert refusal(held).reason is Reason.MODEL_CALLS_MAX


def test_a_place_is_free_again_however_a_call_ended() -> None:
    held = purse()
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), held.call(""):
            raise ValueError("broken")
    with held.call(""), held.call(""):
        assert refusal(held).reason is Reason.MODEL_CONCURRENCY_MAX


def test_calls_without_a_session_count_over_all_only() -> None:
    held = purse(cost_usd_max=1.0)
    spend(held, Spent(cost_usd=1.0))
    assert refusal(held, "a").reason is Reason.MODEL_COST_USD_MAX


def test_the_judge_has_an_allowance_of_its_own_within_that_of_all() -> None:
    plain = Allowance(calls_max=10, tokens_max=1_000, cost_usd_max=1.0)
    bounds = PurseBounds(all=plain, session=plain, judge_cost_usd_max=0.25)
    held = Purse(bounds, clock=FakeClock())
    with held.call("a", Purpose.JUDGE) as charge:
        charge(Spent(cost_usd=0.25))
    with pytest.raises(Refusal, match="JUDGE_COST_USD_MAX"), held.call("b", Purpose.JUDGE):
        pass
    with held.call("b", Purpose.COMMIT) as charge:
        charge(Spent(cost_usd=0.75))
    assert refusal(held, "c").reason is Reason.MODEL_COST_USD_MAX


def test_a_day_ends_at_midnight_utc() -> None:
    clock = FakeClock(now_s=START_S + DAY_S - 1)
    held = purse(clock, calls_max=1)
    spend(held, Spent())
    assert refusal(held).retry_after_s == pytest.approx(1.0)
    clock.advance(1)
    spend(held, Spent())


def test_a_clock_that_is_set_back_begins_anew_and_raises_nothing() -> None:
    clock = FakeClock()
    held = purse(clock, calls_max=1)
    spend(held, Spent())
    clock.set_now_s(START_S - 5 * DAY_S)
    spend(held, Spent())
    assert refusal(held)


def test_the_bounds_are_those_of_the_configuration() -> None:
    config = Config(
        model_calls_max=1,
        model_tokens_max=2,
        model_cost_usd_max=3.0,
        session_model_calls_max=4,
        session_model_tokens_max=5,
        session_model_cost_usd_max=6.0,
        model_concurrency_max=7,
        judge=JudgeSettings(cost_usd_max=8.0),
    )
    assert purse_bounds(config) == PurseBounds(
        all=Allowance(calls_max=1, tokens_max=2, cost_usd_max=3.0),
        session=Allowance(calls_max=4, tokens_max=5, cost_usd_max=6.0),
        judge_cost_usd_max=8.0,
        concurrency_max=7,
    )
    assert purse_bounds(Config()) == PurseBounds()


# Over a restart

PATIENT_S = 20.0


def one_call_a_session(ledger: SpendingFile) -> Purse:
    many = Allowance(calls_max=10, tokens_max=1_000, cost_usd_max=1.0)
    once = Allowance(calls_max=1, tokens_max=1_000, cost_usd_max=1.0)
    return Purse(PurseBounds(all=many, session=once), clock=FakeClock(), ledger=ledger)


def bounded(ledger: SpendingFile, *, calls_max: int = 10) -> Purse:
    allowance = Allowance(calls_max=calls_max, tokens_max=1_000, cost_usd_max=1.0)
    bounds = PurseBounds(all=allowance, session=allowance)
    return Purse(bounds, clock=FakeClock(), ledger=ledger)


def test_a_restart_does_not_begin_the_day_anew(tmp_path: Path) -> None:
    path = tmp_path / "state" / "spending.json"
    first = SpendingFile(path, lost=Losses())
    spend(bounded(first), Spent(input_tokens=7, output_tokens=3, cost_usd=0.5), "a")
    first.close(PATIENT_S)
    second = SpendingFile(path, lost=Losses())
    used = Used(calls=1, tokens=10, cost_usd=0.5)
    assert second.load() == DaySpent(
        day=int(START_S // DAY_S), accounts={"all": used, "session:a": used}
    )
    assert refusal(bounded(second, calls_max=1)).reason is Reason.MODEL_CALLS_MAX


def test_a_restart_does_not_begin_a_session_anew(tmp_path: Path) -> None:
    path = tmp_path / "spending.json"
    first = SpendingFile(path, lost=Losses())
    held = one_call_a_session(first)
    spend(held, Spent(), "a")
    spend(held, Spent(), "all")
    first.close(PATIENT_S)
    held = one_call_a_session(SpendingFile(path, lost=Losses()))
    assert refusal(held, "a").reason is Reason.SESSION_MODEL_CALLS_MAX
    assert refusal(held, "all").reason is Reason.SESSION_MODEL_CALLS_MAX
    spend(held, Spent(), "b")


def test_the_accounts_used_last_are_those_that_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "spending.json"
    before = SpendingFile(path, lost=Losses())
    sessions = {f"session:{number}": Used(calls=1) for number in range(ACCOUNTS_KEPT_MAX - 1)}
    used = Used(calls=len(sessions))
    before.save(DaySpent(day=int(START_S // DAY_S), accounts={"all": used, **sessions}))
    before.close(PATIENT_S)
    ledger = SpendingFile(path, lost=Losses())
    held = bounded(ledger, calls_max=2 * ACCOUNTS_KEPT_MAX)
    spend(held, Spent(), "1")
    spend(held, Spent(), "new")
    ledger.close(PATIENT_S)
    kept = ledger.load()
    assert kept is not None
    assert len(kept.accounts) == ACCOUNTS_KEPT_MAX
    assert kept.accounts["all"].calls == ACCOUNTS_KEPT_MAX + 1
    assert {"session:1", "session:new"} <= kept.accounts.keys()
    assert "session:0" not in kept.accounts


def test_what_was_spent_on_another_day_is_over(tmp_path: Path) -> None:
    path = tmp_path / "spending.json"
    ledger = SpendingFile(path, lost=Losses())
    used = Used(calls=99, tokens=10**9, cost_usd=99.0)
    ledger.save(DaySpent(day=1, accounts={"all": used}))
    ledger.close(PATIENT_S)
    spend(bounded(SpendingFile(path, lost=Losses())), Spent())


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "{}", "\x00"),
        '{"day": "x", "accounts": {}}',
        '{"day": 1e999, "accounts": {}}',
        '{"day": 1, "accounts": []}',
        '{"day": 1, "accounts": {"all": [1, 2]}}',
        '{"day": 1, "accounts": {"all": [1, 2, "x"]}}',
    ],
)
def test_a_file_that_is_broken_begins_the_day_anew_and_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spending.json"
    path.write_text(text, "utf-8")
    losses = Losses()
    assert SpendingFile(path, lost=losses).load() is None
    assert losses.counts == {(SPENDING, "unreadable"): 1}


def test_a_file_that_is_not_there_is_nothing_to_say(tmp_path: Path) -> None:
    losses = Losses()
    assert SpendingFile(tmp_path / "none", lost=losses).load() is None
    assert losses.counts == {}


def test_a_directory_that_cannot_be_written_stops_nothing_and_is_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    losses = Losses()
    ledger = SpendingFile(tmp_path / "file" / "spending.json", lost=losses)
    ledger.save(DaySpent(day=1))
    assert losses.wait_for(SPENDING, "unwritable", count=1)
    ledger.save(DaySpent(day=2))
    ledger.close(PATIENT_S)
    assert losses.counts == {(SPENDING, "unwritable"): 2}


def test_a_ledger_that_was_never_used_closes_at_once(tmp_path: Path) -> None:
    SpendingFile(tmp_path / "spending.json", lost=Losses()).close(0)
    assert list(tmp_path.iterdir()) == []
