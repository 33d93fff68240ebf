"""Numbers, durations and times in JSON: their forms, and what is beyond what the wire holds."""

from collections import Counter

import pytest

from sidecar.adapters.json_http.misshapen import Misshapen
from sidecar.adapters.json_http.reading import message_of
from sidecar.testing.recorder import WasLost
from sidecar.v1 import run_pb2
from tests.wire.json_ports import Ports
from tests.wire.served import Served

TURNS = "/v1/sessions/s/turns"
NOON_S = 1_769_860_800
"""2026-01-31T12:00:00Z."""
YEAR_10000_S = 253_402_300_800


@pytest.mark.parametrize(
    ("text", "seconds", "nanos"),
    [
        ("1s", 1, 0),
        ("007.5s", 7, 500_000_000),
        ("1.1234567899s", 1, 123_456_789),
        ("-1.5s", -1, -500_000_000),
        ("315576000001s", 315_576_000_001, 0),
        (f"{'9' * 4000}s", 2**63 - 1, 0),
    ],
)
def test_a_duration_has_these_forms(text: str, seconds: int, nanos: int) -> None:
    call = run_pb2.ToolCall()
    message_of(f'{{"duration": "{text}"}}'.encode(), call)

    assert (call.duration.seconds, call.duration.nanos) == (seconds, nanos)


@pytest.mark.parametrize(
    "text",
    [
        *(" 1s", "1s\\n", "1 s", "1_0s", "٣s", "1e1s", "+1s", "1.s", ".5s", "s", "-s", "1", ""),
        *("infs", "nans", "0x1s", "1.5.5s", "1S"),
    ],
)
def test_a_duration_has_none_of_these(text: str) -> None:
    with pytest.raises(Misshapen, match="duration must be a string of seconds"):
        message_of(f'{{"duration": "{text}"}}'.encode(), run_pb2.ToolCall())


@pytest.mark.parametrize(
    ("text", "seconds", "nanos"),
    [
        ("2026-01-31T12:00:00Z", NOON_S, 0),
        ("2026-01-31t12:00:00z", NOON_S, 0),
        ("2026-01-31T13:30:00.5+01:30", NOON_S, 500_000_000),
        ("2026-01-31T10:30:00.1234567899-01:30", NOON_S, 123_456_789),
        ("2026-01-31T11:59:60Z", NOON_S, 0),
        ("2024-02-29T00:00:00-00:00", 1_709_164_800, 0),
        ("1969-12-31T23:59:59.25Z", -1, 250_000_000),
        ("0000-02-29T00:00:00Z", -62_162_121_600, 0),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200, 0),
        ("9999-12-31T23:59:59-14:00", YEAR_10000_S - 1 + 14 * 3600, 0),
    ],
)
def test_a_time_has_these_forms(text: str, seconds: int, nanos: int) -> None:
    turn = run_pb2.Turn()
    message_of(f'{{"start_time": "{text}"}}'.encode(), turn)

    assert (turn.start_time.seconds, turn.start_time.nanos) == (seconds, nanos)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00+99:99",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+0200",
        "2026-01-31T12:00:00+",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00.1e5Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T24:00:00Z",
        "2026-02-30T00:00:00Z",
        "0000-00-01T00:00:00Z",
        "2026-01-31 12:00:00Z",
        " 2026-01-31T12:00:00Z",
        "2026-01-31",
        "10000-01-01T00:00:00Z",
        "٢٠٢٦-01-31T12:00:00Z",
        "",
    ],
)
def test_a_time_has_none_of_these(text: str) -> None:
    with pytest.raises(Misshapen, match="start_time must be a time of RFC 3339"):
        message_of(f'{{"start_time": "{text}"}}'.encode(), run_pb2.Turn())


@pytest.mark.parametrize("text", ["1", "-1.5", "+1", ".5", "1e3", "1.5E-1", "0001"])
def test_a_number_in_a_string_has_these_forms(text: str) -> None:
    turn = run_pb2.Turn()
    message_of(f'{{"reward": "{text}"}}'.encode(), turn)

    assert turn.reward == float(text)


@pytest.mark.parametrize("text", [" 1", "1 ", "1_0", "٣", "0x1", "1.", ".", "e5", "inf", "nan", ""])
def test_a_number_in_a_string_has_none_of_these(text: str) -> None:
    with pytest.raises(Misshapen, match="reward must be a number"):
        message_of(f'{{"reward": "{text}"}}'.encode(), run_pb2.Turn())


async def test_what_is_beyond_the_wire_is_left_out_and_counted_as_over_grpc(
    server: Served, http: Ports
) -> None:
    durations = ("-1s", "315576000001s", f"{'9' * 30}s", "1s")
    turn = {
        "start_time": "0000-01-01T00:00:00Z",
        "end_time": "9999-12-31T23:59:59-14:00",
        "tool_calls": [{"name": "t", "duration": each} for each in durations],
    }
    answer = await http.agent.post(TURNS, {"turn": turn})

    lost = server.world.recorder.of(WasLost)
    counts: Counter[tuple[str, str]] = Counter()
    for one in lost:
        counts[one.what, one.reason] += one.count
    assert answer.status == 200
    assert counts == {("measurement", "too_small"): 2, ("measurement", "too_large"): 3}
