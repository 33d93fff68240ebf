"""grpc.aio may put a status of its own in place of the sidecar's; the sidecar's counts."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from sidecar.client.refusal import UNKNOWN
from sidecar.client.statuses import Statuses

ABORTED, INTERNAL = grpc.StatusCode.ABORTED, grpc.StatusCode.INTERNAL


class Call:
    """A call of grpc.aio, as far as its end goes."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Any], None]] = []
        self._status: tuple[grpc.StatusCode, str] = (grpc.StatusCode.OK, "")

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    def end(self, code: grpc.StatusCode, details: str) -> None:
        self._status = (code, details)
        for callback in self._callbacks:
            callback(self)

    async def code(self) -> grpc.StatusCode:
        return self._status[0]

    async def details(self) -> str:
        return self._status[1]

    async def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        return ()


SIDECAR_S = (ABORTED, "taken over")
GRPC_S_OWN = (INTERNAL, "Internal error from Core")


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([SIDECAR_S], 10),
        ([SIDECAR_S, GRPC_S_OWN], 10),
        ([GRPC_S_OWN, SIDECAR_S], 10),
        ([GRPC_S_OWN], 13),
        ([(INTERNAL, "the sidecar failed")], 13),
        ([], UNKNOWN),
    ],
)
def test_the_sidecar_s_status_counts(
    statuses: list[tuple[grpc.StatusCode, str]], code: int
) -> None:
    call = Call()
    noticed: list[bool] = []
    noted = Statuses(call, on_status=lambda: noticed.append(True))
    for status in statuses:
        call.end(*status)

    assert noted.ending.code == code
    assert len(noticed) == len(statuses)


def test_the_sidecar_s_status_is_waited_for_until_it_is_there() -> None:
    call = Call()
    noted = Statuses(call, on_status=lambda: None)
    assert noted.only_grpc_s_own
    call.end(*GRPC_S_OWN)
    assert noted.only_grpc_s_own
    call.end(*SIDECAR_S)
    assert not noted.only_grpc_s_own
