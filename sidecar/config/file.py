"""Reading a configuration file, YAML or TOML by its suffix, into a tree with line numbers.

YAML is read by the rules of YAML 1.2, where only `true` and `false` are booleans: under the older
rules `stall: off` would be a boolean and `socket_mode: 0660` the number 432.
"""

import json
import os
import re
import tomllib
from pathlib import Path as FilePath
from typing import Any, Final

import yaml

from sidecar.config.given import ConfigError, Given, Origin, Path, Tree, dotted, tree_of

FILE_BYTES_MAX: Final = 1 << 20
"""A configuration file is read by hand; one larger than this was named by mistake."""

VALUES_MAX: Final = 10_000
"""Bounds what aliases can multiply a small file into."""

WORDS_MAX: Final = 256
"""Of a list; the longest is one of tool names."""

DEPTH_MAX: Final = 32
"""The deepest key has five parts; bounds an alias that contains itself."""

SUFFIXES: Final = (".yaml", ".yml", ".toml")

_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FRACTION: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII
)
_DIGITS_MAX: Final = 40
"""Digits of the longest number that is read as one; no key takes a larger."""
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_TOML_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")


def read_file(name: str) -> Tree:
    """The values of a configuration file.

    Raises ConfigError when it cannot be read, is neither YAML nor TOML, or is not a table.
    """
    suffix = FilePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(f"a configuration file ends in {', '.join(SUFFIXES)}", where=name)
    text = _text(name)
    try:
        return _toml(text, name) if suffix == ".toml" else _yaml(text, name)
    except RecursionError:
        raise ConfigError("is nested too deeply", where=name) from None


def _text(name: str) -> str:
    try:
        with FilePath(name).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(f"cannot be read: {reason}", where=name) from None
    if len(content) > FILE_BYTES_MAX:
        raise ConfigError(f"is larger than {FILE_BYTES_MAX} bytes", where=name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text: byte {error.start}", where=name) from None


def _toml(text: str, name: str) -> Tree:
    try:
        return tree_of(tomllib.loads(text), where=name)
    except tomllib.TOMLDecodeError as error:
        line = _TOML_LINE.search(str(error))
        reason = _TOML_LINE.sub("", str(error)).strip()
        where = f"{name}:{line[1]}" if line else name
        raise ConfigError(f"is not valid TOML: {reason}", where=where) from None


def _yaml(text: str, name: str) -> Tree:
    try:
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}" if mark else name
        raise ConfigError(f"is not valid YAML: {error.problem}", where=where) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"is not valid YAML: {error}", where=name) from None
    tree: dict[Path, Given] = {}
    match root:
        case None:
            pass
        case yaml.MappingNode():
            _spread((), root, tree, name=name)
        case _:
            raise ConfigError("must be a table of keys and values", where=name)
    return tree


def _spread(path: Path, node: yaml.Node, tree: dict[Path, Given], *, name: str) -> None:
    where = _where(node, name)
    if len(path) > DEPTH_MAX or len(tree) >= VALUES_MAX:
        raise ConfigError(f"holds more than {VALUES_MAX} values or nests too deeply", where=where)
    match node:
        case yaml.MappingNode(value=pairs) if pairs or not path:
            for key, part in _distinct(path, pairs, name=name):
                _spread((*path, key), part, tree, name=name)
        case _:
            tree[path] = Given(value=_value(path, node, name), origin=Origin.FILE, where=where)


def _distinct(
    path: Path, pairs: list[tuple[yaml.Node, yaml.Node]], *, name: str
) -> list[tuple[str, yaml.Node]]:
    """The pairs of a table, none of whose keys stands there twice."""
    parts: dict[str, yaml.Node] = {}
    for node, part in pairs:
        if not isinstance(node, yaml.ScalarNode):
            raise ConfigError("a key must be text", where=_where(node, name))
        key = str(node.value)
        if key in parts:
            raise ConfigError(
                f"{dotted((*path, key))} is given twice; the first is in line "
                f"{parts[key].start_mark.line + 1}",
                where=_where(node, name),
            )
        parts[key] = part
    return list(parts.items())


def _value(path: Path, node: yaml.Node, name: str) -> Any:
    match node:
        case yaml.MappingNode():
            return {}
        case yaml.ScalarNode(value=text, style=None):
            return plain_value(text)
        case yaml.SequenceNode(value=parts):
            _check_words(path, node, name)
            return [_value(path, word, name) for word in parts]
    return node.value


def _check_words(path: Path, node: yaml.SequenceNode, name: str) -> None:
    """Refuse a list of too much or of other than words; it may be a secret in the wrong place, so
    it is not shown. Raises ConfigError."""
    expected = f"a list holds words, {WORDS_MAX} at most"
    if len(node.value) > WORDS_MAX:
        problem = f"{dotted(path)} is a list of {len(node.value)}"
        raise ConfigError(f"{problem}: {expected}", where=_where(node, name))
    for number, part in enumerate(node.value):
        if not isinstance(part, yaml.ScalarNode):
            what = "a table" if isinstance(part, yaml.MappingNode) else "a list"
            problem = f"{dotted(path)}[{number}] is {what}"
            raise ConfigError(f"{problem}: {expected}", where=_where(part, name))


def plain_value(text: str) -> Any:
    """What an unquoted word means: true, false, null, a number in decimal notation, or itself.

    A number that begins with a superfluous zero stays text, since it may be meant as octal.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) > _DIGITS_MAX:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FRACTION.fullmatch(text) else text


def list_value(text: str) -> Any:
    """What a list in an environment variable or flag means: JSON, or words between commas."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return [word.strip() for word in text.split(",") if word.strip()]


def _where(node: yaml.Node, name: str) -> str:
    return f"{name}:{node.start_mark.line + 1}"
