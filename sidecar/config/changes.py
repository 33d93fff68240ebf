"""From one policy to another by single thresholds: what `--what-if` asks for, and what `sidecar
tune` tries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sidecar.config.given import (
    Block,
    ConfigError,
    Given,
    Origin,
    Path,
    Tree,
    below,
    laid_over,
)
from sidecar.config.policies import watching
from sidecar.config.thresholds import (
    brought_along,
    signal_name,
    threshold_types,
    threshold_value,
    threshold_values,
)
from sidecar.config.values import OFF, written
from sidecar.core.policy import Policy
from sidecar.printable import shown
from sidecar.signals import SIGNALS_BY_NAME

FORM: Final = "SIGNAL.THRESHOLD=VALUE, such as spin.break=6, or SIGNAL=off"

OF_ALL_RULES: Final = (("warning",), ("break",))
"""What stands behind a signal's name for the thresholds of all its rules, where it has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One threshold that two policies have different values of."""

    name: str
    """`signal.threshold`, or the signal alone where one policy does not watch it."""
    before: Any
    """As it is written in a configuration file."""
    after: Any

    def __str__(self) -> str:
        """In words for a person."""
        return f"{self.name} {_word(self.before)} -> {_word(self.after)}"


def asked(policy: Policy, changes: Iterable[str], *, where: str) -> Policy:
    """The policy with the changes that a command line asks for, a later one over an earlier.

    `loop.break=6` changes every break of loop's rules that is not off, and what the order of
    warning, break and window then asks for. Raises ConfigError, which names `where`.
    """
    tree: Tree = {}
    for text in changes:
        name, equals, value = text.partition("=")
        path = tuple(part.strip().lower() for part in name.split("."))
        if not equals or len(path) > 2 or not all(path):
            raise ConfigError(f"{shown(text)} is not right: it must be {FORM}", where=where)
        given = Given(value=value.strip(), origin=Origin.FLAG, where=where)
        tree = laid_over(tree, {path: given})
    of_rules: dict[Path, Given] = {}
    single: dict[Path, Given] = {}
    for path, given in tree.items():
        rules = _rules(policy, path)
        of_rules.update(_of_rules(policy, path, given, rules))
        single.update({} if rules else {path: given})
    return _changed(policy, laid_over(of_rules, single))


def with_thresholds(policy: Policy, values: Mapping[tuple[str, str], Any]) -> Policy:
    """The policy with other values for thresholds, by signal and name, and what their order then
    asks for. Raises ConfigError where they contradict one another.
    """
    own = _own(policy)
    tree: dict[Path, Given] = {}
    for signal in dict.fromkeys(signal for signal, _ in values):
        changes = {name: value for (of, name), value in values.items() if of == signal}
        for name, value in brought_along(own.get(signal, {}), changes).items():
            tree[signal, name] = Given(value=value, origin=Origin.FLAG)
    return _changed(policy, tree)


def differences(before: Policy, after: Policy) -> tuple[Difference, ...]:
    """The thresholds in which the second policy is not the first, in the order of the signals."""
    first, second = _written(before), _written(after)
    gone = _own(before).keys() - _own(after).keys()
    return tuple(
        Difference(name=name, before=first.get(name), after=second.get(name))
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name) and name.rpartition(".")[0] not in gone
    )


def _rules(policy: Policy, path: Path) -> tuple[str, ...]:
    """The thresholds that a name stands for which is none itself; off stays off."""
    signal = SIGNALS_BY_NAME.get(signal_name(path[0]))
    if signal is None or path[1:] not in OF_ALL_RULES or path[1] in threshold_types(signal):
        return ()
    values = _own(policy).get(signal.name, {})
    return tuple(
        name for name, value in values.items() if name.endswith(f"_{path[1]}") and value is not None
    )


def _of_rules(policy: Policy, path: Path, given: Given, rules: tuple[str, ...]) -> Tree:
    signal = signal_name(path[0])
    types = threshold_types(SIGNALS_BY_NAME[signal]) if rules else {}
    changes = {name: threshold_value(path, given, types[name]) for name in rules}
    values = _own(policy).get(signal, {})
    return {
        (path[0], name): Given(value=value, origin=Origin.FLAG, where=given.where)
        for name, value in brought_along(values, changes).items()
    }


def _own(policy: Policy) -> dict[str, dict[str, Any]]:
    """The thresholds of the watched signals."""
    return {watch.signal.name: threshold_values(watch.thresholds) for watch in policy.in_force}


def _changed(policy: Policy, tree: Tree) -> Policy:
    signals = dict.fromkeys(path[0] for path in tree)
    blocks = [Block(path=(signal,), tree=below(tree, signal)) for signal in signals]
    return watching(policy, blocks)


def _written(policy: Policy) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for signal, values in _own(policy).items():
        found[signal] = "on"
        found |= {f"{signal}.{name}": written(value) for name, value in values.items()}
    return found


def _word(value: Any) -> str:
    return OFF if value is None else f"{value}"
