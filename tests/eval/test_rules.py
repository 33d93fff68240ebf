"""The rules of other detectors, as we read them."""

from dataclasses import dataclass

import pytest

from eval.baselines.rules import gemini_cli, openhands_sdk, openhands_v0, qwen_code, roo_code
from eval.baselines.told import Judge, Step
from tests.eval.runs import Scenario, called, failed, said, scenarios, spoken_to, verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer and the suite it has to answer."""

    origin: str
    judge: Judge
    excepted: frozenset[str] = frozenset()
    """Scenarios that the suite asks of other rules than these."""


ALWAYS_ON = frozenset({"qwen-code/git_add_status_commit_8", "qwen-code/diverse_101_default_cap"})
"""What qwen-code's suite asks of the rules that are always on; its heuristics do stop these."""

SUITES = (
    Peer(origin="openhands", judge=openhands_v0.judge),
    Peer(origin="openhands-sdk", judge=openhands_sdk.judge),
    Peer(origin="gemini-cli", judge=gemini_cli.judge),
    Peer(origin="qwen-code", judge=qwen_code.with_heuristics, excepted=ALWAYS_ON),
    Peer(origin="roo-code", judge=roo_code.judge),
)
CASES = [
    pytest.param(peer, scenario, id=scenario.name)
    for peer in SUITES
    for scenario in scenarios(peer.origin)
    if scenario.name not in peer.excepted
]


@pytest.mark.parametrize(("peer", "scenario"), CASES)
def test_a_peer_read_by_us_answers_its_own_suite_as_it_does(peer: Peer, scenario: Scenario) -> None:
    spoke_at = [finding.sequence for _, finding in peer.judge([scenario.run])]
    if scenario.stuck:
        assert spoke_at
        assert spoke_at[0] <= scenario.by_turn
    else:
        assert scenario.by_turn not in spoke_at


@pytest.mark.parametrize(
    "scenario", [one for one in scenarios("qwen-code") if not one.stuck], ids=lambda one: one.name
)
def test_what_is_always_on_in_qwen_code_stops_nothing_its_suite_lets_pass(
    scenario: Scenario,
) -> None:
    assert not list(qwen_code.always_on([scenario.run]))


A, B = called("a", result="1"), called("b", result="2")
SO = said("so")
OTHER_RESULTS = [called("a", result=str(number)) for number in range(6)]


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("four equal pairs", [A] * 5, "...bb"),
        ("the result of a tool counts", OTHER_RESULTS, "......"),
        (
            "the output of a command does not",
            [called("run", result=str(number), command="make") for number in range(5)],
            "...bb",
        ),
        ("the thought counts", [called("a", text=text) for text in "abcdef"], "......"),
        ("three errors, whatever they say", [failed(result=text) for text in "abc"], "..b"),
        ("three pairs in turn", [A, B] * 3, ".....b"),
        ("three equal messages", [said("well")] * 3, "..b"),
        ("messages with a result between", [said("well"), said("well"), A, said("well")], "...."),
        ("a person begins it afresh", [A, A, A, spoken_to(A), A, A, A], "......b"),
    ],
)
def test_openhands_v0(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(openhands_v0.judge, *steps) == expected, why


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("four equal pairs", [A] * 5, "...bb"),
        ("the result counts", OTHER_RESULTS, "......"),
        ("the third error is pointed out once", [failed()] * 4, "..wb"),
        ("other errors are errors", [failed(result=text) for text in "abcd"], "..wb"),
        ("three pairs in turn", [A, B] * 3, ".....b"),
        ("three messages, whatever they say", [said(text) for text in "abc"], "..b"),
        ("a call between the messages", [said("a"), said("b"), A, said("c")], "...."),
        ("two calls in turn, a message between", [A, SO, B, SO] * 3, "." * 10 + "bb"),
        ("and two, which is over 20 events", [A, SO, SO, B, SO, SO] * 3, "." * 18),
        ("a person begins it afresh", [A, A, A, spoken_to(A), A, A, A], "......b"),
    ],
)
def test_openhands_sdk(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(openhands_sdk.judge, *steps) == expected, why


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("the fifth is pointed out, the next one ends it", [A] * 6, "....wb"),
        ("the result does not count", OTHER_RESULTS, "....wb"),
        ("the order of the arguments does", [called(x=1, y=2), called(y=2, x=1)] * 4, "." * 8),
        ("five rounds of two", [A, B] * 5, "." * 9 + "w"),
        ("a person begins it afresh", [A, A, A, A, spoken_to(A), A, A, A, A], "." * 8 + "w"),
        ("text between calls does not", [A, A, A, SO, A, A], ".....w"),
        ("chanting over two texts", [said("all is well now. " * 10)] * 2, ".w"),
        ("a call ends the text", [said("all is well now. " * 10), A] * 2, "...."),
    ],
)
def test_gemini_cli(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(gemini_cli.judge, *steps) == expected, why


FIVE_POLLS = [called("task_list", result=text) for text in "abcde"]
INSPECTIONS = [
    called("run_shell_command", command=command)
    for command in ("git status", "git diff --stat", "git diff HEAD~1", "git ls-files") * 2
]
DISTINCT = [called(f"tool-{number}", number=number) for number in range(101)]


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("five in a row halt it until the next prompt", [A] * 7, "....b.."),
        (
            "the order of arguments does not count",
            [called(x=1, y=2), called(y=2, x=1)] * 3,
            "....b.",
        ),
        ("polls that give something new", FIVE_POLLS, "....."),
        ("polls that do not", [called("task_list", result="a")] * 5, "....b"),
        ("eight looks at the repository", INSPECTIONS, ".......b"),
        ("a hundred and one calls", DISTINCT, "." * 101),
        ("and one of them six times", DISTINCT[:100:20] * 6 + DISTINCT, "." * 100 + "b" + "." * 30),
        ("a person begins it afresh", [A, A, A, A, spoken_to(A), A], "......"),
        ("text is not looked at", [said("all is well now. " * 40)], "."),
    ],
)
def test_what_is_always_on_in_qwen_code(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(qwen_code.always_on, *steps) == expected, why


READS = [called("read_file", path=str(number)) for number in range(7)]
LISTS = [called("list_directory", path=str(number)) for number in range(7)]
EVERY_OTHER = [step for number in range(6) for step in (A, called(f"b{number}"))]


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("one call six times anywhere", EVERY_OTHER, "." * 10 + "b."),
        ("two calls in turn", [A, B] * 3, ".....b"),
        ("one tool eight times", [called("a", number=number) for number in range(8)], ".......b"),
        ("reads alone are exploration", READS + LISTS, "." * 14),
        ("reads after anything else are not", [A, *READS, LISTS[0]], "........b"),
        ("chanting", [said("all is well now. " * 40)], "b"),
    ],
)
def test_the_heuristics_of_qwen_code(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(qwen_code.with_heuristics, *steps) == expected, why


SCROLL = called("browser_action", action="scroll_down")


@pytest.mark.parametrize(
    ("why", "steps", "expected"),
    [
        ("the fourth is blocked, and the count begins again", [A] * 8, "...b...b"),
        ("the result does not count", OTHER_RESULTS, "...b.."),
        ("nor does the order of arguments", [called(x=1, y=2), called(y=2, x=1)] * 2, "...b"),
        ("another call begins it afresh", [A, A, A, B, A, A, A], "......."),
        ("a scroll does not", [A, A, SCROLL, A, A], "....b"),
    ],
)
def test_roo_code(why: str, steps: list[Step], expected: str) -> None:
    assert verdicts(roo_code.judge, *steps) == expected, why
