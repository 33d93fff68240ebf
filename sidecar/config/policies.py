"""From a block of the configuration to a policy: what a user changes about a preset.

Everything that the founding circuit breaker's policy file writes is understood as it stands: its
block (`circuit_breaker_from`), and its names of signals, thresholds and actions wherever a policy
names one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta

from sidecar.config.evidence import COUNT_MAX, EVIDENCE, evidence_of
from sidecar.config.given import (
    Block,
    ConfigError,
    Given,
    dotted,
    tree_of,
    unknown_name,
    wrong_value,
)
from sidecar.config.thresholds import (
    CIRCUIT_BREAKER,
    FOUNDING_SIGNALS,
    signal_name,
    signal_of,
    silenced,
    thresholds_of,
)
from sidecar.config.values import Key, described, typed
from sidecar.core.digests.subjects import Subjects
from sidecar.core.directive import Action
from sidecar.core.limits import Limits
from sidecar.core.policy import Policy, Watch
from sidecar.core.reading import Severity
from sidecar.presets import PRESETS, preset
from sidecar.signals import SIGNALS, SIGNALS_BY_NAME

TURNS_MAX: Final = 1_000_000
AMOUNT_MAX: Final = 1e12

LIMIT_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "max_turns": Key(type=Annotated[int, Meta(ge=1, le=TURNS_MAX)] | None, meaning="Turns."),
        "input_tokens_max": Key(
            type=Annotated[int, Meta(ge=1, le=COUNT_MAX)] | None,
            meaning="Input tokens in all, cached ones included.",
        ),
        "cost_usd_max": Key(
            type=Annotated[float, Meta(gt=0, le=AMOUNT_MAX)] | None,
            meaning="US dollars in all.",
        ),
        "duration_max_s": Key(
            type=Annotated[float, Meta(gt=0, le=AMOUNT_MAX)] | None,
            meaning="Seconds from the first turn to the end of the latest.",
        ),
    }
)

POLICY_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "preset": Key(
            type=Literal[PRESETS],
            meaning="The preset that the policy changes; by default the one of its own name.",
        ),
        "on_warning": Key(
            type=Literal["rotate", "pause", "ask_user"],
            meaning="What is done at a warning. `pause` and `ask_user` let the agent wait for a "
            "person; callers without a stream cannot, and are halted.",
        ),
        "on_break": Key(
            type=Literal["commit", "rest", "stop", "ask_user"],
            meaning="What is done at a break. `rest` asks for a hand-over to a new session; `stop` "
            "and `ask_user` halt the agent.",
        ),
        "force_continue": Key(
            type=bool, meaning="Whether directives are withheld while everything is measured."
        ),
        "nudge_first": Key(
            type=bool,
            meaning="Whether a signal's first directive in a run is never more than a rotate.",
        ),
        "repeat_after": Key(
            type=Annotated[int, Meta(ge=1, le=TURNS_MAX)],
            meaning="Turns after which a signal that still stands is named again.",
        ),
        "episode_quiet": Key(
            type=Annotated[int, Meta(ge=1, le=TURNS_MAX)],
            meaning="Quiet turns that end a signal's episode.",
        ),
        "commit_grace_turns": Key(
            type=Annotated[int, Meta(ge=1, le=TURNS_MAX)],
            meaning="Turns between a commit that was seen and a halt.",
        ),
        "wait_max_s": Key(
            type=Annotated[float, Meta(gt=0, le=86_400)],
            meaning="Seconds that an agent waits for a person.",
        ),
        "recovery_turns": Key(
            type=Annotated[int, Meta(ge=1, le=TURNS_MAX)],
            meaning="Quiet turns that lead from recovery to healthy.",
        ),
        "trip_turns": Key(
            type=Annotated[int, Meta(ge=1, le=TURNS_MAX)] | None,
            meaning="Turns without a break, one of them with progress, that lead from tripped to "
            "recovery; off: only a person does.",
        ),
        "subjects": Key(
            type=Subjects,
            meaning="Whether the missing name in an import or name error tells errors apart.",
        ),
        "waiting_tools": Key(type=frozenset[str], meaning="Tools whose calls only wait."),
        "navigation_tools": Key(
            type=frozenset[str], meaning="Tools whose calls step through something."
        ),
        "score": Key(
            type=Annotated[
                str,
                Meta(
                    max_length=128,
                    pattern=r"^$|^[^{}]*[^{}\s][^{}]*\{number\}[^{}]*$",
                    extra={
                        "expected": "a text with {number} once, after some words, "
                        'as "Score: {number}"; empty: none'
                    },
                ),
            ],
            meaning='How a score is written in results, as "Score: {number}": read as the reward '
            "where the agent reports none.",
        ),
        "answer_form": Key(
            type=Annotated[str, Meta(min_length=1, max_length=1024)],
            meaning="The form in which a commit asks for the answer.",
        ),
    }
)

TABLES: Final = ("signals", "actions", "limits", EVIDENCE)

FOUNDING_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "on_warning": ("rotate_approach", "pause", "ask_user"),
        "on_break": ("sabbath_rest", "stop", "ask_user"),
    }
)

FOUNDING_KEYS: Final = (*FOUNDING_SIGNALS, *FOUNDING_ACTIONS, "force_continue")

FOUNDING_ACTION_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"rotate_approach": "rotate", "sabbath_rest": "rest"}
)

METERED: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "max_turns": {"turns_max": "max_turns", "duration_max_s": "duration_max_s"},
        "token_overflow": {
            "input_tokens_max": "input_tokens_max",
            "cost_usd_max": "cost_usd_max",
        },
    }
)
"""The thresholds of each budget that are a policy's limits under another name: what is said of them
is kept there. A budget that is off is still watched, with nothing to hold it against: so the limits
that an agent or the operator sets are honoured under every policy."""

ADVISED: Final = frozenset({Action.ROTATE, Action.COMMIT, Action.REST})
"""What a policy may ask for at an advisory signal."""

_POLICY_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SEVERITIES: Final[Mapping[str, Severity]] = MappingProxyType(
    {"warning": Severity.WARNING, "break": Severity.BREAK}
)


class Switch(Enum):
    """What may stand for a signal."""

    OFF = "off"
    ON = "on"
    TABLE = "table"


def policy_from(name: str, mapping: Mapping[str, Any], *, base: Policy) -> Policy:
    """The policy that a block of the configuration describes.

    Where the block names no preset, it changes `base`. Raises ConfigError.
    """
    tree = tree_of({"policies": {name: mapping}})
    return policy_of(Block(path=("policies", name), tree=tree), base=base)


def policy_of(block: Block, *, base: Policy) -> Policy:
    """The policy named by the last part of the block's key. Raises ConfigError."""
    name = block.path[-1]
    if not _POLICY_NAME.fullmatch(name):
        raise ConfigError(
            f"{dotted(block.path)}: a policy's name has up to 64 letters, digits, '_', '.' or '-'",
            where=block.first.where,
        )
    parts = block.parts(f"a table of {', '.join((*POLICY_KEYS, *TABLES))}")
    signals = parts.pop("signals", None)
    watched = signals.parts("a table of signals") if signals else {}
    return _policy(name, parts, list(watched.values()), base=base)


