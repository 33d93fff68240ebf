"""What the functions that code can call give back, and what they refuse."""

import io
import json
import zipfile
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from sidecar.codeagent.runner.step import ToolRefused
from sidecar.codeagent.tools import parsing
from sidecar.codeagent.tools.asking import DescribeImage, GroundedQuery, Spending
from sidecar.codeagent.tools.model_search import ModelSearch
from sidecar.codeagent.tools.pages import PageMissingError, WebPages
from sidecar.codeagent.tools.parsing import Form, ParseError, parse
from sidecar.codeagent.tools.read_file import ReadFile
from sidecar.codeagent.tools.searching import (
    LOCAL,
    Brave,
    LocalIndex,
    NoSearch,
    SearchFailedError,
    SearxNG,
)
from sidecar.codeagent.tools.tool import Box
from sidecar.codeagent.tools.web import VisitWebpage, WebSearch
from sidecar.ports import Cited, Purpose
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Fail, Say, Search
from tests.codeagent.loopback import Reply, page, site
from tests.edges.models import real_model

pytestmark = pytest.mark.process

LOOPBACK = (ip_network("127.0.0.0/8"),)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def workbook() -> bytes:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("prices")
    sheet.append(["item", "price", "sold"])
    sheet.append(["tea", 2.5, True])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def document(text: str) -> bytes:
    writer = PdfWriter()
    sheet = writer.add_blank_page(300, 300)
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    named = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): named})
    sheet[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    sheet[NameObject("/Contents")] = stream
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("a.txt", b"\xef\xbb\xbfcaf\xc3\xa9", "caf\u00e9"),
        ("a.txt", "caf\u00e9".encode("cp1252"), "caf\u00e9"),
        ("a.txt", "caf\u00e9".encode("utf-16"), "caf\u00e9"),
        ("a.csv", b'a,b\n1,"x, y"\n', [["a", "b"], ["1", "x, y"]]),
        ("a.csv", b"a;b\n1;2\n", [["a", "b"], ["1", "2"]]),
        ("a.tsv", b"a\tb\n1\t2\n", [["a", "b"], ["1", "2"]]),
        ("a.csv", b"", []),
        ("A.JSON", b'{"a": [1, null]}', {"a": [1, None]}),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("a.jsonl", '"a\u2028b"\r\n2\r\n'.encode(), ["a\u2028b", 2]),
        ("a.xlsx", workbook(), {"prices": [["item", "price", "sold"], ["tea", 2.5, True]]}),
        ("a.pdf", document("Total 42"), "[page 1]\nTotal 42"),
    ],
)
async def test_a_file_is_read_by_its_form(name: str, content: bytes, read: Any) -> None:
    assert await ReadFile().call({"path": name}, content) == read


async def test_a_page_becomes_markdown_without_its_scripts() -> None:
    html = b"""<html><head><title>Towers</title><style>x</style></head><body><h1>Towers</h1>
    <script>steal()</script><p>See <a href="/eiffel">Eiffel</a>.</p>
    <table><tr><th>name</th><th>m</th></tr><tr><td>Eiffel</td><td>330</td></tr></table></body>"""
    text = await parse(html, Form.HTML)
    assert "[Eiffel](/eiffel)" in text
    assert "| Eiffel | 330 |" in text
    assert "steal" not in text


@pytest.mark.parametrize(
    ("html", "link"),
    [
        (b'<a href="b.md">', "http://x/a/b.md"),
        (b'<a href="/b">', "http://x/b"),
        (b'<a href="https://y/z">', "https://y/z"),
        (b'<a href="mailto:a@b">', "mailto:a@b"),
        (b'<a href="http://[">', "http://["),
        (b'<head><base href="../c/"></head><a href="b">', "http://x/c/b"),
    ],
)
async def test_links_of_a_page_are_whole_addresses(html: bytes, link: str) -> None:
    assert await parse(html + b"It</a>", Form.HTML, base="http://x/a/page") == f"[It]({link})"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.txt", b"\0\1\2", "not text"),
        ("a.json", b"{", "JSONDecodeError"),
        ("a.json", b"[" * 100_000, "RecursionError"),
        ("a.json", b"[" * 101 + b"]" * 101, "it is nested deeper than 100"),
        ("a.json", b'{"a": ' * 500 + b"1" + b"}" * 500, "it is nested deeper than 100"),
        ("a.jsonl", b"1\n" + b"[" * 980 + b"]" * 980, "it is nested deeper than 100"),
        ("a.xlsx", b"no zip", "BadZipFile"),
        ("a.pdf", b"%PDF-1.4 broken", "."),
        ("a.txt", b"a" * 5_000_000, "more than 4,194,304 bytes"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_with_a_reason(
    name: str, content: bytes, why: str
) -> None:
    with pytest.raises(ToolRefused, match=why):
        await ReadFile().call({"path": name}, content)


async def test_a_workbook_that_unpacks_to_too_much_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (parsing.UNPACKED_BYTES_MAX + 1))
    with pytest.raises(ToolRefused, match="unpacked it has more than"):
        await ReadFile().call({"path": "a.xlsx"}, packed.getvalue())


