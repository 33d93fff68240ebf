"""Turns from the wire, reduced to what can be compared and counted.

Content becomes digests here, under a key that never leaves the state directory, so nothing behind
this module has content to lose. What a turn says wrongly (NaN, a negative count, a clock that goes
back, an unknown enum value) is taken as not said; only a turn whose shape is beyond its bounds is
rejected whole. docs/protocol.md lists which is which.
"""

from collections.abc import Generator
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias, TypeVar

from sidecar.adapters.convert import numbers
from sidecar.adapters.convert.enums import CALL_KINDS, OUTCOMES, RESULT_KINDS
from sidecar.adapters.convert.numbers import Doubts, counted
from sidecar.core.digests import digest
from sidecar.core.digests.call_kind import kind_by_name
from sidecar.core.digests.measured import TEXT_MAX, bounded
from sidecar.core.digests.score import score_in
from sidecar.core.digests.tool_name import only_plans, tells_itself
from sidecar.core.directive import Rejection
from sidecar.core.policy import Lens
from sidecar.core.turn import (
    NO_PROGRESS,
    NO_USAGE,
    CallKind,
    Failure,
    Outcome,
    ResultKind,
    ToolCall,
    Turn,
)
from sidecar.core.value import value
from sidecar.ports import Rejected
from sidecar.v1 import run_pb2 as pb

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]
"""Yields after each text, and returns what the work comes to."""

DIGEST_BYTES = 8
IDENTIFIER_BYTES_MAX = 128


@value
class TurnBounds:
    """What one turn may hold. Beyond the calls it is rejected."""

    tool_calls_max: int = 256
    text_bytes_max: int = TEXT_MAX
    """Characters that are read of each text, half of them at its beginning and half at its end, as
    proto/digests.md has it. Above TEXT_MAX it is that."""