def watching(policy: Policy, watched: Sequence[Block]) -> Policy:
    """The policy with what the blocks say of signals, each named by the last part of its key.

    Raises ConfigError.
    """
    watches, limits = _watches(watched, policy)
    return replace(policy, watches=watches, limits=_limited(policy.limits, limits), revision="")


def circuit_breaker_from(block: Block) -> Policy:
    """The policy that the founding policy file describes, on top of `autonomous`.

    Its signals stand beside its settings, not in a table of their own. Raises ConfigError.
    """
    parts = block.parts("a table of signals and actions")
    watched = [part for key, part in parts.items() if signal_name(key) in SIGNALS_BY_NAME]
    settings = {key: part for key, part in parts.items() if part not in watched}
    for key, part in settings.items():
        if key not in POLICY_KEYS and key not in TABLES:
            raise unknown_name(part, (*POLICY_KEYS, *TABLES), kind="key", first=FOUNDING_KEYS)
    nested = settings.pop("signals", None)
    if nested:
        watched += nested.parts("a table of signals").values()
    return _policy(block.path[-1], settings, watched, base=preset("autonomous"))


def _policy(
    name: str, parts: Mapping[str, Block], watched: Sequence[Block], *, base: Policy
) -> Policy:
    values: dict[str, Any] = {}
    for key, part in parts.items():
        if key in POLICY_KEYS:
            values[key] = _setting(key, part)
        elif signal_name(key) in SIGNALS_BY_NAME:
            place = dotted((*part.path[:-1], "signals", key))
            problem = f"{dotted(part.path)} is a signal: it belongs under signals, as {place}"
            raise ConfigError(problem, where=part.first.where)
        elif key not in TABLES:
            raise unknown_name(part, (*POLICY_KEYS, *TABLES), kind="key")
    if EVIDENCE in parts:
        evidence_of(parts[EVIDENCE])
    base = preset(values["preset"]) if "preset" in values else base
    lens = _changed(base.lens, values)
    if both := sorted(lens.waiting_tools & lens.navigation_tools):
        given = parts.get("navigation_tools") or parts["waiting_tools"]
        problem = f"{dotted(given.path)}: {both[0]!r} is in waiting_tools and in navigation_tools"
        raise ConfigError(f"{problem}: name it in one", where=given.first.where)
    watches, limits = _watches(watched, base)
    of_its_own = _limits(parts["limits"]) if "limits" in parts else {}
    return replace(
        base,
        name=name,
        revision="",
        watches=watches,
        on=_on(values, base),
        actions={**base.actions, **(_actions(parts["actions"]) if "actions" in parts else {})},
        limits=_limited(base.limits, limits, of_its_own),
        patience=_changed(base.patience, values),
        staging=_changed(base.staging, values),
        lens=lens,
        force_continue=values.get("force_continue", base.force_continue),
        answer_form=values.get("answer_form", base.answer_form),
    )


