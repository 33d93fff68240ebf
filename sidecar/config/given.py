"""What was configured, before it is understood: values, each with where it came from.

Every source (file, environment, flags) becomes a `Tree` of dotted keys, and a later tree is laid
over an earlier one, so that each value keeps its origin through to `sidecar check-config` and to
the one line that says what is wrong with it.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from sidecar.printable import shown

SECRET_LENGTH_MIN = 16
"""Characters from which a value under an unknown key is not shown: it may be a secret in the wrong
place, of which none that is taken is shorter. The environment may hold shorter ones, of something
else that goes by this prefix: of it only numbers and true or false are shown."""

_NO_SECRET = re.compile(r"true|false|[-+]?\d{1,6}(?:\.\d*)?", re.IGNORECASE)

NEAR = 0.6
"""Likeness from which a known name is offered for an unknown one; difflib's own default."""


class Origin(Enum):
    """Where a value came from; a later one wins over an earlier."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One value as it was written."""

    value: Any
    origin: Origin
    where: str = ""
    """`file:line`, the environment variable, or the flag."""

    @property
    def is_text(self) -> bool:
        """Whether it could only be written as text, whatever it means."""
        return self.origin in (Origin.ENVIRONMENT, Origin.FLAG) and type(self.value) is str


Path: TypeAlias = tuple[str, ...]
Tree: TypeAlias = Mapping[Path, Given]
"""Values by their keys. No key is the beginning of another."""


class ConfigError(Exception):
    """A configuration that cannot be used. Its text is one line: where, which key, which value,
    and what would be right."""

    def __init__(self, text: str, *, where: str = "") -> None:
        """Join place and problem to one line, whatever either contains."""
        line = f"{where}: {text}" if where else text
        super().__init__(" ".join(line.split()))


def dotted(path: Path) -> str:
    """The key as a person writes it."""
    return ".".join(path)


def wrong_value(path: Path, given: Given, expected: str) -> ConfigError:
    """The error for a value of a known key; `expected` completes "it must be ..."."""
    return ConfigError(
        f"{dotted(path)} = {shown(given.value)} is not right: it must be {expected}",
        where=given.where,
    )


def environment_name(key: str) -> str:
    """The variable that sets a key: `limits.max_turns` -> `SIDECAR_LIMITS__MAX_TURNS`."""
    return f"SIDECAR_{key.replace('.', '__').upper()}"


def unknown_name(
    block: "Block", known: Iterable[str], *, kind: str, first: Iterable[str] = ()
) -> ConfigError:
    """The error for a block whose name means nothing, with the nearest that does, or with all.

    `first` has those names, known as well, that the file is most likely written in.
    """
    path, given = block.path, block.first
    names = list(dict.fromkeys((*first, *sorted(known))))
    near = max(names, key=lambda name: _likeness(path[-1], name))
    if _likeness(path[-1], near) >= NEAR:
        is_variable = given.origin is Origin.ENVIRONMENT
        meant = environment_name(dotted((*path[:-1], near))) if is_variable else near
        offer = f"did you mean {meant}?"
    elif len(path) > 1:
        offer = f"known here: {', '.join(names)}"
    else:  # there are a hundred of them
        offer = "docs/configuration.md lists all"
    text = f"{dotted(path)} is not a known {kind}; {offer}{_value_of(block)}"
    return ConfigError(text, where=given.where)


def _value_of(block: "Block") -> str:
    given = block.tree.get(block.path)
    if given is None:
        return ""
    text = str(given.value)
    is_plain = given.origin is not Origin.ENVIRONMENT or _NO_SECRET.fullmatch(text)
    is_shown = is_plain and len(text) < SECRET_LENGTH_MIN
    value = f"is {shown(given.value)}" if is_shown else "may be a secret and is not shown"
    return f" (its value {value})"


def _likeness(one: str, other: str) -> float:
    """1 for equal, 0 for nothing in common; `turns_max` is like `max_turns`."""
    one, other = one.lower(), other.lower()
    pairs = ((one, other), (_sorted_words(one), _sorted_words(other)))
    return max(difflib.SequenceMatcher(a=a, b=b).ratio() for a, b in pairs)


def _sorted_words(name: str) -> str:
    return "_".join(sorted(name.split("_")))


def tree_of(values: Mapping[str, Any], *, where: str = "") -> Tree:
    """The tree of a file's nested mapping whose places are not known more closely."""
    tree: dict[Path, Given] = {}
    _spread((), values, tree, where=where)
    return tree


def _spread(path: Path, value: Any, tree: dict[Path, Given], *, where: str) -> None:
    if not isinstance(value, Mapping) or (path and not value):
        tree[path] = Given(value=value, origin=Origin.FILE, where=where)
        return
    for key, part in value.items():
        _spread((*path, str(key)), part, tree, where=where)


def laid_over(lower: Tree, upper: Tree) -> Tree:
    """Both trees in one. An upper value replaces what the lower one has at its key, below its key,
    and at any beginning of its key: `stall: off` gives way to `stall.warning`, and the reverse."""
    hidden = {path[:length] for path in upper for length in range(1, len(path) + 1)}
    kept = {
        path: given
        for path, given in lower.items()
        if path not in hidden and not any(path[:length] in upper for length in range(len(path)))
    }
    return {**kept, **upper}


def below(tree: Tree, *prefix: str) -> Tree:
    """The values whose keys begin with the prefix, under their full keys."""
    return {path: given for path, given in tree.items() if path[: len(prefix)] == prefix}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The part of a tree at or below one key."""

    path: Path
    tree: Tree

    @property
    def first(self) -> Given:
        """Any value of it, to say where it stands."""
        return next(iter(self.tree.values()))

    def parts(self, expected: str) -> dict[str, "Block"]:
        """The blocks one step below, by name; none where it is empty or null.

        Raises ConfigError when a plain value stands where a table should.
        """
        given = self.tree.get(self.path)
        if given is not None:
            if given.value is None or given.value == {}:
                return {}
            raise wrong_value(self.path, given, expected)
        names = dict.fromkeys(path[len(self.path)] for path in self.tree)
        return {
            name: Block(path=(*self.path, name), tree=below(self.tree, *self.path, name))
            for name in names
        }

    def value(self, known: str) -> Given:
        """The plain value at this key. Raises ConfigError when a table stands there."""
        given = self.tree.get(self.path)
        if given is None:
            raise ConfigError(
                f"{dotted(self.path)} is a table: it must be {known}", where=self.first.where
            )
        return given
