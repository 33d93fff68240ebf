"""The look-back: the last calls of one actor, packed so that comparing them is work for C.

Three strings run in parallel, one entry a call, oldest first: `pairs` (call and result), `answers`
(tool and result) and `records` (what was found when the call was added). Each entry remembers how
often its call had come back by then, so a rule reads one number instead of walking the window.

What separates two calls is kept as an age: the number of entries since. An age of 1 is the latest
entry itself, 0 lies after it; so something stands between entry i and the end when its age is at
most the number of entries after i.
"""

from struct import Struct
from typing import Final

from sidecar.core.digests.tool_name import notes_thoughts, only_plans, runs_commands
from sidecar.core.packed import position
from sidecar.core.turn import CallKind, Outcome, ResultKind, ToolCall
from sidecar.core.value import value

LOOK_BACK: Final = 64
"""Calls, as many as the memory behind `Turn.news` holds; the widest window of any rule is 40."""

PAIR: Final = Struct("8s8s")
ANSWER: Final = Struct("4s4s")
"""Four bytes of each digest: enough to tell 64 entries apart (one chance in 2^21 a window that any
two tools or any two results of a tool are taken for one)."""
RECORD: Final = Struct("<IBBBB4s")
"""Turn, repeats, failures in a row, traits, manner, position of the error."""
NO_RESULT: Final = bytes(8)
COUNT_MAX: Final = 255
"""Counts stop here, since they are kept in a byte."""
LONG_AGO: Final = LOOK_BACK + 1
"""An age that lies before every entry."""

FAILED: Final = 1
DENIED: Final = 2
WAITING: Final = 4
"""The call only waits, its result says that something is still running, or it looks again after a
pause at what has not changed."""
SILENT_STEP: Final = 8
"""A step of a navigation whose result does not show where it led."""
SEEN: Final = 16
"""The call had this very result before."""
KNOWN_ANSWER: Final = 32
"""The tool had given this result before, whatever it was asked."""
NEWS: Final = 64
"""The call brought something that the run had not seen."""

PRESSED: Final = 128
"""A control was worked, and the result says so and does not show what that did."""

EDIT: Final = 1
"""Of the manner: the call was to change something, and no more. What a shell is given may as well
have changed it, and failed at what came after."""
STEPPED: Final = 4
"""Of the manner: a step that led on, so that what is looked at next is something else."""