async def test_reading_is_given_up_after_its_time() -> None:
    with pytest.raises(ParseError, match="longer than 0 s"):
        await parse(b"x", Form.TEXT, timeout_s=0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "missing required field `path`"),
        ({"path": 7}, "Expected `str`, got `int`"),
        ({"path": "a.txt"}, "content did not come"),
    ],
)
async def test_arguments_are_checked(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolRefused, match=why):
        await Box([ReadFile()]).call("read_file", arguments, None)


async def test_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(ToolRefused, match="rm: no such tool; there are read_file"):
        await Box([ReadFile()]).call("rm", {}, None)


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    (tmp_path / "towers.html").write_text("<p>The Eiffel tower is in <b>Paris</b>, 330 m.</p>")
    (tmp_path / "rivers.txt").write_text("The Seine flows through Paris.")
    (tmp_path / "skip.bin").write_bytes(b"Eiffel")
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    return LocalIndex(tmp_path)


async def test_a_folder_is_searched_by_words_and_its_pages_are_visited(index: LocalIndex) -> None:
    found = await WebSearch(index).call({"query": "Eiffel tower Paris"}, None)
    assert [each["url"] for each in found] == [f"{LOCAL}towers.html", f"{LOCAL}rivers.txt"]
    assert found[0]["snippet"] == "The Eiffel tower is in Paris , 330 m."
    text = await VisitWebpage(index).call({"url": found[0]["url"]}, None)
    assert text == "The Eiffel tower is in **Paris**, 330 m."


async def test_a_page_that_is_gone_is_not_found_and_not_there(
    index: LocalIndex, tmp_path: Path
) -> None:
    (tmp_path / "towers.html").unlink()
    assert [each.url for each in await index.search("Eiffel Paris", 5)] == [f"{LOCAL}rivers.txt"]
    with pytest.raises(PageMissingError, match="No such file"):
        await index.fetch(f"{LOCAL}towers.html")


@pytest.mark.parametrize("url", [f"{LOCAL}link.txt", f"{LOCAL}../x", "http://elsewhere/", "b.md"])
async def test_a_folder_has_no_pages_but_its_own(index: LocalIndex, url: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        await VisitWebpage(index).call({"url": url}, None)
    assert str(refused.value) == f"{url}: no such page; addresses of pages here begin with {LOCAL}"


async def test_a_link_leads_from_one_page_of_a_folder_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('Built by <a href="people/ann%20%231.md#born">Ann</a>.')
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "ann #1.md").write_text("Born in Oslo.")
    visit = VisitWebpage(LocalIndex(tmp_path))
    text = await visit.call({"url": f"{LOCAL}a.html"}, None)
    link = text.partition("(")[2].partition(")")[0]
    assert await visit.call({"url": link}, None) == "Born in Oslo."


async def test_searxng_and_brave_are_asked_as_they_want() -> None:
    row = {"title": "T", "url": "http://x/", "content": "C", "description": "D"}
    answer = {"results": [row, {"no": "url"}, 7], "web": {"results": [row]}}
    with site(lambda _: page(json.dumps(answer), "application/json")) as here:
        searxng = await SearxNG(here.url("/")).search("a b", 5)
        brave = await Brave("token", here.url("/brave")).search("a b", 3)
        assert here.asked[0][0] == "/search?q=a+b&format=json"
        assert here.asked[1][0] == "/brave?q=a+b&count=3"
        assert {k.lower(): v for k, v in here.asked[1][1].items()}[
            "x-subscription-token"
        ] == "token"
    assert [(each.title, each.url, each.snippet) for each in searxng] == [("T", "http://x/", "C")]
    assert [each.snippet for each in brave] == ["D"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(status=500), "status 500"),
        (page("<html>"), "no JSON"),
        (page("a" * 3_000_000), "too much"),
    ],
)
async def test_a_search_that_fails_says_how(reply: Reply, why: str) -> None:
    with site(lambda _: reply) as here, pytest.raises(SearchFailedError, match=why):
        await SearxNG(here.url("")).search("q", 5)


async def test_a_search_out_of_reach_says_so() -> None:
    with pytest.raises(ToolRefused, match="out of reach"):
        await WebSearch(SearxNG("http://127.0.0.1:1")).call({"query": "q"}, None)
    with pytest.raises(ToolRefused, match="no search is set up"):
        await WebSearch(NoSearch()).call({"query": "q"}, None)


