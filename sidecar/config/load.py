"""Building a Config from defaults, a file, the environment and flags, of which a later one wins."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final

from sidecar.config.checks import check
from sidecar.config.evidence import EVIDENCE, evidence_of
from sidecar.config.file import SUFFIXES, read_file
from sidecar.config.given import (
    Block,
    ConfigError,
    Given,
    Origin,
    Path,
    Tree,
    below,
    dotted,
    laid_over,
    unknown_name,
    wrong_value,
)
from sidecar.config.keys import GROUPS, KEYS, PATHS, Config, Value, default_path, flag_name
from sidecar.config.models import JudgeSettings
from sidecar.config.policies import TABLES, circuit_breaker_from, policy_of
from sidecar.config.thresholds import CIRCUIT_BREAKER, signal_name
from sidecar.config.values import described, typed, written
from sidecar.core.limits import Limits
from sidecar.core.policy import Policy
from sidecar.presets import PRESETS, preset, watching_judges
from sidecar.signals import SIGNALS_BY_NAME
from sidecar.signals.circling import CIRCLING

PREFIX: Final = "SIDECAR_"

FILE_VARIABLE: Final = "SIDECAR_CONFIG"

NOT_KEYS: Final = frozenset({FILE_VARIABLE, "SIDECAR_ADDRESS", "SIDECAR_RUNS", "SIDECAR_SOURCES"})
"""Variables with the prefix that mean something else: the file, where clients find a sidecar, and
the folders of recorded runs and of their sources that tests read."""

POLICIES: Final = "policies"

STATE: Final = "state_directory"

_LINKED: Final = re.compile(
    r"SIDECAR(?:_[A-Z0-9_]+)?_"
    r"(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)"
)
"""What Kubernetes sets in every container of a namespace that has a Service whose name begins with
`sidecar`. No key ends like this."""


def load(
    *,
    path: str | None = None,
    environment: Mapping[str, str],
    flags: Mapping[str, Any] = MappingProxyType({}),
    checked: Callable[[Config, Tree], None] = check,
) -> Config:
    """The configuration from its sources.

    `path` is the file that `--config` names; else SIDECAR_CONFIG names it; else the one in the
    user's configuration directory is read, where there is one. `flags` maps dotted keys to what
    was given for them; a flag that was not given is absent or None. `checked` refuses what cannot
    be used: by default, by a sidecar that is to serve under it. Raises ConfigError.
    """
    name = path or environment.get(FILE_VARIABLE) or found_file(environment)
    of_file = read_file(name) if name else {}
    tree = laid_over(of_file, _from_environment(environment, of_file))
    tree = laid_over(tree, _from_flags(flags))
    given = _located(_typed(tree))
    limits = Limits(**_group(given, "limits"))
    judge = JudgeSettings(**_group(given, "judge"))
    policies = _policies(tree)
    if judge.model:
        policies = _judged(policies, tree)
    if below(tree, CIRCUIT_BREAKER):
        given.setdefault("default_policy", CIRCUIT_BREAKER)
    defaults = {key: default_path(key, environment) for key in PATHS}
    values = {key: value for key, value in given.items() if "." not in key}
    config = Config(limits=limits, judge=judge, policies=policies, **{**defaults, **values})
    checked(config, tree)
    return replace(config, evidence=_evidence(tree), values=_effective(config, tree))


def found_file(environment: Mapping[str, str]) -> str | None:
    """The file in the user's configuration directory, if there is one.

    Raises ConfigError where there are several, since none of them is the obvious one.
    """
    home, given = environment.get("HOME", ""), environment.get("XDG_CONFIG_HOME", "")
    # The XDG Base Directory Specification tells a program to ignore a relative path.
    parent = FilePath(given) if FilePath(given).is_absolute() else FilePath(home, ".config")
    if not parent.is_absolute():
        return None
    stem = parent / "sidecar" / "config"
    names = [str(name) for name in map(stem.with_suffix, SUFFIXES) if _is_there(name)]
    if len(names) > 1:
        raise ConfigError(f"there is {' and '.join(names)}: keep one, or name one with --config")
    return names[0] if names else None


def _is_there(path: FilePath) -> bool:
    try:
        return path.exists()
    except OSError:  # a home that may not be looked into holds nothing for this process
        return False


def _from_environment(environment: Mapping[str, str], of_file: Tree) -> Tree:
    """What variables say, of what the file has under the file's own names: variables are in
    capitals, whichever a policy's name has."""
    tree: Tree = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in NOT_KEYS or _LINKED.fullmatch(variable):
            continue
        path: Path = ()
        for part in variable.removeprefix(PREFIX).lower().split("__"):
            path = (*path, _named_in(of_file, path, part))
        given = Given(value=environment[variable], origin=Origin.ENVIRONMENT, where=variable)
        tree = laid_over(tree, {path: given})
    return tree


def _named_in(tree: Tree, path: Path, part: str) -> str:
    """The part below the path as the tree writes it, where it has one like it and no more."""
    names = {found[len(path)] for found in below(tree, *path) if len(found) > len(path)}
    alike = [name for name in names if name.lower() == part]
    return alike[0] if len(alike) == 1 else part


def _from_flags(flags: Mapping[str, Any]) -> Tree:
    tree: Tree = {}
    for key, value in flags.items():
        if value is not None:
            given = Given(value=value, origin=Origin.FLAG, where=flag_name(key))
            tree = laid_over(tree, {tuple(key.split(".")): given})
    return tree


