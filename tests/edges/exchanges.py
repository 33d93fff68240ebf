"""A client's exchange without I/O, and a clock that is told."""

from dataclasses import dataclass, field
from typing import Any

from sidecar.client.directive import Directive
from sidecar.client.exchange import Exchange
from sidecar.client.give_ups import GiveUps
from sidecar.client.refusal import Ending
from sidecar.client.ring import TURNS_MAX, Entry
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb

INSTANCE = "0123456789abcdef"
TIMEOUT_S = 0.2


@dataclass(slots=True)
class Talk:
    """Both ends of a client's exchange: the agent's calls, and what the sidecar would say."""

    mode: "pb.Mode" = pb.MODE_ENFORCE
    previous_session_id: str = ""
    timeout_s: float = TIMEOUT_S
    turns_max: int = TURNS_MAX
    now_s: float = 1000.0
    number: int = 0
    give_ups: GiveUps = field(default_factory=GiveUps)
    exchange: Exchange = field(init=False)

    def __post_init__(self) -> None:
        opening = pb.Open(
            session_id="s",
            mode=self.mode,
            client_instance=INSTANCE,
            previous_session_id=self.previous_session_id,
        )
        self.exchange = Exchange(
            opening=opening,
            timeout_s=self.timeout_s,
            give_ups=self.give_ups,
            random=lambda: 0.0,
            turns_max=self.turns_max,
        )

    # The sidecar.

    def connect(self) -> pb.Open:
        """Waits as long as the client wants, and begins the next stream."""
        pause_s = self.exchange.line.pause_s(self.now_s)
        assert pause_s is not None
        self.now_s += pause_s
        self.number = self.exchange.line.begin(self.now_s)
        (request,) = self.sent()
        return request.open

    def opened(self, last_sequence: int = 0, **fields: Any) -> pb.Open:
        """Connects, and answers `open`."""
        opening = self.connect()
        self.say(wire.ObserveResponse(opened=wire.Opened(last_sequence=last_sequence, **fields)))
        return opening

    def say(self, response: wire.ObserveResponse) -> None:
        self.exchange.received(self.number, response, now_s=self.now_s)

    def decide(self, sequence: int, cause: "pb.Cause" = pb.CAUSE_TURN, **directive: Any) -> None:
        decision = pb.Decision(sequence=sequence, cause=cause, **directive)
        self.say(wire.ObserveResponse(decision=decision))

    def drain(self) -> None:
        self.say(wire.ObserveResponse(draining=wire.Draining()))

    def end(self, code: int, reason: str = "", **fields: Any) -> None:
        self.exchange.ended(
            self.number, Ending(code=code, reason=reason, **fields), now_s=self.now_s
        )

    def sent(self) -> list[wire.ObserveRequest]:
        """What the client sends now."""
        requests = []
        while not isinstance(step := self.step(), Lull):
            requests.append(step)
        return requests

    def step(self) -> wire.ObserveRequest | Lull:
        return self.exchange.next_request(self.number, now_s=self.now_s)

    def sent_sequences(self) -> list[int]:
        return [one.turn.sequence for one in self.sent() if one.HasField("turn")]

    # The agent.

    def report(self, **fields: Any) -> Entry:
        return self.exchange.report(pb.Turn(**fields))

    def collect(self, entry: Entry) -> Directive:
        return self.exchange.collect(entry, now_s=self.now_s)

    def miss(self) -> Directive:
        """Reports a turn and waits for its answer in vain."""
        entry = self.report()
        self.sent()
        if self.exchange.awaits(entry):
            self.now_s += self.timeout_s
        return self.collect(entry)

    def turn(self, **directive: Any) -> Directive:
        """Reports a turn that is answered at once."""
        entry = self.report()
        self.sent()
        self.decide(entry.sequence, **directive)
        return self.collect(entry)

    @property
    def counted(self) -> dict[str, int]:
        return {reason: count for reason, count in self.give_ups.by_reason().items() if count}


def rotate(instruction: str = "try another way") -> dict[str, Any]:
    return {"rotate": pb.Rotate(instruction=instruction)}


def commit(instruction: str = "answer now") -> dict[str, Any]:
    return {"commit": pb.Commit(instruction=instruction)}


def halt(reason: str = "stop") -> dict[str, Any]:
    return {"halt": pb.Halt(reason=reason)}


PROCEED: dict[str, Any] = {"proceed": pb.Proceed()}
