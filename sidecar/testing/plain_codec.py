"""Entries as JSON, without the wire's messages: what a store can be tested with."""

import json
from typing import Any

from sidecar.core.directive import Decision
from sidecar.core.snapshot import decode, encode
from sidecar.ports import Entry, Event


class PlainCodec:
    """An `EntryCodec` over `sidecar.core.snapshot`."""

    def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
        """Kind, line and decision."""
        decision = b"" if entry.decision is None else _dumped(encode(entry.decision))
        return type(entry.event).__name__, _dumped(encode(entry.event, Event)), decision

    def decode(
        self,
        *,
        session_id: str,
        number: int,
        time_s: float,
        kind: str,
        line: bytes,
        decision: bytes,
        content: bytes,
    ) -> Entry:
        """The entry that was encoded. Raises ValueError when the bytes are not one."""
        event = decode(Event, json.loads(line))
        if type(event).__name__ != kind:
            raise ValueError(f"the entry's kind is {kind!r}, its event another")
        return Entry(
            session_id=session_id,
            number=number,
            time_s=time_s,
            event=event,
            decision=decode(Decision, json.loads(decision)) if decision else None,
            content=content,
        )


def _dumped(json_value: Any) -> bytes:
    return json.dumps(json_value, separators=(",", ":")).encode("ascii")
