"""Values go to JSON and come back the same; what does not fit is refused with its place."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, Halt, Proceed, Rotate
from sidecar.core.opening import Command, Continue, Reset
from sidecar.core.reading import Reading
from sidecar.core.snapshot import VERSION, SnapshotInvalid, decode, encode, seal, unseal
from sidecar.core.turn import Progress, ToolCall, Turn


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 0
    HIGH = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    name: str
    size: int = 0

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size is below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    share: float = 0.0
    flag: bool = False
    key: bytes = b""
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    leaf: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (0, "")
    rows: tuple[tuple[int, float], ...] = ()
    named: Mapping[str, Leaf] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    either: Leaf | Progress | None = None


FULL = Tree(
    share=0.5,
    flag=True,
    key=b"\x00\xff",
    colour=Colour.BLUE,
    level=Level.HIGH,
    leaf=Leaf(name="a"),
    leaves=(Leaf(name="b", size=2), Leaf(name="c")),
    pair=(1, "one"),
    rows=((1, 1.5), (2, math.inf)),
    named={"x": Leaf(name="d")},
    counts={"y": 3},
    either=Progress(files_changed=0),
)


def through_text(value: Any, kind: Any = None) -> Any:
    text = json.dumps(encode(value, kind), allow_nan=False)
    return decode(type(value) if kind is None else kind, json.loads(text))


def test_every_kind_of_field_comes_back() -> None:
    assert through_text(FULL) == FULL


def test_this_is_what_it_looks_like() -> None:
    assert encode(FULL) == {
        "share": 0.5,
        "flag": True,
        "key": "AP8=",
        "colour": "blue",
        "level": 1,
        "leaf": {"name": "a"},
        "leaves": [{"name": "b", "size": 2}, {"name": "c"}],
        "pair": [1, "one"],
        "rows": [[1, 1.5], [2, "inf"]],
        "named": {"x": {"name": "d"}},
        "counts": {"y": 3},
        "either": {"is": "Progress", "files_changed": 0},
    }


def test_fields_at_their_default_are_left_out() -> None:
    assert encode(Tree()) == {}
    assert encode(Leaf(name="", size=0)) == {"name": ""}
    assert decode(Tree, {}) == Tree()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.5, 1e308, 5e-324])
def test_every_float_comes_back(value: float) -> None:
    assert repr(through_text(Tree(share=value))) == repr(Tree(share=value))


def test_a_float_field_takes_an_integer() -> None:
    assert decode(Tree, {"share": 2}).share == 2.0
    assert type(decode(Tree, {"share": 2}).share) is float


def test_a_union_and_a_tuple_are_written_as_the_type_that_is_named() -> None:
    either = Command
    assert through_text(Reset(reason="r"), either) == Reset(reason="r")
    assert through_text(Continue(extra_turns=2), either) == Continue(extra_turns=2)
    assert through_text((1, 2), tuple[int, ...]) == (1, 2)


def test_a_decision_comes_back_with_its_directive() -> None:
    for directive in (Proceed(), Halt(reason="over"), Rotate(instruction="i", wait_max_s=3.0)):
        decision = Decision(
            decision_id="0123456789abcdef",
            sequence=3,
            cause=Cause.TURN,
            state=State.TRIPPED,
            state_before=State.HEALTHY,
            directive=directive,
        )
        assert through_text(decision) == decision


@settings(max_examples=200, deadline=None)
@given(st.from_type(Turn))
def test_any_turn_comes_back(turn: Turn) -> None:
    assert repr(through_text(turn)) == repr(turn)


@settings(max_examples=100, deadline=None)
@given(st.from_type(Reading))
def test_any_reading_comes_back(reading: Reading) -> None:
    assert repr(through_text(reading)) == repr(reading)


@pytest.mark.parametrize(
    ("json_value", "path", "problem"),
    [
        ([], "", "expected an object, found list"),
        (None, "", "expected an object, found NoneType"),
        ({"unknown": 1}, "", "a field that Tree does not have"),
        ({"share": "0.5"}, "share", "expected a number, found str"),
        ({"share": True}, "share", "expected a number, found bool"),
        ({"share": 10**400}, "share", "the number is too large"),
        ({"flag": 1}, "flag", "expected true or false, found int"),
        ({"key": "AP8"}, "key", "the text is not base64"),
        ({"key": "\ud800"}, "key", "the text is not base64"),
        ({"key": 7}, "key", "expected base64 text, found int"),
        ({"colour": "green"}, "colour", "expected a value of Colour"),
        ({"colour": []}, "colour", "expected a value of Colour"),
        ({"level": True}, "level", "expected a value of Level"),
        ({"level": 1.0}, "level", "expected a value of Level"),
        ({"leaf": {}}, "leaf.name", "missing"),
        ({"leaf": {"name": None}}, "leaf.name", "expected a text, found NoneType"),
        ({"leaf": {"name": "a", "size": -1}}, "leaf", "Leaf refuses these values"),
        ({"leaf": {"name": "a", "size": 1.0}}, "leaf.size", "expected an integer, found float"),
        ({"leaves": {}}, "leaves", "expected a list, found dict"),
        ({"leaves": [{"name": "a"}, {"name": 3}]}, "leaves[1].name", "expected a text, found int"),
        ({"pair": [1]}, "pair", "expected 2 items, found 1"),
        ({"pair": [1, 2]}, "pair[1]", "expected a text, found int"),
        ({"rows": [[1, "x"]]}, "rows[0][1]", "expected a number, found str"),
        ({"named": {"secret": 1}}, "named[0]", "expected an object, found int"),
        ({"counts": {1: 1}}, "counts", "a key is not a text"),
        ({"either": {"name": "a"}}, "either.is", "expected one of Leaf, Progress"),
        ({"either": {"is": []}}, "either.is", "expected one of Leaf, Progress"),
        ({"either": {"is": "Leaf"}}, "either.name", "missing"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    json_value: Any, path: str, problem: str
) -> None:
    with pytest.raises(SnapshotInvalid) as refused:
        decode(Tree, json_value)
    assert (refused.value.path, refused.value.problem) == (path, problem)


FIELD_NAMES = st.sampled_from(("usage", "tool_calls", "sequence", "name", "call", "kind", "")) | (
    st.text(max_size=3)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELD_NAMES, inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(FIELD_NAMES, JSON, max_size=5) | JSON)
def test_no_json_at_all_raises_anything_else(anything: Any) -> None:
    for kind in (Turn, ToolCall, Tree, Decision):
        with suppress(SnapshotInvalid):
            assert type(decode(kind, anything)) is kind


def test_the_message_never_holds_the_value() -> None:
    canary = "canary-7b1f"
    for broken in ({"share": canary}, {"colour": canary}, {canary: 1}, {"key": canary + "!"}):
        with pytest.raises(SnapshotInvalid) as refused:
            decode(Tree, broken)
        assert canary not in str(refused.value)


def test_a_sealed_value_names_its_version() -> None:
    assert seal(encode(Tree(share=1.0))) == {"version": VERSION, "body": {"share": 1.0}}
    assert unseal(seal([1])) == [1]


@pytest.mark.parametrize(
    ("sealed", "path"),
    [
        ({"version": VERSION + 1, "body": {}}, "version"),
        ({"version": True, "body": {}}, "version"),
        ({"version": VERSION}, ""),
        ({"version": VERSION, "body": {}, "more": 1}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_another_version_is_refused(sealed: Any, path: str) -> None:
    with pytest.raises(SnapshotInvalid) as refused:
        unseal(sealed)
    assert refused.value.path == path


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    anything: object = None


@pytest.mark.parametrize("kind", [Open, set[int], tuple, int | str, dict[int, int], Mapping])
def test_a_type_that_cannot_be_written_is_a_fault_of_the_code(kind: Any) -> None:
    with pytest.raises(TypeError, match="snapshot cannot"):
        decode(kind, {})
