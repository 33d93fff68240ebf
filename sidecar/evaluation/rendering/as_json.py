"""The report as JSON: the fields of its dataclasses by their names, as docs/detection.md lists
them. An underscore at the end of a name is left out; a share has its ratio beside it."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from sidecar.core.reading import Severity
from sidecar.evaluation.measures import Share
from sidecar.evaluation.report import Report

SCHEMA: Final = 1
"""Rises when a field changes its meaning or goes; new fields may come without."""

NOT_SHOWN: Final = frozenset({"spending", "summary"})
"""Of a case and of a mark: what is summed up elsewhere, and prose."""


def as_json(report: Report) -> str:
    """One object, indented, with a newline at its end."""
    tree = {"schema": SCHEMA, **plain(report)}
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """The value as JSON knows it."""
    match value:
        case Share():
            return {"count": value.count, "of": value.of, "ratio": value.ratio}
        case Severity():
            return value.name.lower()
        case Struct():
            return asdict(value)
        case Mapping():
            return {name: plain(part) for name, part in value.items()}
        case tuple():
            return [plain(part) for part in value]
    if not is_dataclass(value):
        return value
    return {
        part.name.removesuffix("_"): plain(getattr(value, part.name))
        for part in fields(value)
        if part.name not in NOT_SHOWN
    }
