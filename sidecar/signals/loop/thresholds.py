"""How much repetition is too much, rule by rule."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final

from sidecar.core.bounds import require_at_least, require_whole
from sidecar.core.value import value
from sidecar.signals.loop.window import LOOK_BACK

MORE_PRESSES: Final = 7
"""Tries more for a click or a key that is merely confirmed, and for rounds of such: nine months
ahead are reached undisturbed."""

TEXTS_MAX: Final = 32
"""Messages of a monologue that are remembered: eight rounds of the longest period."""
MESSAGES_MAX: Final = 16
"""Messages to a person that are remembered; more than a window of 12 turns can hold."""
MOST: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("monologue_warning", "monologue_break"), TEXTS_MAX),
        "echo_warning": MESSAGES_MAX,
        **dict.fromkeys(("cycle_warning", "cycle_break", "cycle_period_max"), LOOK_BACK // 2),
    }
)
"""What can be counted at all: a cycle of two calls, and two rounds of a longer one."""


@value
class LoopThresholds:
    """Limits of every rule; None: never.

    Unless a line says otherwise a `_warning` and a `_break` are counts that are reached, and a
    `_window` is a number of calls. The numbers were chosen on 916 recorded runs so that no run
    that ended well is broken; where a choice was close its reason stands beside it.
    """

    repeat_warning: int | None = 3
    """The same call with the same result, nothing new in between."""
    repeat_break: int | None = 4
    """At 3 nothing is left between nudge and stop; at 5, 5 of 44 scripted loops were missed. One
    more for a silent call between others, where nothing shows that the same came of it."""
    failing_warning: int | None = 3
    """The same call failing, whatever the error says."""
    failing_break: int | None = 4
    nearby_warning: int | None = 3
    """The same call with the same plain result, other calls between, no successful write."""
    nearby_break: int | None = 5
    nearby_window: int = 12
    far_warning: int | None = 6
    """The same call failing with the same plain result, writes allowed: many more repeats are
    needed, since work goes on in between."""
    far_break: int | None = 9
    far_window: int = 40
    answer_warning: int | None = 4
    """The same plain result of the same tool, whatever the arguments."""
    answer_warning_window: int = 5
    answer_break: int | None = 5
    answer_fruitless_break: int | None = 4
    """The same within `answer_break_window` where nothing new and no successful write came in
    between. An eighth more of the turns of runs that failed is saved by it."""
    answer_break_window: int = 8
    cycle_warning: int | None = None
    """Rounds of a repeating sequence. At 2 it nudged one more of the runs that ended well, and
    found no stuck one that was not found anyway."""
    cycle_break: int | None = 3
    cycle_period_max: int = 6
    """Calls in one round, from 2. All rounds together are seen among the last 64 calls."""
    stale_warning: int | None = 6
    """Turns whose results are all plain and none of them new for its tool."""
    stale_break: int | None = 8
    """Two turns for a nudge to work. At 9, 24 turns fewer were saved in 244 runs that failed, and
    no more of those that ended well were left alone."""
    overview_warning: int | None = 6
    """Looks at the whole (`git status`) in a row that told nothing new."""
    overview_break: int | None = 8
    waiting_warning: int | None = 9
    """Waits with nothing changing, a pause and the look after it in one turn being one; and
    failures of one call with a pause before each."""
    waiting_break: int | None = 10
    waiting_max_s: float | None = 3600.0
    """Whole seconds of waiting with nothing changing, where turns carry their times. An hour, so
    that a long build polled every ten minutes is left alone."""
    failed_turns_warning: int | None = 16
    """Turns in which every call failed, whatever the calls and the errors. Audits and checks of
    what must be refused fail all the way, and rightly so, but are seldom as long: 8 of 10 disturbed
    13 of 99 runs that were written to show that."""
    failed_turns_window: int = 20
    """Turns with calls."""
    failed_edits_warning: int | None = 4
    """Turns in which an edit failed, since one last worked. At 3 it nudged two recorded runs that
    people judged not stuck."""
    failed_edits_window: int = 12
    """Turns."""
    refusal_warning: int | None = 2
    """The same call denied."""
    refusal_break: int | None = 3
    compaction_warning: int | None = 2
    """Times the context was compacted without progress in between."""
    compaction_break: int | None = 3
    monologue_warning: int | None = 2
    """Turns in a row that only say the same."""
    monologue_break: int | None = 3
    chant_warning: int | None = 6
    """Times that one phrase is chanted within one text."""
    chant_break: int | None = 10
    echo_warning: int | None = 3
    """The same message as answer to so many different messages of a person."""
    echo_window: int = 12
    """Turns."""
    dialogue_warning: int | None = 10
    """Exchanges with a person in which no tool was called, by an agent that has used one."""
    idling_warning: int | None = 10
    """Turns in a row that only talk, and briefly, or plan anew, with nobody there, by an agent that
    has used a tool: as patient as with a person."""
    strike_discount: int = 1
    """How much sooner the same loop breaks when it comes again within the run, with no write made
    for the first time in between."""
    founding_break: int | None = None
    """Equal calls among the last `founding_window`, whatever came of them."""
    founding_window: int = 5

    def __post_init__(self) -> None:
        """Refuse counts below 2, since once is no repeat, and what is beyond all that is kept."""
        for field in fields(self):
            limit = getattr(self, field.name)
            is_rule = field.name.endswith(("_warning", "_break", "_period_max", "_window"))
            require_at_least(2 if is_rule else 0, **{field.name: limit})
            if field.name == "waiting_max_s" and limit is not None:
                require_whole(2, waiting_max_s=limit)
            most = LOOK_BACK if field.name.endswith("_window") else MOST.get(field.name)
            if most is not None and limit is not None and limit > most:
                raise ValueError(f"{field.name} is {limit}: it must be at most {most}")

    def concern(self, count: int, warning: int | None, break_: int | None) -> bool:
        """Whether a count may reach one of two limits, a strike taken into account: below that
        nobody needs its evidence."""
        return (warning is not None and count >= warning) or (
            break_ is not None and count >= break_ - self.strike_discount
        )


def later(limit: int | None, tries: int) -> int | None:
    """The limit with so many more tries."""
    return None if limit is None else limit + tries


_OFF: Final[dict[str, Any]] = {
    field.name: None
    for field in fields(LoopThresholds)
    if field.name.endswith(("_warning", "_break", "_s"))
}
FOUNDING: Final = LoopThresholds(**{**_OFF, "founding_break": 3})
"""The loop detector this project is founded on: 3 equal calls among the last 5, no warning."""