@value
class TurnReader:
    """Reads turns off the wire: digests their content under a key, checks their numbers."""

    key: bytes
    """Of the digests, 16 to 64 bytes."""
    lens: Lens
    bounds: TurnBounds = TurnBounds()

    def read(self, wire: pb.Turn) -> Turn | Rejected:
        """The turn, or why it cannot be counted. Never raises."""
        steps = self.steps(wire, [])
        while True:
            try:
                next(steps)
            except StopIteration as end:
                turn: Turn | Rejected = end.value
                return turn

    def steps(self, wire: pb.Turn, doubts: Doubts) -> Steps[Turn | Rejected]:
        """The same, text by text; `doubts` gets what was wrong with measurements."""
        rejected = self._too_many(wire)
        if rejected is not None:
            return rejected
        calls: list[ToolCall] = []
        failed: list[tuple[pb.ToolCall, ToolCall]] = []
        for call in wire.tool_calls:
            name = identifier(call.name)
            arguments, kind = self._arguments(call, name)
            yield
            read = yield from self._call(call, name, arguments, kind, doubts)
            yield
            calls.append(read)
            if read.outcome is Outcome.ERROR:
                failed.append((call, read))
        failures: tuple[Failure, ...] = ()
        if wire.failures:
            failures = yield from self._failures(wire)
        if failed and not failures:
            failures = yield from self._failures_of(failed)
        text, length, repeats = yield from self._text(wire, doubts)
        has = wire.HasField
        reward = numbers.finite(wire.reward, doubts) if has("reward") else None
        if self.lens.score and not has("reward"):
            reward = yield from self._score(wire, self.lens.score)
        start_s, end_s = numbers.times(wire, doubts)
        return Turn(
            sequence=wire.sequence,
            id=identifier(wire.id) if wire.id else "",
            start_s=start_s,
            end_s=end_s,
            traceparent=wire.traceparent[:IDENTIFIER_BYTES_MAX] if wire.traceparent else "",
            actor=identifier(wire.actor) if wire.actor else "",
            directive_seen=wire.directive_seen if has("directive_seen") else None,
            user_input=wire.user_input,
            usage=numbers.usage(wire.usage, doubts) if has("usage") else NO_USAGE,
            tool_calls=tuple(calls),
            failures=failures,
            text=text,
            text_length=length,
            text_repeats=repeats,
            output_lines=counted(wire.output_lines, doubts) if has("output_lines") else None,
            progress=numbers.progress(wire.progress, doubts) if has("progress") else NO_PROGRESS,
            confidence=numbers.finite(wire.confidence, doubts) if has("confidence") else None,
            reward=reward,
            approach=identifier(wire.approach) if wire.approach else "",
            has_final_answer=bool(wire.final_answer),
        )

    def _too_many(self, wire: pb.Turn) -> Rejected | None:
        most = self.bounds.tool_calls_max
        calls, failures = len(wire.tool_calls), len(wire.failures)
        if calls <= most and failures <= most:
            return None
        field = "tool_calls" if calls > most else "failures"
        return Rejected(
            sequence=wire.sequence,
            id=identifier(wire.id),
            rejection=Rejection(
                reason=f"{field.upper()}_MAX",
                field=field,
                description=f"at most {most} {field} in one turn, not {max(calls, failures)}",
            ),
        )

    def _arguments(self, wire: pb.ToolCall, name: str) -> tuple[str, CallKind]:
        # The policy first: an agent that reads kinds itself does not know its lists.
        kind = self.lens.kind_of(name) or CALL_KINDS.get(wire.call_kind)
        if wire.WhichOneof("arguments") == "arguments_digest":
            return wire.arguments_digest, kind or kind_by_name(name)
        # Whole: two writes of a long file that differ at its end are different calls.
        text = wire.arguments_json
        return digest.arguments_digest(text), kind or digest.call_kind(name, text)

    def _call(
        self, wire: pb.ToolCall, name: str, arguments: str, kind: CallKind, doubts: Doubts
    ) -> Steps[ToolCall]:
        outcome = OUTCOMES.get(wire.outcome, Outcome.OK)
        result, result_kind, position = yield from self._result(wire, outcome, kind)
        if outcome is Outcome.OK and (
            only_plans(name)
            or (
                result_kind is ResultKind.ACKNOWLEDGEMENT
                and tells_itself(name, wire.arguments_json)
            )
        ):
            result_kind = ResultKind.EMPTY  # what it answers is what the agent has just told it
        return ToolCall(
            name=name,
            tool=_tool_digest(self.key, name),
            call=self._keyed(f"{name}\0{arguments}"),
            result=result,
            outcome=outcome,
            result_kind=result_kind,
            kind=kind,
            error_position=position,
            id=identifier(wire.id) if wire.id else "",
            duration_s=numbers.duration_s(wire.duration, doubts)
            if wire.HasField("duration")
            else None,
        )

    def _result(
        self, wire: pb.ToolCall, outcome: Outcome, kind: CallKind
    ) -> Steps[tuple[bytes | None, ResultKind, bytes]]:
        given = RESULT_KINDS.get(wire.result_kind)
        position = wire.error_position_digest
        which = wire.WhichOneof("result")
        if which is None:
            return None, given or ResultKind.PLAIN, self._keyed(position) if position else b""
        if which == "result_digest":
            result = self._keyed(wire.result_digest)
            return result, given or ResultKind.PLAIN, self._keyed(position) if position else b""
        text = self._printed(wire)
        if outcome is Outcome.ERROR and not position:
            position = digest.error_position(text)
            yield
        result = self._keyed(digest.result_digest(text))
        yield
        wrote = kind is CallKind.WRITE and outcome is Outcome.OK
        return (
            result,
            given or digest.result_kind(text, wrote=wrote, failed=outcome is Outcome.ERROR),
            self._keyed(position) if position else b"",
        )

    def _failures(self, wire: pb.Turn) -> Steps[tuple[Failure, ...]]:
        failures: list[Failure] = []
        for failure in wire.failures:
            # Of one that says nothing it is not known whether it is the same as another.
            if failure.kind or failure.message or failure.fingerprint:
                failures.append(self._failure(failure))
                yield
        return tuple(failures)

    def _failure(self, wire: pb.Failure) -> Failure:
        kind = identifier(wire.kind)
        if wire.fingerprint:
            masked, strict = wire.fingerprint, wire.fingerprint_strict or wire.fingerprint
        else:
            found = self._fingerprint(self._cut(wire.message))
            masked, strict = found.masked, found.strict
        return self._fingerprinted(kind, masked, strict)

    def _failures_of(
        self, failed: list[tuple[pb.ToolCall, ToolCall]]
    ) -> Steps[tuple[Failure, ...]]:
        """What the results of failed calls tell of."""
        failures: list[Failure] = []
        for wire, call in failed:
            if call.result is None or call.result_kind is ResultKind.EMPTY:
                continue  # that it failed is all that it says
            text = self._error_text(wire) if wire.result_text else ""
            yield
            if text:
                found = self._fingerprint(text)
                failures.append(self._fingerprinted("", found.masked, found.strict))
            else:
                shown = call.result.hex()
                failures.append(self._fingerprinted("", shown, shown))
        return tuple(failures)

    def _error_text(self, wire: pb.ToolCall) -> str:
        # A command that is echoed may well name an error that it looks for.
        return digest.error_text(self._printed(wire))

    def _printed(self, wire: pb.ToolCall) -> str:
        """What a result says, without the command that it repeats."""
        return self._cut(digest.without_echo(wire.result_text, wire.arguments_json or None))

    def _fingerprinted(self, kind: str, masked: str, strict: str) -> Failure:
        return Failure(
            kind=kind,
            fingerprint=self._keyed(f"{kind}\0{masked}"),
            strict=self._keyed(f"{kind}\0{strict}"),
        )

    def _text(self, wire: pb.Turn, doubts: Doubts) -> Steps[tuple[bytes | None, int, int]]:
        which = wire.WhichOneof("said")
        if which == "text_digest":
            length = counted(wire.text_length, doubts)
            repeats = counted(wire.text_repeats, doubts)
            return self._keyed(wire.text_digest), length or 0, repeats or 0
        if which is None:
            return None, 0, 0
        text = self._cut(wire.text)
        if not text.strip():
            return None, 0, 0
        said = self._keyed(digest.text_digest(text))
        yield
        return said, len(wire.text), digest.text_repeats(wire.text[-self.bounds.text_bytes_max :])

    def _score(self, wire: pb.Turn, form: str) -> Steps[float | None]:
        """The score that the latest result with one in it shows, in the form the policy names."""
        for call in reversed(wire.tool_calls):
            score = score_in(self._cut(call.result_text), form)
            if score is not None:
                return score
            yield
        return None

    def _fingerprint(self, text: str) -> digest.Fingerprint:
        return digest.error_fingerprint(text, subjects=self.lens.subjects)

    def _cut(self, text: str) -> str:
        return bounded(text, self.bounds.text_bytes_max)

    def _keyed(self, text: str) -> bytes:
        return keyed(self.key, text)


