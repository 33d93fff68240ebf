"""Whether a client passes or fails: this package's own pass, and one with a fault does not."""

import shlex
import sys

import pytest

from sidecar.conformance.client_play import Allowance
from sidecar.conformance.running import Outcome, run_client_cases
from sidecar.conformance.table import Case, client_cases

pytestmark = pytest.mark.process

PYTHON = shlex.quote(sys.executable)
DRIVER = f"{PYTHON} -m sidecar.conformance.python_driver"
# Other tests run beside these.
BUSY_MS = 3000.0
CASES = {case.name: case for case in client_cases()}


async def played(
    command: str, cases: list[Case], *, jobs: int = 1, slack_ms: float = 1000.0
) -> list[Outcome]:
    allowance = Allowance(slack_ms=slack_ms)
    playing = run_client_cases(command, cases, jobs=jobs, allowance=allowance)
    return [outcome async for outcome in playing]


def faults(outcomes: list[Outcome]) -> dict[str, str]:
    return {one.case.name: f"{one.step}: {one.fault}" for one in outcomes if one.fault}


@pytest.mark.parametrize("table", ["protocol", "resuming", "endings", "faults"])
async def test_the_blocking_client_passes_every_case(table: str) -> None:
    cases = [case for case in CASES.values() if case.table == table]
    outcomes = await played(DRIVER, cases, jobs=3, slack_ms=BUSY_MS)

    assert faults(outcomes) == {}
    assert len(outcomes) == len(cases)


@pytest.mark.long
@pytest.mark.parametrize("table", ["protocol", "resuming", "endings", "faults"])
async def test_the_asynchronous_client_passes_every_case(table: str) -> None:
    cases = [case for case in CASES.values() if case.table == table]
    outcomes = await played(f"{DRIVER} --asynchronous", cases, jobs=3, slack_ms=BUSY_MS)

    assert faults(outcomes) == {}
    assert len(outcomes) == len(cases)


async def test_over_tcp_a_client_passes_too() -> None:
    cases = [
        CASES["a run from open to close"],
        CASES["a connection that breaks is made anew, and the turn goes again"],
        CASES["draining is obeyed"],
        CASES["100 turns cost at most a second [black_hole]"],
    ]
    playing = run_client_cases(DRIVER, cases, transport="tcp", allowance=Allowance())

    assert faults([outcome async for outcome in playing]) == {}


RUN = "a run from open to close"


@pytest.mark.parametrize(
    ("fault", "case", "says"),
    [
        ("drop_unanswered", "turns that the sidecar has lost go again", "did not come"),
        ("heed_no_draining", "draining is obeyed", "did not come"),
        ("never_stop", "SESSION_TAKEN_OVER after opened stops the client", ""),
        ("leave_directive_seen_out", RUN, "directive_seen"),
        ("forget_late_directives", "a late directive goes with the next report", "rotate"),
        ("hand_the_weakest_over_first", "the strongest goes first", "halt"),
        ("tell_no_give_ups", "give-ups are told in open", "give_ups"),
        ("keep_ten_turns", "the last 256 turns are kept, answered ones too", "45"),
        ("say_nothing_while_idle", "an idle client is heard of", "did not come"),
        ("hurry_back", "PERMISSION_DENIED after opened is tried again later", ""),
        ("ignore_the_timeout", "the default timeout is 200 ms", "elapsed_ms"),
        ("leave_a_thread", RUN, "left"),
        (
            "lose_patience_while_observing",
            "in observe mode silence after an outage means nothing",
            "stream",
        ),
        ("take_any_decision", "answers in one go are told apart by their sequence", "commit"),
        ("send_300_calls", "of more than 256 the first go: tool calls", "'$length': 256"),
        (
            "forget_how_large_a_message_may_be",
            "after MESSAGE_BYTES_MAX a turn has at most as many bytes as it says",
            "bytes of the message",
        ),
        ("say_no_times", "a turn without times gets them", "start_time"),
        ("lie_of_no_time", "the default timeout is 200 ms", "elapsed_ms"),
        ("lie_of_no_time", "the waiting ends 2.5 s after wait_max", "says 0 ms"),
        ("lie_of_no_give_ups", "give-ups are told in open", "give-ups: connect"),
        ("lie_of_a_kind", RUN, "expected 'rotate', came 'proceed'"),
        ("say_no_known_kind", RUN, "kind cannot be 'continue'"),
        ("leave_a_field_out", RUN, "late cannot be None"),
        ("speak_unasked", RUN, "ok"),
        ("speak_no_json", RUN, "not a JSON object"),
        ("die", RUN, "the driver has ended, with exit code 3"),
        ("crash", RUN, "the driver has ended, by SIGSEGV"),
        (
            "restamp_turns",
            "a turn that goes again is the same message: its answer was lost",
            "end_time",
        ),
        ("pause_evenly", "the pauses between attempts are half random", "nothing is random"),
        (
            "wait_in_an_outage",
            "in a known outage nothing is waited for: nobody listens",
            "3 turns took",
        ),
        ("wait_in_an_outage", "a stream that broke is an outage: nothing is waited for", "elapsed"),
        ("tell_what_is_new", "give-ups are told within 5 s", "a message of the client did not"),
        ("let_directive_seen_fall", "directive_seen never falls", "directive_seen"),
        ("log_the_token", "a token goes with the call", "'s3cret' is in what the driver wrote"),
        ("keep_any_amount", "of large turns no more than 32 MiB are kept", "first_available"),
        (
            "take_its_own_wish_for_an_outage",
            "turns that fell out before opened are no outage: the goodbye is heard",
            "a stream of the client did not come",
        ),
        (
            "heed_a_person_twice",
            "a decision that no turn asked for is handed over once: CAUSE_IDLE",
            "expected 'proceed', came 'halt'",
        ),
        ("give_a_reason_too", RUN, "without a decision of its own"),
        ("leave_a_child_and_die", RUN, "the driver has ended, with exit code 3"),
        ("say_twice", RUN, "the driver says what nobody asked"),
        ("stop_without_a_count", RUN, "the reply to stop has `left`"),
    ],
)  # fmt: skip
async def test_a_client_or_driver_with_a_fault_fails(fault: str, case: str, says: str) -> None:
    command = f"{PYTHON} -m tests.conformance.mutant {fault}"
    (outcome, *_) = await played(command, [CASES[case]])

    assert outcome.fault and says in outcome.fault


