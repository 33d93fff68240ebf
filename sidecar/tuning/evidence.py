"""The policy file that comes of a search, with what it was found on."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sidecar.config.evidence import EVIDENCE
from sidecar.core.policy import Policy
from sidecar.tuning.tuner import Tuning
from sidecar.tuning.writing import changes_of, nearest_preset, yaml_of
from sidecar.version import VERSION

SUFFIX: Final = "-tuned"

NAME_LENGTH_MAX: Final = 64
"""Characters of a policy's name that the configuration takes."""

HEAD: Final = """\
# Written by `sidecar tune`. `sidecar serve --config` takes it as it stands, and
# `sidecar check-config --config` shows it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the figures cannot say of themselves."""

    date: str
    command: str
    data_sha256: str
    runs: int
    tasks: int


def data_digest(files: Iterable[Path]) -> str:
    """SHA-256 over run files and labels, as 64 hexadecimal digits, wherever they lie and in
    whatever order they are named. Raises OSError.

    `sha256sum FILES | cut -c1-64 | sort | sha256sum` gives the same.
    """
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def tuned_name(policy: Policy) -> str:
    """The name of what comes of tuning a policy."""
    return f"{policy.name.removesuffix(SUFFIX)[: NAME_LENGTH_MAX - len(SUFFIX)]}{SUFFIX}"


def policy_text(tuning: Tuning, circumstances: Circumstances) -> str:
    """A configuration file under whose default policy the chosen thresholds stand."""
    policy, before = tuning.policy, tuning.space.policy
    evidence = {
        **asdict(circumstances),
        "version": VERSION,
        "tuned_from": before.name,
        "tuned_from_revision": before.revision,
        "revision": policy.revision,
        "configurations": len(tuning.worth),
        "folds": len(tuning.folds),
        "solved_stopped_max": tuning.settings.solved_stopped_max,
        "held_out": asdict(tuning.held_out),
        "chosen_on": asdict(tuning.chosen_on),
        "before": asdict(tuning.before),
    }
    name = tuned_name(before)
    changes = changes_of(policy, nearest_preset(policy))
    return HEAD + yaml_of(
        {"default_policy": name, "policies": {name: {**changes, EVIDENCE: evidence}}}
    )
