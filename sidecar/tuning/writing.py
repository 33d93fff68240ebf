"""A policy as the configuration file that it comes from."""

from collections.abc import Mapping
from typing import Any

import yaml

from sidecar.config.report import spelled_out
from sidecar.config.values import OFF
from sidecar.core.policy import Policy
from sidecar.presets import PRESETS, preset


def nearest_preset(policy: Policy) -> str:
    """The preset that the policy differs least from."""
    return min(PRESETS, key=lambda name: _size(changes_of(policy, name)))


def changes_of(policy: Policy, preset_name: str) -> dict[str, Any]:
    """What a configuration file says to make this policy out of a preset."""
    own, base = spelled_out(policy), spelled_out(preset(preset_name))
    return {"preset": preset_name, **_changes(own, base)}


def yaml_of(values: Mapping[str, Any]) -> str:
    """The values as YAML that a configuration file reads back as they are."""
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text


def _changes(own: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for key in dict.fromkeys((*base, *own)):
        # What the preset watches and the policy does not is off.
        value, before = own.get(key, OFF), base.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value, before = _changes(value, before), {}
        if value != before or key not in base:
            changes[key] = value
    return changes


def _size(values: Mapping[str, Any]) -> int:
    return sum(_size(part) if isinstance(part, Mapping) else 1 for part in values.values())