async def test_a_page_that_is_a_picture_is_refused() -> None:
    refused = pytest.raises(ToolRefused, match="it is no page but image/png")
    with site(lambda _: page("x", "image/png")) as here, refused:
        await VisitWebpage(WebPages(opened=LOOPBACK)).call({"url": here.url("/")}, None)


async def test_a_grounded_answer_rests_on_pages_that_the_model_gets_as_data(
    index: LocalIndex,
) -> None:
    model, spending = FakeModel([Say(text=" 330 m [towers] ")]), Spending()
    tool = GroundedQuery(model, index, index, spending, model_timeout_s=7.0)
    assert await tool.call({"question": "How high is the Eiffel tower?"}, None) == "330 m [towers]"
    request = model.requests[0]
    assert "330 m" not in request.system
    assert "330 m" in str(request.messages[0]["content"])
    assert request.purpose is Purpose.GROUNDED, "asked once: no cache would pay"
    assert request.timeout_s == 7.0
    assert len(spending.take()) == 1
    assert spending.take() == []


async def test_a_picture_is_shown_to_the_model() -> None:
    model = FakeModel([Say(text="A cat.")])
    tool = DescribeImage(model, Spending(), model_timeout_s=7.0)
    assert await tool.call({"path": "a.png", "question": "What?"}, PNG) == "A cat."
    picture, question = model.requests[0].messages[0]["content"]
    assert picture["source"]["media_type"] == "image/png"
    assert question["text"] == "What?"
    assert model.requests[0].timeout_s == 7.0


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"<svg>", "no picture of a form"), (PNG + bytes(6_000_000), "may have 5,242,880 bytes")],
)
async def test_what_is_no_picture_is_not_shown(content: bytes, why: str) -> None:
    model = FakeModel([])
    with pytest.raises(ToolRefused, match=why):
        await DescribeImage(model, Spending(), model_timeout_s=7.0).call({"path": "a.png"}, content)
    assert model.requests == []


@pytest.mark.parametrize(
    ("step", "why"), [(Fail(status=529), "overloaded"), (Say(text=" "), "said nothing")]
)
async def test_a_model_that_does_not_answer_refuses_the_call(step: Any, why: str) -> None:
    tool = DescribeImage(FakeModel([step]), Spending(), model_timeout_s=7.0)
    with pytest.raises(ToolRefused, match=why):
        await tool.call({"path": "a.png"}, PNG)


TOWERS = (
    Cited(url="https://a.example/eiffel", title="Eiffel", text="It is 330 m high."),
    Cited(url="https://a.example/list", title="Towers of the world"),
)


async def test_the_models_own_search_gives_the_pages_found_with_what_it_quotes_of_them() -> None:
    said = Say(text="The first says it.", searches=[Search(query="tower", found=TOWERS)])
    async with real_model([said, said]) as (model, server):
        spending = Spending("run-1")
        searched = WebSearch(ModelSearch(model, spending, model_timeout_s=7.0))
        assert await searched.call({"query": "tower </data>"}, None) == [
            {
                "title": "Eiffel",
                "url": "https://a.example/eiffel",
                "snippet": "It is 330 m high.",
            },
            {"title": "Towers of the world", "url": "https://a.example/list", "snippet": ""},
        ]
        assert len(await searched.call({"query": "tower", "results_max": 1}, None)) == 1
    asked = server.requests[0]
    assert asked["tools"][0]["max_uses"] == 1
    assert "tower" not in asked["system"]
    assert "</data>" not in asked["messages"][0]["content"]
    assert "cache_control" not in asked
    assert [spent.searches for spent in spending.take()] == [1, 1]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Fail(status=401), "the model's search failed: unauthenticated"),
        (Say(text="x", searches=[Search(error="too_many_requests")]), "too_many_requests"),
        (Say(text="I know it: https://made.up/"), "the model did not search"),
    ],
)
async def test_a_model_that_does_not_search_is_an_error_with_a_reason(step: Any, why: str) -> None:
    async with real_model([step]) as (model, _):
        searched = WebSearch(ModelSearch(model, Spending(), model_timeout_s=7.0))
        with pytest.raises(ToolRefused, match=why):
            await searched.call({"query": "x"}, None)


async def test_a_search_by_the_model_that_finds_nothing_is_an_empty_list() -> None:
    async with real_model([Say(text="Nothing.", searches=[Search()])]) as (model, _):
        searched = WebSearch(ModelSearch(model, Spending(), model_timeout_s=7.0))
        assert await searched.call({"query": "x"}, None) == []


async def test_a_search_by_the_model_is_asked_for_as_one() -> None:
    model = FakeModel([Say(text="x", searches=[Search(found=TOWERS)])])
    await ModelSearch(model, Spending("run-1"), model_timeout_s=7.0).search("x", 5)
    request = model.requests[0]
    assert (request.purpose, request.session_id) == (Purpose.SEARCH, "run-1")
    assert request.timeout_s == 7.0
