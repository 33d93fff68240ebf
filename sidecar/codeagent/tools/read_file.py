"""`read_file`: a file as text, rows or a value."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

import msgspec

from sidecar.codeagent.runner.step import ToolRefused, ToolSpec
from sidecar.codeagent.tools.parsing import Form, ParseError, parse
from sidecar.codeagent.tools.tool import checked, file_content

FORMS: Final = MappingProxyType(
    {
        ".csv": Form.CSV,
        ".tsv": Form.CSV,
        ".json": Form.JSON,
        ".jsonl": Form.JSON,
        ".xlsx": Form.XLSX,
        ".xlsm": Form.XLSX,
        ".pdf": Form.PDF,
        ".htm": Form.HTML,
        ".html": Form.HTML,
    }
)
"""By the end of a file's name; any other is text."""


class _Arguments(msgspec.Struct):
    path: str


class ReadFile:
    """Reads what the container has read: it opens no path itself."""

    spec = ToolSpec(
        name="read_file",
        signature="path",
        summary="Content of a file: a list of rows for csv and tsv, a value for json, a dict of "
        "rows by sheet for xlsx (of a formula the value it had last, None if it was never "
        "computed), else its text (txt, pdf, html and others).",
        file="path",
    )

    async def call(self, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """As the summary says. Raises ToolRefused."""
        name = checked(arguments, _Arguments).path
        form = FORMS.get(PurePosixPath(name).suffix.lower(), Form.TEXT)
        try:
            return await parse(file_content(content), form)
        except ParseError as error:
            raise ToolRefused(f"{name[:200]}: {error}") from error
