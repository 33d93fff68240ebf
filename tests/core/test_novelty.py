"""What a run remembers for its signals."""

from sidecar.core.novelty import Memory
from sidecar.core.run import Run
from sidecar.core.turn import Outcome, Progress, ToolCall, Turn
from sidecar.presets import DEFAULT


def improved(*failed: int | None, spoken: int = 0) -> list[bool]:
    """Whether each turn improved, of turns after which so many tests fail; a person speaks before
    the `spoken`-th."""
    memory, found = Memory(), []
    for sequence, count in enumerate(failed, start=1):
        progress = Progress(tests_failed=count)
        turn = Turn(sequence=sequence, progress=progress, user_input=sequence == spoken)
        memory, seen = memory.look(turn)
        found.append(seen.improved)
    return found


def test_a_turn_improves_where_fewer_tests_fail_than_ever_before() -> None:
    assert improved(9, 8, 8, 9, 8, 7) == [False, True, False, False, False, True]


def test_the_first_count_is_no_improvement_and_an_absent_one_is_none() -> None:
    assert improved(None, 3, None, 3, 2) == [False, False, False, False, True]


def test_a_person_starts_the_count_afresh() -> None:
    assert improved(5, 3, 4, 3, spoken=3) == [False, True, False, True]


def test_a_test_that_fails_less_and_less_is_no_loop() -> None:
    def decided(counts: list[int]) -> list[str]:
        run, kinds = Run.start("s", DEFAULT), []
        for sequence, count in enumerate(counts, start=1):
            call = ToolCall(
                name="bash",
                tool=b"bash----",
                call=b"pytest--",
                result=count.to_bytes(8),
                outcome=Outcome.ERROR,
            )
            progress = Progress(tests_failed=count)
            turn = Turn(sequence=sequence, tool_calls=(call,), progress=progress)
            run, decision = run.advance(turn)
            kinds.append(type(decision.directive).__name__)
        return kinds

    assert decided([9, 8, 7, 6, 5, 4, 3, 2]) == ["Proceed"] * 8
    assert "Commit" in decided([9, 9, 9, 9, 9, 9, 9, 9])
