"""The same call with the same result again and again, with other calls in between.

Other work goes on here, so more patience is due than with a plain repeat: a few times close
together without a successful write, or many failures far apart whatever was written. Only results
that say something count. Coming back to a page, or to what one is waiting for, is no loop.
"""

from collections.abc import Iterator

from sidecar.core.turn import CallKind, ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named, near
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import (
    DENIED,
    FAILED,
    NEWS,
    PAIR,
    SEEN,
    WAITING,
    Window,
    is_plain,
)


def nearby(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call and result, counted close by since the last successful write."""
    calls = min(limits.nearby_window, window.write_age)
    if not _counts(window, call) or not calls:
        return None
    count = window.pairs[-calls * PAIR.size :].count(window.pair)
    if count < 2 or _is_look_between_work(window, calls) or _varies(window, calls):
        return None
    if not limits.concern(count, limits.nearby_warning, limits.nearby_break):
        return near(count, limits.nearby_warning, limits.nearby_break)
    turns = window.turns_with_pair(window.pair, calls)
    return Finding(
        count=count,
        warning=limits.nearby_warning,
        break_=limits.nearby_break,
        summary=f"{named(call)} was called {count} times within {limits.nearby_window} calls with "
        f"the same arguments and the same result ({in_turns(turns)}), with no successful write "
        "in between",
        key=call.call,
        since=turns[0],
    )


def far(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, failed with a result it had, counted over a longer stretch whatever was
    written; results that come by turns count together. Only failures: a test that goes on passing
    is run after every edit, and rightly so. Nor is it a loop where each time something was learned
    in between: of a suite two tests may have failed before, and go on failing while the run works
    its way through other files."""
    if not window.traits & FAILED or not _counts(window, call):
        return None
    places = _failed_as_before(window, min(limits.far_window, window.step_age))
    count = sum(map(len, places))
    if not limits.concern(count, limits.far_warning, limits.far_break):
        return near(count, limits.far_warning, limits.far_break)
    if window.lessons_of_last(limits.far_window) >= count - 1:
        return None
    all_turns = window.turns_of_last(limits.far_window)
    turns = [all_turns[at] for at in sorted(at for each in places for at in each)]
    results = "the same result" if len(places) == 1 else f"one of the same {len(places)} results"
    return Finding(
        count=count,
        warning=limits.far_warning,
        break_=limits.far_break,
        summary=f"{named(call)} failed {count} times within {limits.far_window} calls with "
        f"the same arguments and {results} ({in_turns(turns)}), whatever was done in between",
        key=call.call,
        since=turns[0],
    )


def _failed_as_before(window: Window, calls: int) -> list[list[int]]:
    """For each result with which the latest call failed more than once among so many entries, and
    since it last worked, where it did. A result that has not come since the latest one first came
    was left behind: of 31 failures there are 28 now."""
    places: dict[bytes, list[int]] = {}
    for at, result, traits in _latest_call(window, calls):
        if traits & FAILED:
            places.setdefault(result, []).append(at)
        elif not traits & DENIED:
            places.clear()
    latest = places.get(window.pair[8:])
    if latest is None:
        return []
    return [found for found in places.values() if len(found) > 1 and found[-1] >= latest[0]]


def _latest_call(window: Window, calls: int) -> Iterator[tuple[int, bytes, int]]:
    """Place, result and traits of each of the last so many entries that is of the latest call."""
    entries = PAIR.iter_unpack(window.pairs[-calls * PAIR.size :])
    for at, ((call, result), traits) in enumerate(
        zip(entries, window.traits_of_last(calls), strict=True)
    ):
        if window.pair.startswith(call):
            yield at, result, traits


def _is_look_between_work(window: Window, calls: int) -> bool:
    """Whether at least every other call has brought news since the pair came in the window."""
    pairs = window.pairs[-calls * PAIR.size :]
    first = next(at for at in range(calls) if pairs.startswith(window.pair, at * PAIR.size))
    since = window.traits_of_last(calls)[first + 1 :]
    return sum(1 for traits in since if traits & NEWS) * 2 >= len(since)


def _varies(window: Window, calls: int) -> bool:
    """Whether among so many entries the latest call has both failed and worked: a test that does so
    with nothing changed is run again to see how often."""
    outcomes = {traits & FAILED for _, _, traits in _latest_call(window, calls)}
    return len(outcomes) > 1


def _counts(window: Window, call: ToolCall) -> bool:
    return (
        bool(window.traits & SEEN)
        and is_plain(call)
        and not window.traits & WAITING
        and call.kind is not CallKind.NAVIGATION
    )
