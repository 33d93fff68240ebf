"""Where a final answer is found in text, and where none is."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.answers.answer import Extraction, Rule, Source, extract, settle
from sidecar.core.answers.form import ANSWER_FORM, form_of
from sidecar.core.answers.marks import SIGN_MAX
from sidecar.core.answers.text import HEAD_MAX
from sidecar.core.policy import Policy

DATA = Path(__file__).parents[1] / "data" / "extraction.jsonl"
VECTORS = [json.loads(line) for line in DATA.read_text().splitlines()]


def of_kind(*kinds: str) -> list[Any]:
    return [pytest.param(row, id=row["name"]) for row in VECTORS if row["kind"] in kinds]


@pytest.mark.parametrize("row", of_kind("text", "history"))
def test_a_recorded_text_or_history_gives_its_answer(row: dict[str, Any]) -> None:
    found = extract(row["text"] if row["kind"] == "text" else row["messages"])

    assert found.answer == row["expected"], row["why"]


@pytest.mark.parametrize("row", of_kind("force_commit"))
def test_a_recorded_forced_commit_takes_its_reply_and_else_the_history(row: dict[str, Any]) -> None:
    found = settle(row["model_reply"].get("text"), row["messages"])

    assert found.answer == row["founding"]["answer"], row["why"]
    assert (found.source is Source.HISTORY) == row["founding"]["used_fallback"]


def test_every_kind_of_recorded_scenario_is_run() -> None:
    assert {row["kind"] for row in VECTORS} == {"text", "history", "force_commit"}


PLACEHOLDERS = """\
<your answer>
<your answer>.
<your answer> and nothing else
`<your answer>`
**<city>**
<div>
<votre réponse>
[your answer]
[insert the answer here]
{your_answer}
{{answer}}
(your final answer)
your answer
Your answer here.
...
\u2026
____"""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("[FINAL_ANSWER: 42]", "42"),
        ("(FINAL_ANSWER: f(x))", "f(x)"),
        ("(FINAL_ANSWER: f(x)", "f(x)"),
        ("[FINAL_ANSWER: [1, 2]]", "[1, 2]"),
        ("FINAL_ANSWER: [1, 2]", "[1, 2]"),
    ],
)
def test_a_bracket_around_marker_and_answer_is_stripped(text: str, answer: str) -> None:
    assert extract(text).answer == answer


@pytest.mark.parametrize("placeholder", [*PLACEHOLDERS.splitlines(), "\u200b", "\u2060\u200d"])
def test_a_placeholder_is_no_answer(placeholder: str) -> None:
    assert extract(f"FINAL_ANSWER: {placeholder}").answer is None
    assert extract(f"FINAL_ANSWER: 1\nFINAL_ANSWER: {placeholder}").answer == "1"
    assert extract(f"**FINAL_ANSWER: ** {placeholder}").answer is None
    assert extract(f"<b>FINAL_ANSWER: </b> {placeholder}").answer is None


KEPT = """\
[1, 2]
{1, 2}
(a, b)
<https://a.example/b>
<b>bold
\\boxed{42}
$5$
"Paris"
6" tube
it's
A*
*
**kwargs
__init__
list_
_private
**Paris** and **Lyon**
`a` and `b`
-5
N/A
?
a < b > c
* a *
<b>a</b> and <b>b</b>
{"answer": "Paris"}
["your", 'mine']
(insert, delete)
[the answer is 42]
Paris |"""


@pytest.mark.parametrize("answer", KEPT.splitlines())
def test_what_only_looks_like_markup_or_a_placeholder_is_kept(answer: str) -> None:
    assert extract(f"FINAL_ANSWER: {answer}").answer == answer


STRIPPED = """\
FINAL_ANSWER:Paris
> FINAL_ANSWER: Paris
> - **FINAL_ANSWER:** Paris
> FINAL_ANSWER: Lyon FINAL_ANSWER: Paris
## FINAL_ANSWER: Paris
1. FINAL_ANSWER: Paris
* FINAL_ANSWER: Paris
***FINAL_ANSWER:*** Paris
_FINAL_ANSWER: Paris_
__FINAL_ANSWER:__ Paris
**FINAL_ANSWER:**Paris
`FINAL_ANSWER:` Paris
`FINAL_ANSWER`: Paris
**FINAL_ANSWER: ** Paris
**FINAL_ANSWER: **Paris
**FINAL_ANSWER: **Paris**
`FINAL_ANSWER: ` Paris
_So my FINAL_ANSWER: Paris_
**`FINAL_ANSWER: Paris`**
```FINAL_ANSWER: Paris```
**FINAL_ANSWER: Paris**, because it is
I end with `FINAL_ANSWER: Paris` here
`FINAL_ANSWER: Paris `is it
**So my FINAL_ANSWER: Paris**
FINAL_ANSWER: ***Paris***
FINAL_ANSWER: ``Paris``
FINAL_ANSWER: <answer>**`Paris`**</answer>
<answer>FINAL_ANSWER: Paris</answer>
<answer>FINAL_ANSWER: <b>Paris</b></answer>
<b>FINAL_ANSWER:</b> Paris
<b>FINAL_ANSWER: </b> Paris
<b>FINAL_ANSWER: </b><i>Paris</i>
FINAL_ANSWER: Paris **FINAL_ANSWER:** <city>
\\nFINAL_ANSWER: Paris
\u7b54\u6848\u662fFINAL_ANSWER: Paris
He said "no". FINAL_ANSWER: Paris
The 5" users' don't-know; FINAL_ANSWER: Paris"""


