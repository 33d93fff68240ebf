"""`web_search` and `visit_webpage`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from sidecar.codeagent.observation import clip
from sidecar.codeagent.runner.step import ToolRefused, ToolSpec
from sidecar.codeagent.tools.pages import Page, PageMissingError, Pages
from sidecar.codeagent.tools.parsing import Form, ParseError, parse
from sidecar.codeagent.tools.searching import RESULTS_MAX, Search, SearchFailedError
from sidecar.codeagent.tools.tool import checked

PAGE_CHARS_MAX: Final = 200_000
"""Of a page's text: code can search in more than a model can read."""

FORMS: Final[Mapping[str, Form]] = {
    "text/html": Form.HTML,
    "application/xhtml+xml": Form.HTML,
    "application/pdf": Form.PDF,
}
"""By content type; other text is text."""
TEXTS: Final = re.compile(r"text/.*|application/(json|xml)|.*\+(json|xml)")
"""The last are what RFC 6839 names after their syntax: feeds, say."""

Query = Annotated[str, msgspec.Meta(max_length=2_000)]


class _Searched(msgspec.Struct):
    query: Query
    results_max: Annotated[int, msgspec.Meta(ge=1, le=RESULTS_MAX)] = 5


class _Visited(msgspec.Struct):
    url: Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]


class WebSearch:
    """Searches."""

    spec = ToolSpec(
        name="web_search",
        signature="query, results_max=5",
        summary="Pages found for a query: a list of dicts with title, url and snippet.",
    )

    def __init__(self, search: Search) -> None:
        """There."""
        self._search = search

    async def call(self, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """As the summary says. Raises ToolRefused."""
        asked = checked(arguments, _Searched)
        try:
            found = await self._search.search(asked.query, asked.results_max)
        except SearchFailedError as error:
            raise ToolRefused(str(error)) from error
        return [{"title": each.title, "url": each.url, "snippet": each.snippet} for each in found]


class VisitWebpage:
    """Fetches a page and makes text of it."""

    spec = ToolSpec(
        name="visit_webpage",
        signature="url",
        summary="Text of a page, with its links and tables, as Markdown.",
    )

    def __init__(self, pages: Pages) -> None:
        """From there."""
        self._pages = pages

    async def call(self, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """As the summary says. Raises ToolRefused."""
        return await page_text(self._pages, checked(arguments, _Visited).url)


async def page_text(pages: Pages, url: str) -> str:
    """The text of a page. Raises ToolRefused."""
    try:
        page = await pages.fetch(url)
        text = str(await parse(page.content, _form(page), base=page.url, charset=page.charset))
    except (PageMissingError, ParseError) as error:
        raise ToolRefused(f"{url[:200]}: {error}") from error
    return clip(text, PAGE_CHARS_MAX)


def _form(page: Page) -> Form:
    form = FORMS.get(page.content_type)
    if form is None and page.content_type and not TEXTS.fullmatch(page.content_type):
        raise PageMissingError(f"it is no page but {page.content_type[:100]}")
    return form or Form.TEXT
