#!/usr/bin/env python3
"""Writes grafana/kubernetes/prometheus-rules.yaml from grafana/rules and grafana/alerts.

The manifests are PrometheusRules, as the Prometheus Operator reads them
(monitoring.coreos.com/v1): one of recording rules, one of alerts.
"""

from pathlib import Path
from typing import Any

import yaml

GRAFANA = Path(__file__).parents[1] / "grafana"
PAGE = GRAFANA / "kubernetes" / "prometheus-rules.yaml"
HEAD = "# Written by scripts/render_prometheus_rules.py from grafana/rules and grafana/alerts. Do not edit.\n"
LABELS = {"app.kubernetes.io/name": "agent-sidecar", "app.kubernetes.io/part-of": "agent-sidecar"}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as the sources have them."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def manifest(folder: str) -> dict[str, Any]:
    """The groups of a folder's files, in the order of their names, as one PrometheusRule."""
    groups: list[dict[str, Any]] = []
    for path in sorted((GRAFANA / folder).glob("*.yaml")):
        groups += yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": f"agent-sidecar-{folder}", "labels": LABELS},
        "spec": {"groups": groups},
    }


def page() -> str:
    """The file's text."""
    manifests = [manifest("rules"), manifest("alerts")]
    return HEAD + yaml.dump_all(manifests, Dumper=_Dumper, sort_keys=False, width=1000)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
