"""One that fills its context with ever larger files."""

from types import MappingProxyType
from typing import Final

from sidecar.client import Kind
from sidecar.demo.calls import read, search, write
from sidecar.demo.mind import Context, Mind, Move, Script, Trouble

DAYS: Final = 24
WINDOW_TOKENS: Final = 32_000
"""Small, so that files of a few kilobytes fill it in a dozen turns."""

LINES_A_DAY: Final = 44
"""Day n has n times as many lines of 41 characters: 1.8 kB more a day, which is 97 % of the window
on the eleventh."""

FAILURES: Final = 7
"""Every so many requests fail; on even days none does."""


def _log(day: int) -> str:
    return "".join(
        f"day {day:02} request {number:05} took {(number * 37 + day) % 900:>3} ms: "
        f"{'failed' if day % 2 and number % FAILURES == 0 else 'served'}\n"
        for number in range(LINES_A_DAY * day)
    )


def _name(day: int) -> str:
    return f"logs/day-{day:02}.log"


def _script(_speed: float) -> Script:
    failures: dict[int, int] = {}
    for day in range(1, DAYS + 1):
        seen = yield Move(
            text=f"I read all of day {day} and count what failed.",
            calls=(read(_name(day)),),
            approach="read every log whole",
        )
        failures[day] = seen.results[0].text.count("ms: failed")
        if seen.directive.kind is not Kind.PROCEED:
            yield from _with_fresh_context(failures)
            return
    yield Move(text="I have read it all.", final_answer=_answer(sum(failures.values())))


def _with_fresh_context(failures: dict[int, int]) -> Script:
    notes = "".join(f"day {day}: {count} failed\n" for day, count in failures.items())
    yield Move(
        text="I write down what I know and begin afresh.",
        calls=(write("notes.md", notes),),
        approach="search for what failed",
        context=Context.FRESH,
    )
    seen = yield Move(
        text="I need the failures only, so I search for them.",
        calls=(search("ms: failed"),),
        approach="search for what failed",
    )
    found = seen.results[0].text.count("ms: failed")
    yield Move(text="That is all of them.", final_answer=_answer(found))


def _answer(failures: int) -> str:
    return f"{failures} requests failed in {DAYS} days, all of them on odd days."


FILLER: Final = Mind(
    name="filler",
    aim="fills its context with logs",
    files=MappingProxyType({_name(day): _log(day) for day in range(1, DAYS + 1)}),
    script=_script,
    trouble=Trouble(signal="token_overflow", turns_unwatched=DAYS + 1),
    window_tokens=WINDOW_TOKENS,
)
