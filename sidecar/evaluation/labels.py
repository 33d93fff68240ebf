"""What is known of recorded runs: JSON Lines, one object a run."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

LABELS_FILE: Final = "labels.jsonl"
"""Looked for in the folders of the runs when no other file is named."""


NEAR: Final = 0.8
"""Likeness from which an unknown field is taken for a misspelt one: a letter in five."""


class LabelsInvalidError(ValueError):
    """A line of a labels file is none; the text names file, line and what was expected."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What a person found who read the run."""

    stuck: bool
    from_turn: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The turn from which it was stuck; None: not stuck, or unknown."""
    kind: str = ""
    why: str = ""
    recovered: bool = False
    """Whether it got out of it by itself."""


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one run. Fields that are not known here are ignored, unless they are nearly
    one that is: a misspelt `solved` would make a run one of which nothing is known."""

    session_id: Annotated[str, msgspec.Meta(min_length=1)]
    source: str = ""
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None
    solved: bool | None = None
    """None: unknown."""
    judged: Judged | None = None
    task: str = ""
    """What the run was about: runs of one task are drawn together when intervals are estimated,
    and never lie on both sides of a split. Empty: its session id."""

    @property
    def group(self) -> str:
        """The task, or the run where none is named."""
        return self.task or self.session_id


def read_labels(path: Path) -> dict[str, Label]:
    """The labels in a file, by session. Raises LabelsInvalidError and OSError."""
    found: dict[str, Label] = {}
    for number, label in _lines(path):
        if label.session_id in found:
            raise LabelsInvalidError(
                f"{path}:{number}: session_id {label.session_id!r} is labelled twice"
            )
        found[label.session_id] = label
    return found


def _lines(path: Path) -> Iterator[tuple[int, Label]]:
    decoder = msgspec.json.Decoder(Label)
    anything = msgspec.json.Decoder(dict[str, Any])
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                label = decoder.decode(line)
                misspelt = _misspelt(anything.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise LabelsInvalidError(
                    f'{path}:{number}: {error}; expected {{"session_id": ..., "solved": true, '
                    'false or null, "judged": {"stuck": ...}}'
                ) from None
            if misspelt:
                raise LabelsInvalidError(f"{path}:{number}: {misspelt}")
            yield number, label


def _misspelt(line: Mapping[str, Any]) -> str:
    """What is nearly a field of a label or of its judgement; empty: nothing."""
    judged = line.get("judged")
    for kind, given in ((Label, line), (Judged, judged if isinstance(judged, dict) else {})):
        known = kind.__struct_fields__
        for name in given:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=NEAR)
            if near and name not in known:
                return f"{name} is no field; did you mean {near[0]}?"
    return ""
