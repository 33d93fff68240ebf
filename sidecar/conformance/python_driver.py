"""The driver around this package's own clients: `python -m sidecar.conformance.python_driver`.

With `--asynchronous` it drives AsyncClient in place of Client.
"""

import json
import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from google.protobuf import json_format

from sidecar.client import Directive
from sidecar.conformance.python_clients import Blocking, DrivenClient, OnLoop
from sidecar.conformance.python_turn import close_of, options_of, report_of


class Drive:
    """Answers requests; has one client at a time."""

    def __init__(self, make: Callable[[str, dict[str, Any]], DrivenClient]) -> None:
        self._make = make
        self._client: DrivenClient | None = None

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to one request."""
        match request:
            case {"do": "start", "options": dict(options)}:
                self._client = self._make(options.pop("address"), options_of(options))
                return {"ok": True}
            case _ if self._client is None:
                return {"error": "no client was started"}
            case {"do": "stop"}:
                client, self._client = self._client, None
                return {"ok": True, "left": client.let_go()}
            case _:
                return _asked(self._client, request)


def _asked(client: DrivenClient, request: Mapping[str, Any]) -> dict[str, Any]:
    match request:
        case {"do": "turn", "turn": turn}:
            report = report_of(turn)
            began_s = monotonic()
            return _replied(client.turn(report), began_s)
        case {"do": "wait_for_operator"}:
            began_s = monotonic()
            return _replied(client.wait_for_operator(), began_s)
        case {"do": "give_ups"}:
            return {"give_ups": {name: count for name, count in client.give_ups().items() if count}}
        case {"do": "close", "close": close}:
            goodbye = close_of(close)
            began_s = monotonic()
            heard = client.close(goodbye)
            return {"heard": heard, "elapsed_ms": _since_ms(began_s)}
        case _:
            return {"error": f"cannot do {request.get('do')!r}"}


def _replied(directive: Directive, began_s: float) -> dict[str, Any]:
    elapsed_ms = _since_ms(began_s)
    said: dict[str, Any] = {
        "kind": str(directive.kind),
        "instruction": directive.instruction,
        "late": directive.late,
        "fail_open_reason": str(directive.fail_open_reason or ""),
        "wait_max_ms": round((directive.wait_max_s or 0.0) * 1000),
    }
    if directive.decision is not None:
        said["decision"] = json_format.MessageToDict(
            directive.decision, preserving_proto_field_name=True
        )
    return {"directive": said, "elapsed_ms": elapsed_ms}


def _since_ms(began_s: float) -> float:
    return (monotonic() - began_s) * 1000


def main() -> None:
    """Answers until standard input ends."""
    drive = Drive(OnLoop if "--asynchronous" in sys.argv[1:] else Blocking)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(drive.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