@pytest.mark.parametrize("text", STRIPPED.splitlines())
def test_what_encloses_marker_or_answer_is_stripped(text: str) -> None:
    found = extract(text)

    assert found.answer == "Paris"
    assert found.rule is Rule.SAME_LINE
    assert found.offset == text.index("Paris")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("**FINAL_ANSWER: 2**3 = 8**", "2**3 = 8"),
        ("**FINAL_ANSWER: a ** b**", "a ** b"),
        ("**FINAL_ANSWER**: C** or D", "C** or D"),
        ("*FINAL_ANSWER*: *args", "*args"),
        ("**Note:** FINAL_ANSWER: C**", "C**"),
        ("**So FINAL_ANSWER: **a** or **b**", "**a** or **b**"),
        ('5"-tube: FINAL_ANSWER: 6" tube', '6" tube'),
        ("FINAL_ANSWER: FINAL_ANSWER: <x>", None),
    ],
)
def test_a_sign_that_closes_nothing_stays(text: str, answer: str | None) -> None:
    assert extract(text).answer == answer


SPOKEN_OF = """\
You said: "FINAL_ANSWER: Paris".
Reply with "the words FINAL_ANSWER: Paris" now
"**FINAL_ANSWER: Paris**"
'FINAL_ANSWER: Paris'
\u201cFINAL_ANSWER: Paris\u201d
\u201eEnd with FINAL_ANSWER: Paris\u201c
\u00ab mot FINAL_ANSWER: Paris \u00bb
\u300cFINAL_ANSWER: Paris\u300d
{"answer": "FINAL_ANSWER: Paris"}
print("FINAL_ANSWER:", city)
"FINAL_ANSWER: Paris, of which no quote ends
'you don't say FINAL_ANSWER: Paris'
> you must reply with FINAL_ANSWER: Paris
End with the `FINAL_ANSWER:` marker
MYFINAL_ANSWER: Paris
2FINAL_ANSWER: Paris
NO__FINAL_ANSWER: Paris
\u00e9FINAL_ANSWER: Paris
FINAL_AN\u017fWER: Paris
FINAL_ANSWER : Paris
FINAL_ANSWER\uff1a Paris
FINAL ANSWER: Paris
FINAL_ANSWERS: Paris"""


@pytest.mark.parametrize("text", SPOKEN_OF.splitlines())
def test_a_marker_that_is_quoted_or_in_a_word_or_another_is_none(text: str) -> None:
    assert extract(text) == Extraction()


