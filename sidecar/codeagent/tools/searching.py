"""Where a search goes: a folder of pages, or an endpoint."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from sidecar.codeagent.tools.pages import Page, PageMissingError
from sidecar.core.value import value

RESULTS_MAX: Final = 10
SEARCH_TIMEOUT_S: Final = 15.0
SNIPPET_CHARS_MAX: Final = 300
ANSWER_BYTES_MAX: Final = 2 * 1024 * 1024
LOCAL: Final = "http://pages.invalid/"
"""Of pages in a folder: a name that no network has (RFC 6761)."""
BRAVE: Final = "https://api.search.brave.com/res/v1/web/search"
_WORD: Final = re.compile(r"\w+")


@value
class Found:
    """One result of a search."""

    title: str
    url: str
    snippet: str


class SearchFailedError(Exception):
    """A search gave nothing; the text says why."""


class Search(Protocol):
    """Finds pages."""

    async def search(self, query: str, results_max: int) -> Sequence[Found]:
        """The best first. Raises SearchFailedError."""
        ...


class NoSearch:
    """None: search is off."""

    async def search(self, query: str, results_max: int) -> Sequence[Found]:
        """Raises SearchFailedError."""
        raise SearchFailedError("no search is set up here")


class LocalIndex:
    """A folder of pages, searched by their words: for tests and offline work. Pages too."""

    def __init__(self, directory: Path) -> None:
        """The files in it that are HTML, Markdown or text."""
        self._pages = {
            LOCAL + quote(path.relative_to(directory).as_posix()): path
            for path in sorted(directory.rglob("*"))
            if path.suffix in (".html", ".md", ".txt") and path.is_file() and not path.is_symlink()
        }

    async def search(self, query: str, results_max: int) -> Sequence[Found]:
        """Pages that have most of the query's words."""
        wanted = set(_WORD.findall(query.lower()))
        ranked = []
        for url, path in self._pages.items():
            try:
                text = re.sub(r"<[^>]*>", " ", path.read_text("utf-8", "replace"))
            except OSError:
                continue  # gone since, or not for this user: it is not found
            common = len(wanted & set(_WORD.findall(text.lower())))
            if common:
                ranked.append((-common, url, " ".join(text.split())[:SNIPPET_CHARS_MAX]))
        return [
            Found(title=self._pages[url].stem, url=url, snippet=snippet)
            for _, url, snippet in sorted(ranked)[:results_max]
        ]

    async def fetch(self, url: str) -> Page:
        """One of the pages, whatever place in it the address names. Raises PageMissingError."""
        whole = url.partition("#")[0]
        path = self._pages.get(whole)
        if path is None:
            raise PageMissingError(f"no such page; addresses of pages here begin with {LOCAL}")
        kind = "text/html" if path.suffix == ".html" else "text/plain"
        try:
            return Page(url=whole, content_type=kind, content=path.read_bytes())
        except OSError as error:
            raise PageMissingError(error.strerror or type(error).__name__) from error


@value
class _Endpoint:
    """How one is asked and what it answers."""

    url: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]


class SearxNG:
    """An instance of SearXNG, whose `search.formats` has `json`."""

    def __init__(self, address: str) -> None:
        """`address`: of the instance, as `http://127.0.0.1:8888`."""
        self._url = address.rstrip("/") + "/search"

    async def search(self, query: str, results_max: int) -> Sequence[Found]:
        """What it finds. Raises SearchFailedError."""
        parameters = {"q": query, "format": "json"}
        endpoint = _Endpoint(url=self._url, parameters=parameters, headers={})
        answer = await _asked(endpoint)
        rows = answer.get("results")
        return _found(rows, results_max, snippet="content")


class Brave:
    """The Brave search API."""

    def __init__(self, key: str, address: str = BRAVE) -> None:
        """With that subscription token."""
        self._key = key
        self._url = address

    async def search(self, query: str, results_max: int) -> Sequence[Found]:
        """What it finds. Raises SearchFailedError."""
        parameters = {"q": query[:400], "count": str(results_max)}  # its own bound
        headers = {"X-Subscription-Token": self._key, "Accept": "application/json"}
        answer = await _asked(_Endpoint(url=self._url, parameters=parameters, headers=headers))
        web = answer.get("web")
        rows = web.get("results") if isinstance(web, dict) else None
        return _found(rows, results_max, snippet="description")


async def _asked(endpoint: _Endpoint) -> Mapping[str, Any]:
    import httpx2  # where it is needed

    body = bytearray()
    try:
        async with (
            asyncio.timeout(SEARCH_TIMEOUT_S),
            httpx2.AsyncClient(headers=dict(endpoint.headers)) as client,
            client.stream("GET", endpoint.url, params=dict(endpoint.parameters)) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                raise SearchFailedError(f"the search answered with status {response.status_code}")
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES_MAX:
                    raise SearchFailedError("the search answered with too much")
        answer = json.loads(bytes(body))
    except TimeoutError as error:
        raise SearchFailedError(f"the search took longer than {SEARCH_TIMEOUT_S:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SearchFailedError(f"the search is out of reach: {type(error).__name__}") from error
    except (ValueError, RecursionError) as error:
        raise SearchFailedError("the search answered with what is no JSON") from error
    return answer if isinstance(answer, dict) else {}


def _found(rows: object, results_max: int, *, snippet: str) -> list[Found]:
    given = rows if isinstance(rows, list) else []
    return [
        Found(
            title=str(row.get("title") or "")[:SNIPPET_CHARS_MAX],
            url=row["url"],
            snippet=str(row.get(snippet) or "")[:SNIPPET_CHARS_MAX],
        )
        for row in given
        if isinstance(row, dict) and isinstance(row.get("url"), str)
    ][:results_max]
