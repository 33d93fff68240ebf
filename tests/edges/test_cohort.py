"""Turns that are under way at the same time."""

import asyncio

import pytest

from sidecar.adapters.calls.cohort import Cohort


async def take(cohort: Cohort, name: str, seen: list[str]) -> None:
    with cohort:
        for stage in ("read", "decided", "answered"):
            await cohort.abreast()
            seen.append(f"{name} {stage}")


async def test_turns_under_way_together_take_their_stages_side_by_side() -> None:
    cohort, seen = Cohort(), list[str]()
    with cohort:  # as one whose answer is being written
        await asyncio.gather(take(cohort, "a", seen), take(cohort, "b", seen))

    assert seen == ["a read", "b read", "a decided", "b decided", "a answered", "b answered"]


async def test_a_turn_that_is_alone_goes_through_its_stages_at_once() -> None:
    cohort, seen = Cohort(), list[str]()
    asyncio.get_running_loop().call_soon(seen.append, "somebody else")
    await take(cohort, "a", seen)

    assert seen == ["a read", "a decided", "a answered"]


async def test_nobody_waits_for_others_while_somebody_lags() -> None:
    cohort, seen = Cohort(), list[str]()
    asyncio.get_running_loop().call_soon(seen.append, "somebody else")
    with cohort, cohort.lagging():
        await take(cohort, "a", seen)

    assert seen == ["a read", "a decided", "a answered"]


async def test_a_turn_that_ended_badly_is_waited_for_by_nobody() -> None:
    cohort, seen = Cohort(), list[str]()
    with pytest.raises(ConnectionError), cohort:
        raise ConnectionError
    asyncio.get_running_loop().call_soon(seen.append, "somebody else")
    await take(cohort, "a", seen)

    assert seen == ["a read", "a decided", "a answered"]