TWELVE_WORDS = "a b c d e f g h i j k l"


@pytest.mark.parametrize(
    ("why", "below", "answer"),
    [
        (
            "the next line, whatever it says",
            "\nIt is the city of Paris.",
            "It is the city of Paris.",
        ),
        ("a short line of its own paragraph", "\n\n**Paris**", "Paris"),
        ("one stop makes no sentence", "\r\n\r\nSt. Louis.", "St. Louis."),
        ("a sentence is another paragraph", "\n\nLet me think again.", None),
        ("twelve words are no paragraph yet", f"\n\n{TWELVE_WORDS}", TWELVE_WORDS),
        ("and so is a long line", f"\n\n{TWELVE_WORDS} more", None),
        ("and a line that announces something", "\n\nReasoning:\nbecause", None),
        ("CRLF is one end of a line", "\r\nLet me think again.", "Let me think again."),
        ("a heading begins something else", "\n## Notes", None),
        ("a rule ends what was", "\n---\nNotes", None),
        ("a fence of text is looked into", "\n```\nParis\n```", "Paris"),
        ("and named so", "\n```text\n\nParis\n```\n", "Paris"),
        ("it may open on the marker's line", " ```\nParis\n```", "Paris"),
        ("and be named there", " ```text\nParis\n```\n", "Paris"),
        ("where a program is none either", ' ```python\nanswer("x")\n```', None),
        ("a program is no answer", '\n```python\nanswer("x")\n```', None),
        ("an empty fence has none", "\n```\n```\nmore", None),
        ("a fence that ends encloses the marker", "\n```\nI am done", None),
        ("emphasis may enclose both lines", "\n**Paris**", "Paris"),
        ("another marker is no answer", "\nso FINAL_ANSWER: <x>", None),
        ("nor is a quoted one", '\nthe "FINAL_ANSWER: x" marker', None),
        ("nor what stands before one", "\n- **FINAL_ANSWER:**", None),
        ("nor a closing tag", "\n</answer>\n", None),
    ],
)
def test_an_empty_marker_takes_the_next_line_of_its_paragraph(
    why: str, below: str, answer: str | None
) -> None:
    found = extract(f"FINAL_ANSWER:{below}")

    assert found.answer == answer, why
    assert found.rule is (Rule.NEXT_LINE if answer else None)


def test_a_block_quote_goes_on_on_the_next_line() -> None:
    assert extract("> FINAL_ANSWER:\n> Paris").answer == "Paris"
    assert extract("FINAL_ANSWER:\n> 5").answer == "> 5"


def test_emphasis_that_opens_before_the_marker_may_close_on_the_next_line() -> None:
    assert extract("**FINAL_ANSWER:\nParis**").answer == "Paris"


def test_markup_without_anything_in_it_is_no_answer() -> None:
    for markup in ("**", "``", "` `", "</answer>", "**</answer>", "***"):
        assert extract(f"FINAL_ANSWER: {markup}").answer is None, markup


def test_markup_is_stripped_within_bounds() -> None:
    layers = "<a><b><i>**`x`**</i></b></a>"
    ornament = "*" * (SIGN_MAX + 1)

    assert extract(f"FINAL_ANSWER: {layers}").answer == "`x`"
    assert extract(f"{ornament}FINAL_ANSWER: x{ornament}").answer == f"x{ornament}"
    for length, answer in ((HEAD_MAX - 2, "x"), (HEAD_MAX - 1, "x**")):
        assert extract(f"**{'y' * (length - 1)} FINAL_ANSWER: x**").answer == answer


