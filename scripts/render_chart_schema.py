#!/usr/bin/env python3
"""Writes what `gateway.config` and `pods.config` may hold into the schema of the chart's values, from
the code: run it after adding, renaming or removing a key. The rest of the schema is written by hand.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from sidecar.config.checks import GUARDED
from sidecar.config.keys import FILES, GROUPS, KEYS
from sidecar.config.load import CIRCUIT_BREAKER, POLICIES
from sidecar.config.values import OFF, Key

SCHEMA: Final = (
    Path(__file__).parent.parent / "deploy" / "helm" / "agent-sidecar" / "values.schema.json"
)
MEANING: Final = "Keys of docs/configuration.md. Written by scripts/render_chart_schema.py."


def _on(port: int) -> list[str]:
    """Every address of a pod, over IPv4 and over IPv6."""
    return [f"0.0.0.0:{port}", f"[::]:{port}"]


FIXED: Final[Mapping[str, Mapping[str, list[str]]]] = MappingProxyType(
    {
        "gateway": {
            "agent_address": ["/run/agent-sidecar/agent.sock"],
            "agent_tcp_address": _on(4300),
            "agent_http_tcp_address": _on(4301),
            "telemetry_address": _on(9464),
            "state_directory": ["/var/lib/agent-sidecar", ""],
        },
        "pods": {
            "agent_address": ["/run/agent-sidecar/agent.sock"],
            "telemetry_address": _on(9464),
            "state_directory": ["/var/lib/agent-sidecar", ""],
        },
    }
)
"""What ports, probes, volumes and agents of the chart rest on, and the values that keep them true."""

LOCAL: Final = r"^((unix:)?/.+|(localhost|127(\.[0-9]{1,3}){3}|\[::1\]):[0-9]{1,5})?$"
"""A Unix socket or a loopback address, or none."""

UNGUARDED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "gateway": frozenset({"admin_http_address"}),
        # There is neither a token nor TLS between an agent and the sidecar of its pod.
        "pods": frozenset({*GUARDED, "admin_http_address"}),
    }
)
"""Listeners that the sidecar refuses to have beyond loopback."""

MOUNTED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        # The Secret of `tls` may hold authorities as well.
        "gateway": frozenset({"tls_client_ca_file"}),
        "pods": frozenset(),
    }
)
"""Files that can be named. The others are not mounted, or values of the chart's own mount them."""


def render() -> str:
    """The whole schema."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    for component in FIXED:
        schema["properties"][component]["properties"]["config"] = _config(component)
    return json.dumps(schema, indent=2) + "\n"


def _config(component: str) -> dict[str, Any]:
    unmounted = set(FILES) - MOUNTED[component]
    single = [key for key in KEYS if "." not in key and key not in unmounted]
    properties = {key: _accepted(KEYS[key]) for key in single}
    for key in UNGUARDED[component]:
        properties[key] = {"type": "string", "pattern": LOCAL}
    for key, values in FIXED[component].items():
        properties[key] = {"enum": values}
    for name, keys in GROUPS.items():
        properties[name] = _table({key: _accepted(keys[key]) for key in keys})
    # Their names are anybody's, and the sidecar's to check.
    properties[POLICIES] = properties[CIRCUIT_BREAKER] = {"type": "object"}
    return {**_table(properties), "description": MEANING}


def _table(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _accepted(key: Key) -> dict[str, Any]:
    """What the key takes in a file."""
    schema = msgspec.json.schema(key.type)
    schema.pop("description", None)
    if {"type": "null"} in schema.get("anyOf", ()):
        schema["anyOf"].append({"enum": [OFF]})
    return schema


if __name__ == "__main__":
    SCHEMA.write_text(render(), encoding="utf-8")
