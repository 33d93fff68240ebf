#!/usr/bin/env python3
"""Writes what `gateway.config` and `pods.config` may hold into the schema of the chart's values, from
the code: run it after adding, renaming or removing a key. The rest of the schema is written by hand.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sidecar.config import FILES, GROUPS, KEYS
from sidecar.config_load import CIRCUIT_BREAKER, POLICIES

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
    properties: dict[str, Any] = {
        key: {"enum": FIXED[component][key]} if key in FIXED[component] else {} for key in single
    }
    for name, keys in GROUPS.items():
        properties[name] = _table(keys)
    # Their names are anybody's, and the sidecar's to check.
    properties[POLICIES] = properties[CIRCUIT_BREAKER] = {"type": "object"}
    return {**_table(()), "description": MEANING, "properties": properties}


def _table(keys: Iterable[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {} for key in keys},
    }


if __name__ == "__main__":
    SCHEMA.write_text(render(), encoding="utf-8")