def test_an_empty_marker_at_the_end_leaves_the_answer_before_it() -> None:
    assert extract("FINAL_ANSWER: Paris\nFINAL_ANSWER:").answer == "Paris"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("```python\nx = 3\n# FINAL_ANSWER: the total\n```", None),
        ("```js\nx = 3 // FINAL_ANSWER: x\n```\nI go on.", None),
        ("~~~sql\nselect 1 -- FINAL_ANSWER: 1\n~~~", None),
        ("> ```python\n> # FINAL_ANSWER: the total\n", None),
        ("```python\nx = 3\n```\n# FINAL_ANSWER: 3", "3"),
        ("Use ```x``` here.\n# FINAL_ANSWER: 3", "3"),
        ("```python\nFINAL_ANSWER: 3\n```", "3"),
        ("```\n# FINAL_ANSWER: 3\n```", "3"),
        ("```markdown\n# FINAL_ANSWER: 3\n```", "3"),
    ],
)
def test_a_marker_in_the_comment_of_a_program_is_none(text: str, answer: str | None) -> None:
    assert extract(text).answer == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("FINAL\\_ANSWER: 42", "42"),
        ("**FINAL\\_ANSWER:** 42", "42"),
        ("FINAL_ANSWER: [Answer: 3]", "[Answer: 3]"),
        ("FINAL_ANSWER: [answer]", None),
        ("FINAL_ANSWER: [answer: your city]", None),
    ],
)
def test_an_escaped_underscore_and_a_named_value_are_real(text: str, answer: str | None) -> None:
    assert extract(text).answer == answer


def test_the_offset_counts_code_points_of_the_text() -> None:
    text = "\U0001f1e8\U0001f1ed\nFINAL_ANSWER:\n  **Z\u00fcrich**\n"
    found = extract(text)

    assert found == Extraction(
        answer="Z\u00fcrich", source=Source.TEXT, rule=Rule.NEXT_LINE, offset=text.index("Z")
    )


@pytest.mark.parametrize(
    ("form", "text", "answer"),
    [
        ("ANSWER: <it>", "answer: 5 km", "5 km"),
        ("ANSWER: <it>", "FINAL_ANSWER: 5 km", None),
        ("ANSWER:", "ANSWER: 5", "5"),
        ("RESULT = {number}", "RESULT = {number}\nRESULT = 6", "6"),
        ("RESULT = {number}", "RESULT = {number}", None),
        ("#### <number>", "so\n#### 7", "7"),
        ("<answer>...</answer>", "<answer>Paris</answer> it is", "Paris"),
        ("<answer>...</answer>", "I say <answer> Paris </answer>", "Paris"),
        ("<b>ANSWER:</b> <x>", "<b>ANSWER:</b> Paris", "Paris"),
        ('{"answer": "<your answer>"}', '{"answer": "Paris"}', "Paris"),
        ("\\boxed{...}", "so \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{<answer>}", "so $\\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}"),
        ("\\boxed{<answer>}", "so \\boxed{42", "42"),
        ("The answer is <x>.", "The answer is 3.14", "3.14"),
        (
            "\u041e\u0422\u0412\u0415\u0422: <...>",
            "\u043e\u0442\u0432\u0435\u0442: \u0434\u0430",
            "\u0434\u0430",
        ),
        ("DONE <x>", "DONE Paris", "Paris"),
        ("DONE <x>", "DONENESS Paris", None),
        ("one word", "In one word: no\nFINAL_ANSWER: yes", "yes"),
        ("<your answer>", "FINAL_ANSWER: yes", "yes"),
        (":", "FINAL_ANSWER: yes", "yes"),
        (" ", "FINAL_ANSWER: yes", "yes"),
    ],
)
def test_a_policy_may_name_another_form(form: str, text: str, answer: str | None) -> None:
    assert extract(text, (form,)).answer == answer


def test_of_several_markers_the_last_real_answer_counts_and_the_longer_marker_is_meant() -> None:
    markers = ("ANSWER:", "ANSWER: it is:", ANSWER_FORM)

    assert extract("ANSWER: 1\nFINAL_ANSWER: 2", markers).answer == "2"
    assert extract("FINAL_ANSWER: 2\nANSWER: it is: 3", markers).answer == "3"
    assert extract("FINAL_ANSWER: 2", ()) == Extraction()


def test_the_founding_form_is_that_of_a_policy() -> None:
    assert Policy(name="p", watches=()).answer_form == ANSWER_FORM
    assert form_of(ANSWER_FORM).marker == "FINAL_ANSWER:"