def _typed(tree: Tree) -> dict[str, Any]:
    """The values of the fixed keys, which are all but those of policies."""
    values: dict[str, Any] = {}
    for path, given in tree.items():
        key = dotted(path)
        if key in KEYS and len(path) <= key.count("."):
            table, _, name = key.partition(".")
            raise ConfigError(
                f"{key} is written as one key: it must be `{name}` below `{table}`",
                where=given.where,
            )
        if key in KEYS:
            values[key] = typed(path, given, KEYS[key].type)
        elif path[0] not in (POLICIES, CIRCUIT_BREAKER):
            _refuse_unknown(path, given)
    return values


def _located(given: dict[str, Any]) -> dict[str, Any]:
    """The same with `~` as the shell means it, which sees no value of a file; and a place to write
    that stays the same, whatever becomes of the directory that it was named from."""
    paths = {key: _at_home(given[key]) for key in given if key == STATE or key.endswith("_file")}
    if paths.get(STATE):
        paths[STATE] = str(FilePath(paths[STATE]).absolute())
    return {**given, **paths}


def _at_home(path: str) -> str:
    try:
        return str(FilePath(path).expanduser()) if path.startswith("~") else path
    except RuntimeError:  # nobody's home: what is there under that name is named so
        return path


def _group(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What was given of a table of fixed keys."""
    return {key: given[f"{name}.{key}"] for key in GROUPS[name] if f"{name}.{key}" in given}


def _refuse_unknown(path: Path, given: Given) -> None:
    top = path[0]
    if top in GROUPS:
        if len(path) > 1:
            kind = "limit" if top == "limits" else "key"
            raise unknown_name(Block(path=path, tree={path: given}), GROUPS[top], kind=kind)
        if given.value is not None and given.value != {}:
            raise wrong_value(path, given, f"a table of {', '.join(GROUPS[top])}")
        return
    if top in KEYS:
        expected = described(KEYS[top].type)
        raise ConfigError(f"{top} is a table: it must be {expected}", where=given.where)
    block = Block(path=(top,), tree={path: given})
    raise unknown_name(block, (*KEYS, POLICIES, CIRCUIT_BREAKER), kind="key")


def _policies(tree: Tree) -> Mapping[str, Policy]:
    """The presets, and over them the operator's."""
    policies = {name: preset(name) for name in PRESETS}
    own = below(tree, POLICIES)
    if own:
        blocks = Block(path=(POLICIES,), tree=own).parts("a table of policies")
        for name, block in blocks.items():
            policies[name] = policy_of(block, base=policies.get(name, preset("default")))
    founding = below(tree, CIRCUIT_BREAKER)
    if founding:
        block = Block(path=(CIRCUIT_BREAKER,), tree=founding)
        if CIRCUIT_BREAKER in policies:
            raise ConfigError(
                f"{CIRCUIT_BREAKER} is described twice: here and in {POLICIES}.{CIRCUIT_BREAKER}",
                where=block.first.where,
            )
        policies[CIRCUIT_BREAKER] = circuit_breaker_from(block)
    return MappingProxyType(policies)


def _judged(policies: Mapping[str, Policy], tree: Tree) -> Mapping[str, Policy]:
    """The policies with the judge's signal, but for those that speak of it themselves."""
    spoken = {path[0] if path[0] == CIRCUIT_BREAKER else path[1] for path in tree if _judges(path)}
    return MappingProxyType(
        {
            name: policy if name in spoken else watching_judges(policy)
            for name, policy in policies.items()
        }
    )


def _judges(path: Path) -> bool:
    """Whether a value is about the judge's signal of a policy."""
    match path:
        case ("policies", _, "signals", name, *_) | ("circuit_breaker", "signals", name, *_):
            pass
        case ("circuit_breaker", name, *_):
            pass
        case _:
            return False
    return signal_name(name) == CIRCLING.name


def _effective(config: Config, tree: Tree) -> tuple[Value, ...]:
    """Every fixed key, then what was given of policies."""
    values = []
    for key in KEYS:
        owner, _, name = key.rpartition(".")
        value = getattr(getattr(config, owner) if owner else config, name)
        given = tree.get(tuple(key.split(".")))
        origin, where = (given.origin, given.where) if given else (Origin.DEFAULT, "")
        values.append(Value(key=key, value=written(value), origin=origin, where=where))
    values += [
        Value(key=dotted(path), value=_shown(path, given), origin=given.origin, where=given.where)
        for path, given in tree.items()
        if path[0] in (POLICIES, CIRCUIT_BREAKER) and not _evidence_path(path)
    ]
    return tuple(values)


def _shown(path: Path, given: Given) -> Any:
    """The value as it is meant: a table that has a key and no more is empty, and is not off."""
    return {} if given.value is None and _is_table(path) else given.value


def _is_table(path: Path) -> bool:
    """Whether a table belongs at this key of the policies or of the founding block."""
    match path[1:] if path[0] == POLICIES else path:
        case () | (_,) | (_, "signals" | "actions", _):
            return True
        case (_, name):
            return name in TABLES or signal_name(name) in SIGNALS_BY_NAME
    return False


def _evidence(tree: Tree) -> Mapping[str, Mapping[str, Any]]:
    """What policies say of where they come from, by their names."""
    blocks = dict.fromkeys(filter(None, map(_evidence_path, tree)))
    return MappingProxyType(
        {path[-2]: evidence_of(Block(path=path, tree=below(tree, *path))) for path in blocks}
    )


def _evidence_path(path: Path) -> Path:
    """The key of the policy's evidence that a value belongs to; empty: to none."""
    own = path[: 3 if path[0] == POLICIES else 2]
    return own if own[0] in (POLICIES, CIRCUIT_BREAKER) and own[-1] == EVIDENCE else ()
