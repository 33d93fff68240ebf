"""How a call of grpc.aio ended, in spite of grpc.aio.

A write that fails because the sidecar has just ended the stream makes grpc.aio put a status of its
own, INTERNAL, in place of the sidecar's, before or after that has arrived
(https://github.com/grpc/grpc/issues/36066, grpcio 1.85). Without the sidecar's, a client whose
session was taken over would take it back. Every status is noted here as it comes.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import grpc

from sidecar.client.channel import ending_of
from sidecar.client.refusal import UNKNOWN, Ending

T = TypeVar("T")

_GRPC_S_OWN: Final = "Internal error from Core"


class Statuses:
    """The statuses that a call gets, first to last."""

    def __init__(self, call: Any, *, on_status: Callable[[], None]) -> None:
        self._endings: list[Ending] = []
        self._on_status = on_status
        call.add_done_callback(self._note)

    def _note(self, call: Any) -> None:
        self._endings.append(ending_of(_Done(call)))
        self._on_status()

    @property
    def only_grpc_s_own(self) -> bool:
        """Whether the sidecar's status has yet to come."""
        return all(one.description == _GRPC_S_OWN for one in self._endings)

    @property
    def ending(self) -> Ending:
        """The first status that is the sidecar's, or else any."""
        known = Ending(code=UNKNOWN, description="ended without a status")
        for known in self._endings:
            if known.description != _GRPC_S_OWN:
                break
        return known


class _Done:
    """The status of a call that is done, without awaiting it."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def code(self) -> grpc.StatusCode | None:
        return _at_once(self._call.code())

    def details(self) -> str | None:
        return _at_once(self._call.details())

    def trailing_metadata(self) -> Any:
        return _at_once(self._call.trailing_metadata())


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T | None:
    """What a coroutine returns that has nothing to wait for; None if it has."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    coroutine.close()
    return None