def _setting(key: str, block: Block) -> Any:
    type_ = POLICY_KEYS[key].type
    if key in FOUNDING_ACTIONS:
        return _action(key, block, type_)
    return typed(block.path, block.value(described(type_)), type_)


def _action(key: str, block: Block, type_: Any) -> Any:
    expected = described(type_)
    if block.path[0] == CIRCUIT_BREAKER:
        names = dict.fromkeys((*FOUNDING_ACTIONS[key], *get_args(type_)))
        expected = f"one of {', '.join(names)}"
    given = block.value(expected)
    try:
        return typed(block.path, _modern(given), type_)
    except ConfigError:
        raise wrong_value(block.path, given, expected) from None


def _modern(given: Given) -> Given:
    """The same with the founding name of an action replaced by this project's."""
    if type(given.value) is not str:
        return given
    name = given.value.lower()
    return replace(given, value=FOUNDING_ACTION_NAMES.get(name, name))


def _changed(part: Any, values: Mapping[str, Any]) -> Any:
    changes = {field.name: values[field.name] for field in fields(part) if field.name in values}
    return replace(part, **changes)


def _on(values: Mapping[str, Any], base: Policy) -> Mapping[Severity, Action]:
    chosen = ((severity, values.get(f"on_{name}")) for name, severity in _SEVERITIES.items())
    on = {severity: Action(action) for severity, action in chosen if action is not None}
    return MappingProxyType({**base.on, **on})


def _actions(block: Block) -> dict[tuple[str, Severity], Action]:
    actions: dict[tuple[str, Severity], Action] = {}
    for part in block.parts("a table of signals").values():
        signal = signal_of(part)
        for severity, action in part.parts("a table of warning and break").items():
            if severity not in _SEVERITIES:
                raise unknown_name(action, _SEVERITIES, kind="severity")
            if signal.notices and severity == "warning":
                expected = f"left out, since a warning of {signal.name} is only a notice"
                raise wrong_value(action.path, action.first, expected)
            chosen = Action(_setting(f"on_{severity}", action))
            if signal.advisory and chosen not in ADVISED:
                known = get_args(POLICY_KEYS[f"on_{severity}"].type)
                advised = " or ".join(name for name in known if Action(name) in ADVISED)
                expected = f"{advised}, since {signal.name} never halts"
                raise wrong_value(action.path, action.first, expected)
            actions[signal.name, _SEVERITIES[severity]] = chosen
    return actions


def _watches(watched: Sequence[Block], base: Policy) -> tuple[tuple[Watch, ...], Mapping[str, Any]]:
    """The signals that the policy watches, and what was said of its limits among them."""
    chosen = {watch.signal.name: watch for watch in base.watches}
    limits: dict[str, Any] = {}
    named: dict[str, Block] = {}
    for block in watched:
        signal = signal_of(block)
        if signal.name in named:
            earlier = dotted(named[signal.name].path)
            raise ConfigError(
                f"{dotted(block.path)} and {earlier} are the same signal", where=block.first.where
            )
        named[signal.name] = block
        watch = chosen.pop(signal.name, Watch(signal=signal, thresholds=signal.defaults))
        match _switch(block):
            case Switch.OFF if signal.budget:
                chosen[signal.name] = replace(watch, thresholds=silenced(watch.thresholds))
                limits |= dict.fromkeys(METERED[signal.name].values())
            case Switch.OFF:
                continue
            case Switch.ON:
                chosen[signal.name] = watch
            case Switch.TABLE:
                thresholds = thresholds_of(block, signal, watch.thresholds)
                metered = METERED.get(signal.name, {})
                limits |= {
                    metered[key]: getattr(thresholds, key)
                    for key in block.parts("a table")
                    if key in metered
                }
                thresholds = replace(thresholds, **dict.fromkeys(metered))
                chosen[signal.name] = replace(watch, thresholds=thresholds)
    return tuple(chosen[signal.name] for signal in SIGNALS if signal.name in chosen), limits


def _switch(block: Block) -> Switch:
    """Whether the block is a word that switches its signal off or on, or a table."""
    given = block.tree.get(block.path)
    value = given.value if given else None
    if isinstance(value, str):
        value = {"off": False, "false": False, "on": True, "true": True}.get(value.lower(), value)
    match value:
        case False:
            return Switch.OFF
        case True:
            return Switch.ON
    return Switch.TABLE


def _limited(base: Limits, *given: Mapping[str, Any]) -> Limits:
    """The base's limits, but for those that were given: of one that was given twice the smaller."""
    changes: dict[str, Any] = {}
    for name in {name for each in given for name in each}:
        said = [each[name] for each in given if each.get(name) is not None]
        changes[name] = min(said, default=None)
    return replace(base, **changes)


def _limits(block: Block) -> Mapping[str, Any]:
    changes = {}
    for key, part in block.parts(f"a table of {', '.join(LIMIT_KEYS)}").items():
        if key not in LIMIT_KEYS:
            raise unknown_name(part, LIMIT_KEYS, kind="limit")
        type_ = LIMIT_KEYS[key].type
        changes[key] = typed(part.path, part.value(described(type_)), type_)
    return changes
