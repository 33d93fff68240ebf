"""The schema of the chart's values, in Python: what it takes and refuses, held against the program.

That Helm understands it as Python does is in test_charting.py.
"""

import json
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from sidecar.config.given import ConfigError
from sidecar.config.load import load
from tests.deploy.manifests import SCHEMA

pytestmark = pytest.mark.deploy

VALUES: Final = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
NAMES: Final = (
    "nameOverride",
    "fullnameOverride",
    "gateway.token.secretName",
    "gateway.tls.secretName",
    "gateway.model.secretName",
    "gateway.persistence.storageClassName",
    "gateway.priorityClassName",
    "pods.model.secretName",
)


@pytest.mark.parametrize("key", NAMES)
def test_a_name_that_no_cluster_takes_is_refused(key: str) -> None:
    assert not refused(key, "agents-2")
    for name in ("Foo_Bar", "UPPER", "-a", "a-", "a b", "../x", "a" * 254):
        assert refused(key, name), name


@pytest.mark.parametrize("key", NAMES)
def test_an_empty_name_is_none_but_for_the_token_which_has_to_be_there(key: str) -> None:
    assert refused(key, "") == (key == "gateway.token.secretName")


def test_a_name_that_services_begin_with_begins_with_a_letter() -> None:
    assert refused("fullnameOverride", "2-agents")


@pytest.mark.parametrize("key", ["gateway.token.key", "gateway.model.key", "pods.model.key"])
def test_a_key_of_a_secret_is_the_name_of_a_file(key: str) -> None:
    for name in ("token", "api-key", ".token", "TOKEN_1.txt"):
        assert not refused(key, name), name
    for name in ("", "../x", "..", ".", "a/b", "a b"):
        assert refused(key, name), name


@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        ("streams_max", 9, "abc"),
        ("streams_max", 65_536, 65_537),
        ("commit_interval_s", 0.5, 0),
        ("log_level", "debug", "loud"),
        ("label_keys", ["team"], "team"),
        ("socket_mode", "0660", 432),
        ("limits.max_turns", "off", "never"),
        ("limits.cost_usd_max", 5, -1),
        ("judge.every_turns", 5, 0),
    ],
)
def test_the_schema_takes_of_a_key_what_the_sidecar_takes(
    key: str, right: object, wrong: object, tmp_path: Path
) -> None:
    for component in ("gateway", "pods"):
        assert not refused(f"{component}.config.{key}", right)
        assert refused(f"{component}.config.{key}", wrong)
    assert loads(key, right, tmp_path)
    assert not loads(key, wrong, tmp_path)


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("", True),
        ("127.0.0.1:9465", True),
        ("127.1.2.3:1", True),
        ("localhost:9465", True),
        ("[::1]:9465", True),
        ("/run/a.sock", True),
        ("unix:/run/a.sock", True),
        ("0.0.0.0:9465", False),
        ("[::]:9465", False),
        ("10.0.0.5:9465", False),
        ("localhost.example:9465", False),
        ("127.0.0.1.example:9465", False),
        ("9465", False),
    ],
)
def test_the_control_plane_over_http_is_refused_beyond_loopback_as_the_sidecar_does(
    address: str, is_local: bool, tmp_path: Path
) -> None:
    for component in ("gateway", "pods"):
        assert refused(f"{component}.config.admin_http_address", address) != is_local
    assert loads("admin_http_address", address, tmp_path) == is_local


def test_agents_of_a_pod_are_served_in_the_pod_only() -> None:
    for key in ("agent_tcp_address", "agent_http_tcp_address", "admin_address"):
        assert refused(f"pods.config.{key}", "0.0.0.0:4300")
        assert not refused(f"pods.config.{key}", "127.0.0.1:4310")


def loads(key: str, value: object, directory: Path) -> bool:
    """Whether the sidecar takes a file with the key."""
    file = directory / "config.yaml"
    file.write_text(yaml.safe_dump(nested(key, value)))
    try:
        load(path=str(file), environment={})
    except ConfigError:
        return False
    return True


def refused(key: str, value: object) -> bool:
    """Whether the schema refuses the key."""
    return not VALUES.is_valid(nested(key, value))


def nested(key: str, value: object) -> Any:
    """The tables that a key with dots is in."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value
