"""What a policy's thresholds were found on: the `evidence` of a policy in the configuration.

It says and changes nothing: a policy decides alike with and without it, and has one revision.
`sidecar tune` writes it, `sidecar check-config` shows it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

from msgspec import Meta

from sidecar.config.given import Block, unknown_name
from sidecar.config.values import Key, described, typed

COUNT_MAX: Final = 2**53
"""The largest count that a number in JSON carries exactly."""

Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]

EVIDENCE: Final = "evidence"

EVIDENCE_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "date": Key(type=str, meaning="Day of the measurement."),
        "command": Key(type=str, meaning="What was called."),
        "version": Key(type=str, meaning="Version of the sidecar that measured."),
        "data_sha256": Key(
            type=Annotated[
                str,
                Meta(pattern="^[0-9a-f]{64}$", extra={"expected": "64 hexadecimal digits"}),
            ],
            meaning="SHA-256 over the run files and the labels.",
        ),
        "tuned_from": Key(type=str, meaning="Policy that the search began with."),
        "tuned_from_revision": Key(type=str, meaning="Its revision."),
        "revision": Key(
            type=str,
            meaning="Revision of the policy that was measured; where it is not the policy's own, "
            "something was changed since.",
        ),
        "runs": Key(type=Count, meaning="Runs of which something is known."),
        "tasks": Key(type=Count, meaning="Tasks that these runs are about."),
        "folds": Key(type=Count, meaning="Parts of the tasks that were held out in turn."),
        "configurations": Key(type=Count, meaning="Configurations tried."),
        "solved_stopped_max": Key(
            type=Annotated[float, Meta(ge=0, le=1)],
            meaning="Share of the solved runs that was allowed to be stopped.",
        ),
    }
)

FIGURES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "held_out": "Each part of the tasks under the thresholds that were chosen on the others.",
        "chosen_on": "All runs under these thresholds, which were chosen on them: optimistic.",
        "before": "All runs under the policy that the search began with.",
    }
)
"""Tables of figures and what they are of."""

FIGURE_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "solved": Key(type=Count, meaning="Solved runs, but for those judged stuck."),
        "solved_stopped": Key(type=Count, meaning="Of these, with a BREAK: the false stops."),
        "stuck": Key(type=Count, meaning="Runs judged stuck."),
        "stuck_stopped": Key(type=Count, meaning="Of these, with a BREAK: caught."),
        "not_stuck": Key(type=Count, meaning="Runs judged not stuck."),
        "not_stuck_stopped": Key(type=Count, meaning="Of these, with a BREAK."),
        "unsolved": Key(type=Count, meaning="Unsolved runs."),
        "unsolved_stopped": Key(type=Count, meaning="Of these, with a BREAK."),
        "unsolved_turns": Key(type=Count, meaning="Turns of the unsolved runs."),
        "turns_saved": Key(type=Count, meaning="Of these, after the first BREAK of their run."),
    }
)


def evidence_of(block: Block) -> Mapping[str, Any]:
    """What a policy's `evidence` says, typed. Raises ConfigError."""
    known = (*EVIDENCE_KEYS, *FIGURES)
    found: dict[str, Any] = {}
    for key, part in block.parts(f"a table of {', '.join(known)}").items():
        if key in FIGURES:
            figures = part.parts(f"a table of {', '.join(FIGURE_KEYS)}")
            found[key] = {name: _value(name, each, FIGURE_KEYS) for name, each in figures.items()}
        else:
            found[key] = _value(key, part, EVIDENCE_KEYS, known)
    return MappingProxyType(found)


def _value(key: str, block: Block, keys: Mapping[str, Key], known: Iterable[str] = ()) -> Any:
    if key not in keys:
        raise unknown_name(block, known or keys, kind="key")
    type_ = keys[key].type
    return typed(block.path, block.value(described(type_)), type_)
