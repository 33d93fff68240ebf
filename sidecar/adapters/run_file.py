"""Run files: JSON Lines in the proto3 JSON mapping, read a line at a time.

A line is a RunFileLine: what an agent said on the wire, or what was done to its run from outside.
Unknown fields are ignored, as on the wire; a line that is no message is said by its number.
"""

import codecs
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

from google.protobuf import json_format
from google.protobuf.message import Message

from sidecar.adapters.run_line_faults import faults_in, no_objects_in
from sidecar.printable import printable_json
from sidecar.v1 import convergence_service_pb2 as pb

STANDARD_INPUT: Final = "-"

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Four times the largest message that a sidecar takes by default; JSON may escape every byte."""

EXPECTED: Final = (
    'a JSON object with one of "open", "turn", "heartbeat", "close", "command", "rejected"'
)

PACKED: Final = MappingProxyType(
    {
        b"\x1f\x8b": "gzip",
        b"\x28\xb5\x2f\xfd": "zstd",
        b"\xfd7zXZ": "xz",
        b"BZh": "bzip2",
        b"PK\x03\x04": "zip",
    }
)
"""Programs that compress, by how what they write begins; no JSON does."""

NAME_MAX: Final = 64
"""Characters of a field's name that are said; the longest of the proto has half of them."""

NOTHING: Final = 'nothing in it; a run file begins with {"open": ...}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that could be read."""

    number: int
    """1-based."""
    message: pb.RunFileLine


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLine:
    """One line that could not."""

    number: int
    problem: str
    """What was wrong and what would be right; of the content no more than the beginning of a value
    of another type."""


def read_lines(source: str) -> Iterator[Line | BrokenLine]:
    """The lines of a file, or of standard input for `-`; where there is none, the first is broken.

    Raises OSError when it cannot be read.
    """
    if source == STANDARD_INPUT:
        yield from _read(sys.stdin.buffer)
        return
    with Path(source).open("rb") as file:
        yield from _read(file)


def write_line(message: Message) -> str:
    """A message as a line, with the names of the proto."""
    return printable_json(
        json_format.MessageToJson(
            message, preserving_proto_field_name=True, indent=None, ensure_ascii=False
        )
    )


def _read(file: IO[bytes]) -> Iterator[Line | BrokenLine]:
    number = 0
    is_empty = True
    while raw := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)  # Windows' editors write it
            for begins, program in PACKED.items():
                if raw.startswith(begins):
                    problem = f"compressed by {program}: unpack it first; expected {EXPECTED}"
                    yield BrokenLine(number=number, problem=problem)
                    return
        is_empty = is_empty and not raw.strip()
        if len(raw) > LINE_BYTES_MAX:
            _skip_rest(file, raw)
            yield BrokenLine(number=number, problem=f"longer than {LINE_BYTES_MAX} bytes")
        elif raw.strip():
            yield _parse(number, raw)
    if is_empty:
        yield BrokenLine(number=1, problem=NOTHING)


def _skip_rest(file: IO[bytes], raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = file.readline(io.DEFAULT_BUFFER_SIZE)


def _parse(number: int, raw: bytes) -> Line | BrokenLine:
    message = pb.RunFileLine()
    try:
        line = json.loads(raw.decode("utf-8").rstrip("\r\n"), object_pairs_hook=_each_once)
        if not isinstance(line, dict):
            return BrokenLine(number=number, problem=f"expected {EXPECTED}")
        json_format.ParseDict(line, message, ignore_unknown_fields=True)
    except UnicodeDecodeError:
        return BrokenLine(number=number, problem=f"not UTF-8; expected {EXPECTED}")
    except json.JSONDecodeError as fault:
        why = f"no JSON at column {fault.colno}: {fault.msg}"
        return BrokenLine(number=number, problem=f"{why}; expected {EXPECTED}")
    except json_format.ParseError as fault:
        why = next(faults_in(line, pb.RunFileLine.DESCRIPTOR), str(fault).splitlines()[0])
        return BrokenLine(number=number, problem=why)
    except RecursionError:
        return BrokenLine(number=number, problem="nested too deeply to be read")
    except _TwiceError as fault:
        return BrokenLine(number=number, problem=f"no JSON: {fault}; expected {EXPECTED}")
    except ValueError:  # what Python's own `int` says
        digits_max = sys.get_int_max_str_digits()
        return BrokenLine(number=number, problem=f"a number of more than {digits_max:,} digits")
    fault_of_shape = next(no_objects_in(line, pb.RunFileLine.DESCRIPTOR), None)
    if fault_of_shape is not None:
        return BrokenLine(number=number, problem=fault_of_shape)
    if message.WhichOneof("message") is None:
        return BrokenLine(number=number, problem=f"nothing known in it; expected {EXPECTED}")
    return Line(number=number, message=message)


class _TwiceError(ValueError):
    """A name that is in an object twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs. Raises _TwiceError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"{twice[:NAME_MAX]!r} is twice in an object")
    return found
