"""Canonical arguments: all ways of writing the same arguments are one text, and no others."""

import json
import unicodedata
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.digests.canonical import DEPTH_MAX, MARKS_MAX, canonical_arguments
from sidecar.core.digests.digest import arguments_digest
from sidecar.core.digests.measured import TEXT_MAX

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.one_of(
    st.integers(),
    st.integers(min_value=2**50, max_value=2**70),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NAMES | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES.map(lambda name: unicodedata.normalize("NFC", name)), inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("why", "one", "other"),
    [
        ("the order of members", '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'),
        ("white space", '{"a":[1,2]}', ' {\n"a" : [ 1 ,\t2 ] }\r\n'),
        ("no arguments and none", "", "null"),
        ("no arguments and an empty object", "", "{}"),
        ("an empty text as JSON", '""', "{}"),
        ("white space alone", " \n", "{}"),
        ("whole numbers", '{"a":1}', '{"a":1.0}'),
        ("an exponent", '{"a":100}', '{"a":1e2}'),
        ("a capital exponent with a sign", '{"a":100}', '{"a":1E+2}'),
        ("a fraction", '{"a":0.15}', '{"a":1.5e-1}'),
        ("zeros at the end", '{"a":1.5}', '{"a":1.500}'),
        ("a fraction and its double", '{"a":0.1}', '{"a":0.10000000000000001}'),
        ("a double printed twice", "0.30000000000000004", "0.3000000000000000444"),
        ("zero", '{"a":0}', '{"a":-0.0e7}'),
        ("a long number", '{"a":100000000000000000000000}', '{"a":1e23}'),
        ("an escape", '{"a":"\\u0041\\/"}', '{"a":"A/"}'),
        ("a surrogate pair", '{"a":"\\ud83d\\ude00"}', '{"a":"\U0001f600"}'),
        ("a composed letter", '{"a":"\u00e9"}', '{"a":"e\u0301"}'),
        ("a composed letter, escaped", '{"a":"\u00e9"}', '{"a":"e\\u0301"}'),
        ("a composed name", '{"\u00e9":1}', '{"e\u0301":1}'),
        ("the last of members of one name", '{"a":1,"a":2}', '{"a":2}'),
        ("names that are one when composed", '{"\u00e9":1,"e\\u0301":2}', '{"\u00e9":2}'),
        ("a composed text that is not JSON", "caf\u00e9", "cafe\u0301"),
        ("why a command is given", '{"command":"ls","security_risk":"LOW"}', '{"command":"ls"}'),
        ("why a tool is called", '{"explanation":"a","query":"b"}', '{"query":"b"}'),
        ("and beside a double", '{"cmd":1.5,"toolSummary":"a"}', '{"cmd":1.5}'),
    ],
)
def test_these_are_the_same(why: str, one: str, other: str) -> None:
    assert canonical_arguments(one) == canonical_arguments(other), why
    assert arguments_digest(one) == arguments_digest(other), why


@pytest.mark.parametrize(
    ("why", "one", "other"),
    [
        ("2^53 and the next", '{"a":9007199254740992}', '{"a":9007199254740993}'),
        ("1e400 and 1e401", '{"a":1e400}', '{"a":1e401}'),
        ("fractions of 15 digits", '{"a":0.100000000000001}', '{"a":0.1}'),
        ("fractions that are no doubles", '{"a":1e-400}', '{"a":2e-400}'),
        ("fractions beyond doubles", f'{{"a":{9**400}.5}}', f'{{"a":{9**400}.25}}'),
        ("a number and its text", '{"a":1}', '{"a":"1"}'),
        ("a fraction and its canonical text", '{"a":1.5}', '{"a":"15e-1"}'),
        ("signs", '{"a":1}', '{"a":-1}'),
        ("the order of a list", "[1,2]", "[2,1]"),
        ("none and an empty list", "", "[]"),
        ("a member that is null and one that is missing", '{"a":null}', "{}"),
        ("white space in a string", '{"a":"x"}', '{"a":"x "}'),
        ("capitals", '{"a":"x"}', '{"a":"X"}'),
        ("compatibility characters", '{"a":"\ufb01"}', '{"a":"fi"}'),
        ("true and 1", "[true]", "[1]"),
        ("a text that is not JSON and one with a blank", "ls", "ls "),
        ("a description of something", '{"title":"a","description":"b"}', '{"title":"a"}'),
        ("a description of a command", '{"cmd":"a","description":"b"}', '{"cmd":"a"}'),
        ("findings with their explanations", '{"a":1,"explanation":"b"}', '{"a":1}'),
        ("explanations alone", '{"explanation":"a"}', '{"explanation":"b"}'),
        ("an explanation within", '{"a":{"b":1,"explanation":"c"}}', '{"a":{"b":1}}'),
    ],
)
def test_these_are_not(why: str, one: str, other: str) -> None:
    assert arguments_digest(one) != arguments_digest(other), why


