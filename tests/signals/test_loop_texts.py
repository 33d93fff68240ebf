"""What is said: a monologue, the same answer to a person, a talk without tools, chanting."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress, ResultKind, Turn
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal

HELLO = '"I am sorry, I cannot help with that."'
"""Long enough to be an answer of its own."""


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("twice warns, three times break", '"a" "a" "a" "a"', ".wbb"),
        ("other words are none", '"a" "b" "c" "d"', "...."),
        ("two that go round count rounds", '"a" "b" "a" "b" "a" "b"', "...wwb"),
        ("four that go round too", '"a" "b" "c" "d" ' * 3, "." * 7 + "wwwwb"),
        ("five are too many", '"a" "b" "c" "d" "e" ' * 3, "." * 15),
        ("what comes back between new words is none", '"a" "b" "c" "a" "d" "a"', "......"),
        ("a call in between ends it", '"a" "a" x "a" "a"', ".w..w"),
        ("a turn without anything does not", '"a" "a" - "a"', ".w.b"),
        ("a person in between ends it", '"a" "a" >"a" "a"', ".w.w"),
        ("a person's word alone does so too", '"a" "a" > "a" "a"', ".w..w"),
    ],
)
def test_monologue(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("monologue"))


@pytest.mark.parametrize(
    "progress",
    [{"files_changed": 1}, {"tasks_completed": 1}],
    ids=lambda progress: next(iter(progress)),
)
def test_a_turn_that_reports_progress_ends_a_monologue(progress: dict[str, int]) -> None:
    said = [replace(turn, progress=Progress(**progress)) for turn in run('"a" "a" "a" "a" "a"')]
    check_signal(LOOP, said, ".....", only("monologue"))


def test_the_evidence_of_a_monologue_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run('- "a" "a"'), "..w", only("monologue"))[-1]
    assert reading.summary == "2 turns without a tool call said the same (turns 2 to 3)"
    assert (reading.value, reading.threshold) == (2, 2)


def test_the_evidence_of_a_round_names_its_messages() -> None:
    reading = check_signal(LOOP, run('"a" "b" "a" "b"'), "...w", only("monologue"))[-1]
    assert reading.summary == (
        "4 turns without a tool call said the same 2 messages in turn (turns 1 to 4)"
    )


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("three answers alike warn", f">{HELLO} >{HELLO} >{HELLO}", "..w"),
        ("with calls in between", f">{HELLO} >x* {HELLO} >y! >{HELLO}", "....w"),
        ("with calls that taught something", f">{HELLO} >x {HELLO} >y {HELLO}", "....."),
        ("the same said twice at once is one answer", f">{HELLO} {HELLO} {HELLO}", "..."),
        ("nor two to two messages three", f">{HELLO} {HELLO} >{HELLO}", "..."),
        ("twenty-one characters are a message", '>"123456789012345678901" ' * 3, "..w"),
        ("twenty are not", '>"12345678901234567890" ' * 3, "..."),
        ("nobody spoke, nobody was answered", f"{HELLO} x {HELLO} y {HELLO}", "....."),
        (
            "short words answer many things",
            '>"Yes, it is done now." >"Yes." >"Yes." >"Yes."',
            "....",
        ),
        ("within twelve turns", f">{HELLO} >{HELLO} " + "x= " * 9 + f">{HELLO}", "." * 11 + "w"),
        ("not beyond", f">{HELLO} >{HELLO} " + "x= " * 10 + f">{HELLO}", "." * 13),
    ],
)
def test_echo(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("echo"))


def test_the_warning_of_echoes_can_come_at_the_second() -> None:
    check_signal(LOOP, run(f">{HELLO} >{HELLO}"), ".w", only("echo", echo_warning=2))


def test_words_before_a_call_are_no_answer() -> None:
    (said,) = run(HELLO)
    turns = [
        replace(turn, text=said.text, text_length=said.text_length)
        for turn in run(">x(1) >x(2) >x(3) >x(4)")
    ]
    check_signal(LOOP, turns, "....", only("echo"))


def test_the_evidence_of_an_echo_names_count_and_turns() -> None:
    words = f">{HELLO} >x* {HELLO} >{HELLO}"
    reading = check_signal(LOOP, run(words), "...w", only("echo"))[-1]
    assert reading.summary == (
        "the same message was the answer to 3 different messages of a person (turns 1, 3, 4)"
    )
    assert (reading.value, reading.threshold) == (3, 3)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("ten exchanges warn", "x " + '>"a" ' * 11, "..........ww"),
        ("an agent that never used a tool may have none", '>"a" ' * 20, "." * 20),
        ("a call starts it again", "x " + '>"a" ' * 9 + '>x >"a"', "." * 12),
        ("more words to one message are one exchange", "x " + '>"a" "b" "c" ' * 5, "." * 16),
        ("without a person there is no exchange", "x " + '"a" ' * 20, "." * 21),
    ],
)
def test_dialogue(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("dialogue"))


def test_the_evidence_of_a_dialogue_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run("x " + '>"a" ' * 10), "." * 10 + "w", only("dialogue"))[-1]
    assert reading.summary == (
        "10 messages of a person were answered without calling a tool (turns 2 to 11)"
    )
    assert (reading.value, reading.threshold) == (10, 10)


ANNOUNCED = " ".join(f'"now step {number}"' for number in range(12))
"""Twelve turns that announce something else each."""


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("ten turns that only talk warn", f"x {ANNOUNCED}", "." * 10 + "www"),
        ("an agent that never used a tool may talk", ANNOUNCED, "." * 12),
        ("a call starts it again", f'x "a" "b" y {ANNOUNCED}', "." * 13 + "www"),
        ("so does a person, who is another rule's", f"x >{ANNOUNCED}", "." * 11 + "ww"),
        ("a turn that says nothing neither adds nor ends", f"x - {ANNOUNCED}", "." * 11 + "www"),
    ],
)
def test_idling(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("idling"))


def said(**facts: object) -> list[Turn]:
    """A call, and twelve turns that only talk, of which the seventh is as `facts` say."""
    turns = run(f"x {ANNOUNCED}")
    return [*turns[:7], replace(turns[7], **facts), *turns[8:]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "facts"),
    [
        ("a long text is work of its own", {"text_length": 601}),
        ("progress is more than talk", {"progress": Progress(files_changed=1)}),
        ("what others learned may be talked about", {"others_progressed": True}),
        ("and so may what they changed", {"others_changed": True}),
    ],
)
def test_idling_ends_with_a_turn_that_is_more_than_talk(why: str, facts: dict[str, object]) -> None:
    check_signal(LOOP, said(**facts), "." * 13, only("idling"))


def test_a_text_of_six_hundred_characters_may_only_announce() -> None:
    check_signal(LOOP, said(text_length=600), "." * 10 + "www", only("idling"))


def test_the_evidence_of_idling_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run(f"x {ANNOUNCED}"), "." * 10 + "www", only("idling"))[10]
    assert reading.summary == (
        "10 turns in a row talked or planned, and called no tool that acts (turns 2 to 11)"
    )
    assert (reading.value, reading.threshold) == (10, 10)


@pytest.mark.parametrize(
    ("name", "kind", "readings"),
    [
        ("TodoWrite", ResultKind.EMPTY, "." * 10 + "www"),
        ("think", ResultKind.ACKNOWLEDGEMENT, "." * 10 + "www"),
        ("think", ResultKind.PLAIN, "." * 13),
        ("sequentialthinking", ResultKind.ACKNOWLEDGEMENT, "." * 13),
        ("bash", ResultKind.EMPTY, "." * 13),
    ],
)
def test_plans_and_noted_thoughts_are_talk(name: str, kind: ResultKind, readings: str) -> None:
    first, *rest = run(f"x {ANNOUNCED}")
    call = replace(first.tool_calls[0], name=name, result_kind=kind)
    turns = [replace(turn, text=None, tool_calls=(call,)) for turn in rest]
    check_signal(LOOP, [first, *turns], readings, only("idling"))


def test_an_agent_that_has_done_nothing_yet_may_plan_for_as_long_as_it_likes() -> None:
    (call,) = run("x")[0].tool_calls
    plan = replace(call, name="TodoWrite", result_kind=ResultKind.EMPTY)
    turns = [replace(turn, tool_calls=(plan,)) for turn in run(ANNOUNCED)]
    check_signal(LOOP, turns, "." * 12, only("idling"))


def chanting(*repeats: int) -> list[Turn]:
    """Turns whose texts chant so often."""
    (said,) = run('"la la la"')
    return [
        replace(said, sequence=place + 1, text=bytes([place]) * 8, text_repeats=times)
        for place, times in enumerate(repeats)
    ]


def test_six_chants_warn_and_ten_break() -> None:
    check_signal(LOOP, chanting(5, 6, 9, 10, 0, 300), ".wwb.b", only("chant"))


def test_chants_are_counted_in_a_turn_with_calls_too() -> None:
    turns = [replace(turn, text_repeats=12) for turn in run("x")]
    check_signal(LOOP, turns, "b", only("chant"))


def test_the_evidence_of_chanting_names_count_and_turn() -> None:
    reading = check_signal(LOOP, chanting(12), "b", only("chant"))[-1]
    assert reading.summary == "one phrase stands 12 times at equal distances in the text of turn 1"
    assert (reading.value, reading.threshold) == (12, 10)
