"""Whether a short text says, by naming a state, that something is still on its way.

Services say so each in their own form: `IN_PROGRESS`, `{"job": {"state": "RUNNING"}}`, a line of
`kubectl get pods`. What is looked at is the state alone, wherever it stands; a text that has more
to tell than ids, numbers, times and states is a report, and none of this.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MARKS: Final = " \t\r\n.…!\"'`●○◐*()[]"
_STATES: Final = ("status", "state", "phase", "stage", "health", "payment")
_GOES: Final = frozenset(
    "pending queued scheduled waiting running starting creating building deploying indexing "
    "initializing initialising provisioning processing progressing updating installing "
    "uploading downloading importing exporting syncing restoring rebuilding booting rebooting "
    "restarting stopping terminating deleting destroying compiling training converting "
    "rendering transcoding publishing migrating cloning configuring connecting preparing "
    "allocating launching executing analyzing analysing scanning verifying pulling reconciling "
    "resizing upgrading modifying draining attaching detaching activating resuming pausing "
    "suspending validating packaging encoding generating synthesizing finalizing archiving "
    "copying moving loading fetching repairing enabling disabling backfilling bootstrapping "
    "enqueued warming runnable".split()
)
"""States of what is on its way."""
_STAYS: Final = frozenset(
    "failing missing existing nothing warning outstanding working listening serving operating "
    "functioning accepting standing billing staging hanging declining expiring something anything "
    "everything onboarding".split()
)
"""Words in `-ing` that are states of what stays as it is."""
_OPEN_STATES: Final = ("status", "phase")
"""Ends of the names of fields in which any other word in `-ing` is a state: a `state` may be
Wyoming, a `stage` is `staging`."""
_GOING = re.compile(r"[a-z]*[aeiouy][a-z]*ing")
"""A participle: `spring` and `string` are none."""
_PENDING_CELLS: Final = _GOES - {"running"} | {"pd", "cf"}
"""In a table: a pod that is `Running` is up; `PD` and `CF` are Slurm's."""
_HEADER = re.compile(r"\b(?:STATUS|STATE|PHASE|ST)\b")
_READINESS = re.compile(r"[0-9]{1,4}/[0-9]{1,4}")
_CELLS = re.compile(r"[^\s,()]+")
_FIELD = re.compile(r"[ \t-]{0,8}([A-Za-z_ ]{1,32}): ?(\S[^\n]{0,79})?")

_COUNTS = re.compile(
    r"(?:id|at|time|percent|percentage|progress|position|eta|elapsed|remaining|attempts?|retries"
    r"|approvals|updated|started|created|checked|order|number|step|steps|duration|pid|build|priority"
    r"|version|revision)\Z"
    r"|\A(?:percent|progress)_"
)
"""Names of numbers that say which job it is, since when it runs or how far it came."""
_TALLIES = re.compile(r"(?:counts|progress)\Z")
"""Ends of the names of objects all of whose numbers say so."""
_REMARKS = re.compile(r"(?:message|name)\Z")
"""Ends of the names of fields whose text goes with a state, or says of what it is one."""
_WHEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{5,15}(?: ?(?:UTC|Z|[+-][0-9:]{4,6}))?")
_SENTENCE = re.compile(
    r"[^\n]{0,120}\b(?:status|state|phase)(?: is| of| was)?[:=]? [\"'`]?(?:[A-Za-z]{1,40}\.)?"
    r"([A-Za-z_-]{1,40})[\"'`]?[.!]?"
)
"""One that ends with a state: `build 7 has status "QUEUED"`."""
_ROW = re.compile(r"[^\t\n]{1,120}\t([A-Za-z_ -]{1,40})\t[^\n]*")
"""Of a table of which tabs part the columns, as `gh pr checks` prints it, the state second."""
_MORE: Final = " "

LENGTH_MAX: Final = 400
"""Characters of a text that says no more than a state."""
TABLE_MAX: Final = 1_000
"""Characters of a table, which has its columns beside it."""
LINES_MAX: Final = 6
_VALUE_MAX: Final = 80
_DEPTH_MAX: Final = 4
_FIELDS_MAX: Final = 40


