"""Generated code is what the proto files say, and the proto files say it as they should."""

import filecmp
import os
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from sidecar.v1 import (
    answer_service_pb2,
    convergence_service_pb2,
    run_pb2,
    session_service_pb2,
)

ROOT = Path(__file__).parents[2]
FILES: list[FileDescriptor] = [
    run_pb2.DESCRIPTOR,
    convergence_service_pb2.DESCRIPTOR,
    session_service_pb2.DESCRIPTOR,
    answer_service_pb2.DESCRIPTOR,
]


def messages(descriptors: list[Descriptor]) -> list[Descriptor]:
    found = []
    for descriptor in descriptors:
        if not descriptor.GetOptions().map_entry:
            found.append(descriptor)
            found += messages(list(descriptor.nested_types))
    return found


def all_fields() -> list[FieldDescriptor]:
    return [
        field
        for file in FILES
        for message in messages(list(file.message_types_by_name.values()))
        for field in message.fields
    ]


IDENTIFIERS = frozenset(
    """
    agent_name agent_version actor approach approaches_tried arguments_digest client_instance
    close_reason decision_id description error error_position_digest field fingerprint
    fingerprint_strict follow_token id inherited_json instruction kind labels model name next
    next_page_token notice outcome page_token policy policy_revision previous previous_session_id
    reason request_id result_digest role rule saved_path session_id signal suggestions summary
    text_digest tools traceparent key value
    """.split()
)
"""String fields that are exported as they are: names, digests, and texts that the sidecar words
itself. Whatever an agent or a tool wrote is not among them."""


@pytest.mark.process
def test_the_checked_in_code_is_what_the_proto_files_generate(tmp_path: Path) -> None:
    subprocess.run(
        [ROOT / "scripts" / "generate.sh", str(tmp_path)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHON": sys.executable},
        timeout=60,
    )
    made, kept = tmp_path / "sidecar" / "v1", ROOT / "sidecar" / "v1"
    names = sorted(path.name for path in made.iterdir())

    assert names == sorted(path.name for path in kept.iterdir() if path.suffix in (".py", ".pyi"))
    _, different, missing = filecmp.cmpfiles(made, kept, names, shallow=False)
    assert (different, missing) == ([], []), "run `make proto`"


@pytest.mark.parametrize("field", all_fields(), ids=lambda field: field.full_name)
def test_a_text_is_content_to_be_redacted_or_a_known_identifier(field: FieldDescriptor) -> None:
    if field.type != FieldDescriptor.TYPE_STRING:
        return
    redacted = field.GetOptions().debug_redact

    assert redacted or field.name in IDENTIFIERS, (
        f"{field.full_name} is neither redacted content nor an identifier"
    )


def test_every_line_of_the_proto_files_that_declares_something_has_a_comment() -> None:
    for path in sorted((ROOT / "proto" / "sidecar" / "v1").glob("*.proto")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            text = line.strip()
            declares = text.endswith((";", "{")) and not text.startswith(
                ("syntax", "package", "import", "option ", "}", "//")
            )
            if declares:
                assert lines[number - 1].strip().startswith("//"), f"{path.name}:{number + 1}"