@value
class Window:
    """The last calls of one actor since a person spoke or the context was compacted."""

    pairs: bytes = b""
    answers: bytes = b""
    records: bytes = b""
    progress_age: int = LONG_AGO
    """Of the latest news, first-time write or changed file."""
    write_age: int = LONG_AGO
    """Of the latest successful write or changed file."""
    fresh_age: int = LONG_AGO
    """Of the latest call that succeeded with a result it had not had, silent ones included."""
    pause_age: int = LONG_AGO
    """Of the latest call that only waits."""

    def __post_init__(self) -> None:
        """Refuse strings that do not run in parallel: a snapshot may hold anything."""
        pairs = len(self.pairs)
        if pairs * RECORD.size != len(self.records) * PAIR.size or pairs != 2 * len(self.answers):
            raise ValueError("the look-back is cut")

    def with_call(self, call: ToolCall, sequence: int, *, news: bool) -> "Window":
        """The window with one more call at its end."""
        result = call.result or NO_RESULT
        pair = PAIR.pack(call.call, result)
        answer = ANSWER.pack(call.tool, result)
        before = position(self.pairs, pair[:8], PAIR.size) // PAIR.size  # -1: never
        news = news or (before < 0 and _tells_of_another(call))
        seen = before >= 0 and (
            self.pairs.startswith(pair, before * PAIR.size)
            or position(self.pairs, pair, PAIR.size) >= 0
        )
        known = position(self.answers, answer, ANSWER.size) >= 0
        traits = _traits(call) | (SEEN if seen else 0) | (KNOWN_ANSWER if known else 0)
        traits |= NEWS if news else 0
        repeats = failures = 1
        if before >= 0:
            if self._waits(before, pair, traits):
                traits |= WAITING
            repeats, failures = self._again(before, call, pair, traits)
        record = RECORD.pack(
            sequence & 0xFFFFFFFF,
            repeats,
            failures if traits & (FAILED | DENIED) else 0,
            traits,
            _manner(call) | (STEPPED if news and call.kind is CallKind.NAVIGATION else 0),
            call.error_position,
        )
        succeeded = not traits & (FAILED | DENIED)
        writes = succeeded and call.kind is CallKind.WRITE
        pauses = call.kind is CallKind.WAIT
        return Window(
            pairs=(self.pairs + pair)[-LOOK_BACK * PAIR.size :],
            answers=(self.answers + answer)[-LOOK_BACK * ANSWER.size :],
            records=(self.records + record)[-LOOK_BACK * RECORD.size :],
            progress_age=1 if news or (writes and not seen) else self.progress_age + 1,
            write_age=1 if writes else self.write_age + 1,
            fresh_age=1 if succeeded and not seen and not pauses else self.fresh_age + 1,
            pause_age=1 if pauses else self.pause_age + 1,
        )

    def with_movement(self) -> "Window":
        """The window after something moved by other means than its calls: a file changed, or other
        actors of the run progressed."""
        return Window(
            pairs=self.pairs,
            answers=self.answers,
            records=self.records,
            progress_age=0,
            write_age=0,
            fresh_age=0,
            pause_age=self.pause_age,
        )

    def holds_pair(self, call: ToolCall) -> bool:
        """Whether the call had this very result before."""
        return position(self.pairs, PAIR.pack(call.call, call.result or NO_RESULT), PAIR.size) >= 0

    @property
    def pair(self) -> bytes:
        """Call and result of the latest entry."""
        return self.pairs[-PAIR.size :]

    @property
    def answer(self) -> bytes:
        """Tool and result of the latest entry."""
        return self.answers[-ANSWER.size :]

    @property
    def repeats(self) -> int:
        """Times in a row that the latest call had its result, with nothing new in between."""
        return self.records[-8]

    @property
    def failures(self) -> int:
        """Times in a row that the latest call failed, or was denied; 0: it was neither."""
        return self.records[-7]

    @property
    def traits(self) -> int:
        """Traits of the latest entry."""
        return self.records[-6]

    def traits_of_last(self, calls: int) -> bytes:
        """Traits of the last so many entries, one byte each."""
        return self.records[-calls * RECORD.size :][6 :: RECORD.size]

    def lessons_of_last(self, calls: int) -> int:
        """How many of the last so many entries brought news, and were no edits."""
        records = self.records[-calls * RECORD.size :]
        pairs = zip(records[6 :: RECORD.size], records[7 :: RECORD.size], strict=True)
        return sum(1 for traits, manner in pairs if traits & NEWS and not manner & EDIT)

    @property
    def is_made_again(self) -> bool:
        """Whether the latest call stands in the look-back before, whatever came of it."""
        return position(self.pairs[: -PAIR.size], self.pair[:8], PAIR.size) >= 0

    @property
    def is_looked_at_anew(self) -> bool:
        """Whether the latest call, made after another one, had its result just once before: of
        several things each is looked at a second time."""
        return (
            self.pairs[-2 * PAIR.size : -PAIR.size] != self.pair
            and self.pairs.count(self.pair) == 2
        )

    @property
    def waited_otherwise_in_turn(self) -> bool:
        """Whether in the latest call's turn another call waited before it."""
        turn, call = self.records[-RECORD.size :][:4], self.pair[:8]
        for age in range(2, len(self.records) // RECORD.size + 1):
            at = len(self.records) - age * RECORD.size
            if not self.records.startswith(turn, at):
                return False
            is_other = not self.pairs.startswith(call, len(self.pairs) - age * PAIR.size)
            if is_other and self.records[at + 6] & WAITING:
                return True
        return False

    @property
    def step_age(self) -> int:
        """Entries since the latest step that led on."""
        manners = self.records[7 :: RECORD.size]
        for age, manner in enumerate(reversed(manners)):
            if manner & STEPPED:
                return age
        return LONG_AGO

    def turns_of_last(self, calls: int) -> tuple[int, ...]:
        """Turns of the last so many entries."""
        recent = self.records[-calls * RECORD.size :]
        return tuple(record[0] for record in RECORD.iter_unpack(recent))

    def turns_with_pair(self, key: bytes, calls: int) -> tuple[int, ...]:
        """Turns of those among the last so many entries whose pair begins with the key."""
        pairs = self.pairs[-calls * PAIR.size :]
        turns = self.turns_of_last(calls)
        return tuple(turn for at, turn in enumerate(turns) if pairs.startswith(key, at * PAIR.size))

    def turns_with_answer(self, calls: int) -> tuple[int, ...]:
        """Turns of those among the last so many entries that have the latest answer."""
        answers = self.answers[-calls * ANSWER.size :]
        turns = self.turns_of_last(calls)
        return tuple(
            turn for at, turn in enumerate(turns) if answers.startswith(self.answer, at * 8)
        )

    def _waits(self, before: int, pair: bytes, traits: int) -> bool:
        """Whether a call whose latest entry before is this one looks again after a pause at what
        has not changed, or fails again after one, in whatever words: a server does not answer
        yet."""
        later = len(self.pairs) // PAIR.size - 1 - before
        if self.pause_age > later or traits & DENIED:
            return False
        failed_before = self.records[before * RECORD.size + 6] & FAILED
        return self.pairs.startswith(pair, before * PAIR.size) or bool(traits & failed_before)

    def _again(self, before: int, call: ToolCall, pair: bytes, traits: int) -> tuple[int, int]:
        """Repeats and failures of a call whose latest entry before is this one."""
        _, repeats, failures, old_traits, _, error_position = RECORD.unpack_from(
            self.records, before * RECORD.size
        )
        later = len(self.pairs) // PAIR.size - 1 - before
        same_result = self.pairs.startswith(pair, before * PAIR.size)
        moved = self.progress_age <= later
        if not same_result or moved:
            repeats = 0
        elif traits & WAITING:
            repeats -= 1  # counted elsewhere, with more patience
        if traits & DENIED:
            failures = failures if old_traits & DENIED else 0
        elif traits & FAILED:
            # A new error text after some other step that worked may be what the step changed.
            stirred = moved if same_result else self.fresh_age <= later
            there = RECORD.pack(0, 0, 0, 0, 0, call.error_position)[-4:] == error_position
            failures = failures if old_traits & FAILED and there and not stirred else 0
        return min(repeats + 1, COUNT_MAX), min(failures + 1, COUNT_MAX)


EMPTY: Final = Window()


def _traits(call: ToolCall) -> int:
    traits = 0
    if call.outcome is Outcome.ERROR:
        traits = FAILED
    elif call.outcome is Outcome.DENIED:
        traits = DENIED
    if waits(call):
        traits |= WAITING
    elif call.kind is CallKind.NAVIGATION and not traits and not is_plain(call):
        traits |= SILENT_STEP
    elif call.kind is CallKind.PRESS and not traits and _is_confirmed(call):
        traits |= PRESSED
    return traits


def _tells_of_another(call: ToolCall) -> bool:
    """Whether a call that was not made before says that something is on its way: of that one too
    it was not known."""
    return (
        call.result_kind is ResultKind.RUNNING
        and call.outcome is Outcome.OK
        and call.kind is not CallKind.WAIT
    )


def _manner(call: ToolCall) -> int:
    edits = call.kind is CallKind.WRITE and not runs_commands(call.name)
    return EDIT if edits else 0


def _is_confirmed(call: ToolCall) -> bool:
    """Whether a press was; a command that presses says nothing."""
    kind = call.result_kind
    silent = kind is ResultKind.EMPTY and runs_commands(call.name)
    return call.result is not None and (silent or kind is ResultKind.ACKNOWLEDGEMENT)


def waits(call: ToolCall) -> bool:
    """Whether the call only waits, or says that something still runs."""
    return call.kind is CallKind.WAIT or call.result_kind is ResultKind.RUNNING


def is_plain(call: ToolCall) -> bool:
    """Whether the result was reported and says more than that the call was made."""
    return call.result is not None and call.result_kind is ResultKind.PLAIN


def is_talk(call: ToolCall) -> bool:
    """Whether the agent only tells itself something. What is asked back is more than that."""
    return only_plans(call.name) or (
        notes_thoughts(call.name) and call.result_kind is not ResultKind.PLAIN
    )