@pytest.mark.parametrize(
    "text",
    ["[NaN]", "[Infinity]", "[01]", "[1.]", '{"a":}', "{'a':1}", '["\n"]', "[1] x", "\ufeff{}"],
)
def test_what_is_not_json_stands_for_itself(text: str) -> None:
    assert canonical_arguments(text) == text


def test_nesting_is_read_to_its_limit_and_no_further() -> None:
    deep = "[" * DEPTH_MAX + " " + "]" * DEPTH_MAX
    assert canonical_arguments(deep) == deep.replace(" ", "")
    assert canonical_arguments(f"[{deep}]") == f"[{deep}]"
    shallow = '{"a": "' + "[{" * 200 + '"}'
    assert canonical_arguments(shallow) == shallow.replace(": ", ":")


def test_a_text_too_long_to_be_read_is_still_hashed_to_its_end() -> None:
    filler = "x" * TEXT_MAX
    assert canonical_arguments(f'{{"b": "{filler}"}}') == f'{{"b": "{filler}"}}'
    assert arguments_digest(f'"{filler}1"') != arguments_digest(f'"{filler}2"')


def test_a_text_too_long_to_be_read_is_not_normalized_either() -> None:
    composed = "\u00e9" * (TEXT_MAX + 1)
    decomposed = unicodedata.normalize("NFD", composed)
    assert canonical_arguments(decomposed) == decomposed
    assert canonical_arguments(decomposed[:TEXT_MAX]) == composed[: TEXT_MAX // 2]


@pytest.mark.parametrize("exponent", ["999999999999999999", "-99999999999999999", "9" * 60_000])
def test_a_huge_exponent_is_never_written_out(exponent: str) -> None:
    assert len(canonical_arguments(f'{{"a": 1e{exponent}}}')) < 61_000


def test_more_combining_marks_than_any_text_has_are_left_alone() -> None:
    some = "a" + "\u0301\u0323" * (MARKS_MAX // 2)
    many = "a" + "\u0301\u0323" * MARKS_MAX
    assert canonical_arguments(f'["{some}"]') == f'["{unicodedata.normalize("NFC", some)}"]'
    assert canonical_arguments(f'["{many}"]') == f'["{many}"]'


@given(VALUES, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_any_way_of_writing_a_value_is_canonical_once(value: Any, chance: Any) -> None:
    text = written(value, chance)
    canonical = canonical_arguments(text)
    assert canonical == (reference(json.loads(text, parse_float=Decimal, parse_int=Decimal)))
    assert canonical_arguments(canonical) == canonical


@given(st.text(st.characters(), max_size=40))
def test_no_text_raises(text: str) -> None:
    assert len(arguments_digest(text)) == 16


@given(st.text('[]{}":,\\u019eE+-. tfn', max_size=25))
def test_no_broken_json_raises(text: str) -> None:
    assert len(arguments_digest(text)) == 16


def written(value: Any, chance: Any) -> str:
    """The value as JSON, its members in any order, its numbers and strings in any spelling."""
    if isinstance(value, dict):
        members = [f"{written(k, chance)} : {written(v, chance)}" for k, v in value.items()]
        chance.shuffle(members)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[ " + " ,".join(written(item, chance) for item in value) + "]"
    if isinstance(value, str):
        form: Literal["NFC", "NFD"] = chance.choice(("NFC", "NFD"))
        return json.dumps(unicodedata.normalize(form, value), ensure_ascii=chance.random() < 0.5)
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        spellings = (f"{value:f}", f"{Decimal(value):E}", f"{Decimal(value):.30e}")
        return str(chance.choice(spellings))
    return json.dumps(value)


def reference(value: Any) -> str:
    """The canonical text by the letter of proto/digests.md, with decimals in place of spellings."""
    if value in (None, "", {}):
        return "{}"
    return spelled(value)


def spelled(value: Any) -> str:
    if isinstance(value, dict):
        named = {unicodedata.normalize("NFC", name): member for name, member in value.items()}
        members = (f"{spelled(name)}:{spelled(named[name])}" for name in sorted(named))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, str):
        value = unicodedata.normalize("NFC", value)
    return json.dumps(value, ensure_ascii=False)


def number(value: Decimal) -> str:
    if value == value.to_integral_value():
        shortest = value
    else:
        long = len(value.normalize().as_tuple().digits) > 15
        shortest = Decimal(repr(float(value))) if long else value
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits)))
    if not whole:
        return "0"
    while whole % 10 == 0:
        whole, exponent = whole // 10, exponent + 1
    text = f"{whole}{'0' * exponent}" if exponent >= 0 else ""
    return ("-" if sign else "") + (text if 0 < len(text) <= 20 else f"{whole}e{exponent}")