def keyed(key: bytes, text: str) -> bytes:
    """What stands for a text in memory and on disk: 8 bytes that mean nothing without the key."""
    state = _keyed_state(key).copy()
    state.update(text.encode("utf-8", "surrogatepass"))
    return state.digest()


def identifier(text: str) -> str:
    """A name as it is exported: at most 128 bytes of UTF-8."""
    if len(text) * 4 <= IDENTIFIER_BYTES_MAX:
        return text
    raw = text.encode("utf-8", "replace")
    return (
        text
        if len(raw) <= IDENTIFIER_BYTES_MAX
        else raw[:IDENTIFIER_BYTES_MAX].decode("utf-8", "ignore")
    )


def texts_cut(wire: pb.Turn, bounds: TurnBounds) -> int:
    """How many texts of a turn are not read whole."""
    most = bounds.text_bytes_max
    # Nearly every turn is smaller as a whole than one such text.
    if wire.ByteSize() <= most:
        return 0
    texts = [wire.text, *(failure.message for failure in wire.failures)]
    texts += (call.result_text for call in wire.tool_calls)
    return sum(len(text) > most for text in texts)


def content_of(wire: pb.Turn) -> bytes:
    """8 bytes that tell a turn sent twice from two turns of one sequence.

    `directive_seen` is left out: a client that sends a turn again may have heard more by then.
    """
    seen = wire.directive_seen if wire.HasField("directive_seen") else None
    wire.ClearField("directive_seen")
    content = blake2b(wire.SerializeToString(deterministic=True), digest_size=DIGEST_BYTES)
    if seen is not None:
        wire.directive_seen = seen
    return content.digest()


@lru_cache(maxsize=64)
def _keyed_state(key: bytes) -> blake2b:
    """The hash with its key taken in, which costs as much as the texts that follow."""
    return blake2b(key=key, digest_size=DIGEST_BYTES)


@lru_cache(maxsize=4096)
def _tool_digest(key: bytes, name: str) -> bytes:
    return keyed(key, name)
