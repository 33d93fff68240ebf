"""What `sidecar check-config` says: the effective configuration with the origin of each value."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from sidecar.config.evidence import EVIDENCE
from sidecar.config.given import Origin
from sidecar.config.keys import Config
from sidecar.config.values import OFF, written
from sidecar.core.policy import Policy
from sidecar.printable import printable


def render_effective(config: Config) -> str:
    """Aligned tables as plain text: values with their origins, policies with revisions, and the
    evidence of policies that have some."""
    values = [("KEY", "VALUE", "ORIGIN")]
    for value in config.values:
        origin = value.origin.value
        if value.where and value.origin is not Origin.DEFAULT:
            origin = f"{origin} {value.where}"
        values.append((value.key, _word(value.value), origin))
    policies = [("POLICY", "REVISION", "SIGNALS")]
    for name, policy in config.policies.items():
        marked = f"{name} (default)" if name == config.default_policy else name
        signals = " ".join(watch.signal.name for watch in policy.watches)
        policies.append((marked, policy.revision, signals))
    tables = [values, policies, *_evidence_rows(config)]
    return "\n\n".join(map(_aligned, tables)) + "\n"


def effective(config: Config) -> dict[str, Any]:
    """The same for programs, with every policy spelled out; plain JSON values."""
    return {
        "values": [
            {
                "key": value.key,
                "value": value.value,
                "origin": value.origin.value,
                "where": value.where,
            }
            for value in config.values
        ],
        "policies": {
            name: {"revision": policy.revision, **spelled_out(policy), **_evidence(config, name)}
            for name, policy in config.policies.items()
        },
    }


def spelled_out(policy: Policy) -> dict[str, Any]:
    """A policy in the form of the configuration file, as plain JSON values."""
    actions: dict[str, dict[str, str]] = {}
    for (signal, severity), action in sorted(policy.actions.items()):
        actions.setdefault(signal, {})[severity.name.lower()] = action.value
    return {
        "signals": {watch.signal.name: _fields(watch.thresholds) for watch in policy.in_force},
        **{f"on_{severity.name.lower()}": action.value for severity, action in policy.on.items()},
        "actions": actions,
        "limits": _fields(policy.limits),
        **_fields(policy.patience),
        **_fields(policy.staging),
        **_fields(policy.lens),
        "force_continue": policy.force_continue,
        "answer_form": policy.answer_form,
    }


def _evidence(config: Config, name: str) -> dict[str, Any]:
    """The evidence of a policy, and whether it is of the policy as it stands; None: not said."""
    found = config.evidence.get(name)
    if found is None:
        return {}
    measured = found.get("revision")
    return {EVIDENCE: {**found, "current": measured and measured == config.policies[name].revision}}


def _evidence_rows(config: Config) -> list[list[tuple[str, str, str]]]:
    rows = [("POLICY", "EVIDENCE", "SAYS")]
    for name in config.evidence:
        found = _evidence(config, name)[EVIDENCE]
        if found.pop("current") is False:
            revision = config.policies[name].revision
            rows.append((name, "outdated", f"something was changed since: it is now {revision}"))
        rows += [(name, key, _said(value)) for key, value in found.items()]
    return [rows] if len(rows) > 1 else []


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return _word(value)


def _fields(value: Any) -> dict[str, Any]:
    return {
        part.name.removesuffix("_"): written(getattr(value, part.name))
        for part in dataclasses.fields(value)
    }


def _word(value: Any) -> str:
    if value is None:
        return OFF
    if isinstance(value, str) and value and not value.isspace():
        return printable(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _aligned(rows: list[tuple[str, str, str]]) -> str:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows)