def is_on_its_way(printed: str) -> bool:
    """Whether the text, as it was printed, says no more than that. Never raises."""
    if len(printed) > TABLE_MAX:
        return False
    lines = printed.splitlines()
    if len(lines) > LINES_MAX:
        return False
    if len(printed) <= LENGTH_MAX:
        if printed[:1] in {"{", "["} and '"' in printed:
            return _of_json(printed)
        if len(lines) == 1 and (_goes(printed, _GOES) or _says_so(printed)):
            return True
        if ":" in printed and _of_fields(lines):
            return True
    return _of_table(lines)


def _goes(state: str, known: frozenset[str]) -> bool:
    """Whether this is the name of a state of what is on its way: `CREATE_IN_PROGRESS`,
    `ContainerCreating`."""
    state = state.strip(_MARKS)
    if len(state) > _VALUE_MAX:
        return False
    words = _CAMEL.sub(" ", state).replace("_", " ").replace("-", " ").lower().split()
    if not 0 < len(words) <= 3:
        return False
    if words[-2:] == ["in", "progress"] or words == ["not", "started"]:
        return True
    # A server that is running is up, and nobody waiting is an answer.
    return words[-1] in (known if len(words) == 1 else known - {"running", "waiting"})


def _is_going_state(key: str, state: str) -> bool:
    """The same of what stands in a field of this name, which is for a state."""
    if _goes(state, _GOES):
        return True
    word = state.strip(_MARKS).lower()
    return (
        key.lower().rstrip().endswith(_OPEN_STATES)
        and word not in _STAYS
        and _GOING.fullmatch(word) is not None
    )


def _says_so(line: str) -> bool:
    """Whether the line is a sentence that ends with such a state."""
    if "stat" not in line and "phase" not in line:
        return False
    found = _SENTENCE.fullmatch(line.strip())
    return found is not None and not _fails(line) and _goes(found[1], _GOES)


def _of_json(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    fields = list(_fields(value, "", 0))
    return (
        len(fields) <= _FIELDS_MAX
        and any(_is_state(key) and _is_going_state(key, told) for key, told in fields)
        and not any(" " in told or len(told) > _VALUE_MAX for _, told in fields)
        and not any(_fails(told) for _, told in fields)
    )


def _fields(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    """The texts in a value of JSON, each with the name of its field, empty for a remark, and _MORE
    for what else it tells."""
    if depth > _DEPTH_MAX:
        yield key, _MORE
        return
    match value:
        case str():
            yield key, "" if _is_remark(key.lower(), value) else value
        case dict():
            for name, inner in value.items():
                counts = isinstance(inner, int) and _TALLIES.search(key.lower())
                yield from _fields(inner, "progress" if counts else name, depth + 1)
        case list():
            for inner in value[: _FIELDS_MAX + 1]:
                yield from _fields(inner, key, depth + 1)
        case bool() | None:
            pass
        case _:
            yield key, "0" if _COUNTS.search(key.lower()) else _MORE


def _is_remark(key: str, text: str) -> bool:
    if _WHEN.fullmatch(text):
        return True
    return _REMARKS.search(key) is not None and not _fails(text)


def _of_fields(lines: list[str]) -> bool:
    """Of lines such as `state: running`."""
    going = False
    for line in lines:
        found = _FIELD.fullmatch(line.rstrip())
        if found is None or _fails(found[2] or ""):
            return False
        told = (found[2] or "").strip(_MARKS)
        if _is_state(found[1]) and _is_going_state(found[1], told):
            going = True
        elif told.count(" ") > 1:
            return False
    return going


def _of_table(lines: list[str]) -> bool:
    """Of lines in columns, one of which names a state."""
    has_header = len(lines) > 1 and _HEADER.search(lines[0]) is not None
    rows = [(line, _CELLS.findall(line)) for line in lines[has_header:]]
    if any(_fails(cell) for _, cells in rows for cell in cells):
        return False
    return any(_goes_in_row(line, cells, has_header=has_header) for line, cells in rows)


def _goes_in_row(line: str, cells: list[str], *, has_header: bool) -> bool:
    if (row := _ROW.fullmatch(line)) and _goes(row[1], _PENDING_CELLS):
        return True
    if not (has_header or "health:" in cells or any(map(_READINESS.fullmatch, cells[1:2]))):
        return False
    return any(_goes(cell, _PENDING_CELLS) for cell in cells)


def _is_state(key: str) -> bool:
    return key.lower().rstrip().endswith(_STATES)


def _fails(told: str) -> bool:
    said = told.lower()
    return "fail" in said or "error" in said or "crash" in said or "backoff" in said