async def test_a_client_that_takes_a_quarter_of_a_second_to_connect_passes() -> None:
    """What a case measures begins when the stream is there."""
    command = f"{PYTHON} -m tests.conformance.mutant connect_in_a_quarter_of_a_second"
    cases = [
        CASES["refusals in a row are asked about ever more slowly"],
        CASES["a silent stream is cut and made anew"],
        CASES["turns that fell out of the 256 keep their numbers"],
        CASES["DRAINING before opened is tried again after its delay"],
    ]

    assert faults(await played(command, cases, jobs=4, slack_ms=BUSY_MS)) == {}


async def test_without_a_fault_the_mutant_passes() -> None:
    command = f"{PYTHON} -m tests.conformance.mutant none"

    assert faults(await played(command, [CASES[RUN]])) == {}


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("sleep 600 & exit 3", "with exit code 3"),
        ("kill -37 $$", "by signal 37"),
    ],
)
async def test_a_driver_that_ends_at_once_says_how_and_leaves_nothing(
    script: str, how: str
) -> None:
    for _ in range(5):  # it may be gone before it can be watched
        (outcome, *_) = await played(f"sh -c {shlex.quote(script)}", [CASES[RUN]])

        assert outcome.fault == f"the driver has ended, {how}"
        assert outcome.is_silent


async def test_what_a_driver_wrote_to_standard_error_is_in_the_outcome() -> None:
    (outcome, *_) = await played(f"{PYTHON} -m tests.conformance.mutant die", [CASES[RUN]])

    assert "last words" in outcome.stderr


async def test_after_a_failed_case_the_next_one_has_a_driver_of_its_own() -> None:
    cases = [CASES["draining is obeyed"], CASES[RUN]]
    outcomes = await played(f"{PYTHON} -m tests.conformance.mutant heed_no_draining", cases)

    assert list(faults(outcomes)) == ["draining is obeyed"]


async def test_a_driver_that_does_not_end_with_its_input_fails() -> None:
    code = "import sys, threading; sys.stdin.read(); threading.Event().wait()"
    outcomes = await played(f"{PYTHON} -c {shlex.quote(code)}", [_empty()])

    assert "runs on" in outcomes[-1].fault


async def test_a_driver_that_ends_with_another_code_fails() -> None:
    code = "import sys; [print('{}', flush=True) for _ in sys.stdin]; sys.exit(4)"
    outcomes = await played(f"{PYTHON} -c {shlex.quote(code)}", [_empty()])

    assert "exits with 4" in outcomes[-1].fault


def _empty() -> Case:
    return Case(name="nothing", table="t", about="", rules=(), transport="", tls="", steps=())
