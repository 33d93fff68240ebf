"""A driver around a client with one fault: python -m tests.conformance.mutant FAULT"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from sidecar.client import (
    assembly,
    channel,
    compose,
    exchange,
    held,
    line,
    patience,
    refusal,
    ring,
    stream,
    threads,
)
from sidecar.client.decision import kind_of
from sidecar.client.directive import Kind, Reason
from sidecar.client.refusal import Course, Judgement
from sidecar.conformance import python_driver
from sidecar.conformance.python_clients import Blocking
from sidecar.v1 import run_pb2 as pb

Reply = dict[str, Any]


def _put(target: Any, name: str, value: Any) -> None:
    """Puts it in place of what is there: what is faulty here is inside of the client."""
    setattr(target, name, value)


def drop_unanswered() -> None:
    """Sends nothing twice."""

    def is_wanted(self: Any, entry: Any) -> bool:
        return not entry.sequence

    _put(stream.Stream, "_is_wanted", is_wanted)


def heed_no_draining() -> None:
    _put(stream.Stream, "drains", lambda *_: None)


def never_stop() -> None:
    soon = Judgement(course=Course.RETRY_SOON, reason=Reason.REJECTED)
    refusal.judge.__globals__["_BY_REASON"] = dict.fromkeys(refusal._BY_REASON, soon)


def leave_directive_seen_out() -> None:
    report = exchange.Exchange.report

    def reported(self: Any, turn: Any) -> Any:
        entry = report(self, turn)
        turn.ClearField("directive_seen")
        return entry

    _put(exchange.Exchange, "report", reported)


def forget_late_directives() -> None:
    _put(held.Held, "strongest", lambda _, own: own)


def hand_the_weakest_over_first() -> None:
    _put(held, "_rank", lambda one: (-kind_of(one).strength, False, one.sequence))


def tell_no_give_ups() -> None:
    _put(stream.Stream, "_tell_give_ups", lambda *_: [])


def keep_ten_turns() -> None:
    init = ring.Ring.__init__

    def made(self: Any, **_: Any) -> None:
        init(self, turns_max=10)

    _put(ring.Ring, "__init__", made)


def say_nothing_while_idle() -> None:
    _put(stream.Stream, "heartbeat_at_s", float("inf"))


def hurry_back() -> None:
    _put(line, "later_s", lambda *_: 0.0)


def ignore_the_timeout() -> None:
    init = Blocking.__init__

    def made(self: Any, address: str, options: dict[str, Any]) -> None:
        init(self, address, {**options, "timeout_s": options.get("timeout_s", 0.2) + 3})

    _put(Blocking, "__init__", made)


def leave_a_thread() -> None:
    init = Blocking.__init__

    def made(self: Any, address: str, options: dict[str, Any]) -> None:
        init(self, address, options)
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    _put(Blocking, "__init__", made)


def take_any_decision() -> None:
    _put(ring.Ring, "find", lambda self, _: self._entries[-1] if self._entries else None)


def lose_patience_while_observing() -> None:
    give_up = exchange.Exchange._give_up

    def given_up(self: Any) -> Any:
        reason = give_up(self)
        if reason is not None and not self.enforcing:
            self._patience.missed()
        return reason

    _put(exchange.Exchange, "_give_up", given_up)


def send_300_calls() -> None:
    _put(compose, "TOOL_CALLS_MAX", 300)


def forget_how_large_a_message_may_be() -> None:
    _put(line, "_was_too_large", lambda _: False)


def say_no_times() -> None:
    compose_turn = compose.compose_turn

    def composed(*given: Any, **times: Any) -> Any:
        turn = compose_turn(*given, **times)
        turn.ClearField("start_time")
        return turn

    _put(assembly, "compose_turn", composed)


def restamp_turns() -> None:
    turn_of = stream.Stream._turn

    def sent(self: Any, entry: Any, now_s: float) -> Any:
        entry.turn.end_time.nanos ^= 1
        return turn_of(self, entry, now_s)

    _put(stream.Stream, "_turn", sent)


def pause_evenly() -> None:
    _put(line, "soon_s", lambda attempts, _: patience.soon_s(attempts, lambda: 0.5))


def wait_in_an_outage() -> None:
    awaits = exchange.Exchange.awaits

    def awaited(self: Any, entry: Any) -> bool:
        is_patient = not self._patience.spent
        return awaits(self, entry) or (self.line.stream is None and is_patient)

    _put(exchange.Exchange, "awaits", awaited)


def tell_what_is_new() -> None:
    """Differences in place of totals."""
    tell = stream.Stream._tell_give_ups
    told: dict[str, int] = {}

    def telling(self: Any, now_s: float) -> list[Any]:
        totals = {one.reason: one.count for one in tell(self, now_s)}
        new = [pb.GiveUp(reason=name, count=n - told.get(name, 0)) for name, n in totals.items()]
        told.update(totals)
        return [one for one in new if one.count]

    _put(stream.Stream, "_tell_give_ups", telling)


def let_directive_seen_fall() -> None:
    hand_over = exchange.Exchange._hand_over

    def handed(self: Any, decision: Any, **fields: Any) -> Any:
        directive = hand_over(self, decision, **fields)
        self._seen = decision.sequence if decision is not None else self._seen
        return directive

    _put(exchange.Exchange, "_hand_over", handed)


def log_the_token() -> None:

    def logged(settings: Any) -> Any:
        metadata = channel.metadata_of(settings)
        sys.stderr.write(f"{metadata}\n")
        return metadata

    _put(threads, "metadata_of", logged)


def take_its_own_wish_for_an_outage() -> None:
    _put(line.Line, "is_reopening", property(lambda _: False, lambda *_: None))


def heed_a_person_twice() -> None:
    _put(held.Held, "add_unasked", held.Held.add)


def keep_any_amount() -> None:
    _put(ring, "TURN_BYTES_SUM_MAX", 2**40)


def connect_in_a_quarter_of_a_second() -> None:
    """No fault: a virtual machine that loads its TLS, a name that has to be looked up."""

    def checked(settings: Any) -> None:
        threading.Event().wait(0.25)
        channel.check_socket(settings)

    _put(threads, "check_socket", checked)


CLIENT_FAULTS: dict[str, Callable[[], None]] = {
    fault.__name__: fault
    for fault in (
        drop_unanswered, heed_no_draining, never_stop, leave_directive_seen_out,
        forget_late_directives, hand_the_weakest_over_first, tell_no_give_ups, keep_ten_turns,
        say_nothing_while_idle, hurry_back, ignore_the_timeout, leave_a_thread, take_any_decision,
        lose_patience_while_observing, send_300_calls, forget_how_large_a_message_may_be,
        say_no_times, restamp_turns, pause_evenly, wait_in_an_outage, tell_what_is_new,
        let_directive_seen_fall, log_the_token, keep_any_amount, take_its_own_wish_for_an_outage,
        heed_a_person_twice,
        connect_in_a_quarter_of_a_second,
    )
}  # fmt: skip


def lie_of_no_time(reply: Reply) -> Reply:
    return {**reply, "elapsed_ms": 0.0} if "elapsed_ms" in reply else reply


def lie_of_no_give_ups(reply: Reply) -> Reply:
    return {"give_ups": {}} if "give_ups" in reply else reply


def lie_of_a_kind(reply: Reply) -> Reply:
    return _changed(reply, kind=str(Kind.PROCEED))


def give_a_reason_too(reply: Reply) -> Reply:
    return _changed(reply, fail_open_reason="timeout")


def say_no_known_kind(reply: Reply) -> Reply:
    return _changed(reply, kind="continue")


def leave_a_field_out(reply: Reply) -> Reply:
    reply.get("directive", {}).pop("late", None)
    return reply


def stop_without_a_count(reply: Reply) -> Reply:
    return {name: value for name, value in reply.items() if name != "left"}


def _changed(reply: Reply, **fields: Any) -> Reply:
    return (
        {**reply, "directive": {**reply["directive"], **fields}} if "directive" in reply else reply
    )


REPLY_FAULTS: dict[str, Callable[[Reply], Reply]] = {
    fault.__name__: fault
    for fault in (
        lie_of_no_time, lie_of_no_give_ups, lie_of_a_kind, give_a_reason_too,
        say_no_known_kind, leave_a_field_out, stop_without_a_count,
    )
}  # fmt: skip


def _same(reply: Reply) -> Reply:
    return reply


def die(_: Reply) -> Reply:
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    raise SystemExit(3)


def crash(_: Reply) -> Reply:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def leave_a_child_and_die(reply: Reply) -> Reply:
    subprocess.Popen(["sleep", "600"])  # holds the driver's output
    return die(reply)


ENDS: dict[str, Callable[[Reply], Reply]] = {
    "die": die,
    "crash": crash,
    "leave_a_child_and_die": leave_a_child_and_die,
}


def main(fault: str) -> None:
    if fault in CLIENT_FAULTS:
        CLIENT_FAULTS[fault]()
    change: Callable[[Reply], Reply] = {**REPLY_FAULTS, **ENDS}.get(fault, _same)
    answer = python_driver.Drive.answer

    def answered(self: Any, request: Mapping[str, Any]) -> Reply:
        reply = answer(self, request)
        return change(reply) if request.get("do") != "start" else reply

    _put(python_driver.Drive, "answer", answered)
    if fault == "speak_unasked":
        sys.stdout.write(json.dumps({"hello": "world"}) + "\n")
        sys.stdout.flush()
    if fault in SPEAKERS:
        _put(python_driver, "json", SPEAKERS[fault])
    sys.argv = sys.argv[:1]
    python_driver.main()


class _NoJson:
    loads = staticmethod(json.loads)

    @staticmethod
    def dumps(_: Reply) -> str:
        return "ok"


class _Twice:
    loads = staticmethod(json.loads)

    @staticmethod
    def dumps(reply: Reply) -> str:
        # In one write: of two the second may come when the next request has been made.
        said = json.dumps(reply)
        return f"{said}\n{said}" if "directive" in reply else said


SPEAKERS = {"speak_no_json": _NoJson, "say_twice": _Twice}


if __name__ == "__main__":
    main(sys.argv[1])
