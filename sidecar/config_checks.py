"""What holds between several keys of a configuration, or between a key and this machine."""

import grp
import os
from pathlib import Path as FilePath
from typing import Final

from sidecar.addresses import parse_address
from sidecar.config import ADDRESSES, FILES, Config
from sidecar.given import ConfigError, Given, Origin, Tree, wrong_value

REQUIRED: Final = ("agent_address", "admin_address")
"""Listeners that there is no sidecar without."""

GUARDED: Final = ("agent_address", "agent_tcp_address", "admin_address")
"""Listeners that may be reached from elsewhere by those who know a token or have a certificate."""

TOKEN_BYTES_MIN: Final = 16
"""128 bits, if they are random: what cannot be guessed over a network."""

TOKEN_BYTES_MAX: Final = 4096
"""Fits into the 8 KiB that gRPC allows for all metadata of a call by default."""


def check(config: Config, tree: Tree) -> None:
    """Refuse what contradicts itself or is not there. Raises ConfigError."""
    _check_policy(config, tree)
    _check_files(config, tree)
    _check_addresses(config, tree)
    _check_group(config, tree)
    _check_labels(config, tree)
    _check_times(config, tree)


def _given(config: Config, tree: Tree, key: str) -> Given:
    default = Given(value=getattr(config, key), origin=Origin.DEFAULT, where="default")
    return tree.get((key,), default)


def _check_policy(config: Config, tree: Tree) -> None:
    if config.default_policy not in config.policies:
        names = ", ".join(config.policies)
        given = _given(config, tree, "default_policy")
        raise wrong_value(("default_policy",), given, f"a known policy: {names}")


def _check_files(config: Config, tree: Tree) -> None:
    for key, needed in (
        ("tls_certificate_file", "tls_key_file"),
        ("tls_key_file", "tls_certificate_file"),
        ("tls_client_ca_file", "tls_certificate_file"),
    ):
        if getattr(config, key) and not getattr(config, needed):
            where = _given(config, tree, key).where
            raise ConfigError(f"{key} is given without {needed}: give both", where=where)
    for key in FILES:
        name = getattr(config, key)
        if name:
            _check_file(key, name, _given(config, tree, key))


def _check_file(key: str, name: str, given: Given) -> None:
    # What is not a path may be the secret itself, put where the path of its file belongs.
    shown = name if name.startswith(("/", "./", "../")) else "(a relative path)"
    try:
        with FilePath(name).open("rb") as file:
            content = file.read(TOKEN_BYTES_MAX + 1).strip()
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code else "it is no path"
        raise ConfigError(
            f"{key} = {shown} is not right: it must be a readable file ({reason})",
            where=given.where,
        ) from None
    if not content:
        raise ConfigError(f"{key} = {shown} is not right: the file is empty", where=given.where)
    if key == "token_file" and not _is_token(content):
        raise ConfigError(
            f"{key} = {shown} is not right: it must hold a token of {TOKEN_BYTES_MIN} to "
            f"{TOKEN_BYTES_MAX} ASCII characters without blanks",
            where=given.where,
        )


def _is_token(content: bytes) -> bool:
    # Other bytes cannot stand in the header of a call.
    is_sendable = all(0x21 <= byte <= 0x7E for byte in content)
    return is_sendable and TOKEN_BYTES_MIN <= len(content) <= TOKEN_BYTES_MAX


def _check_addresses(config: Config, tree: Tree) -> None:
    taken: dict[str, str] = {}
    guarded = bool(config.tls_certificate_file or config.token_file)
    for key in ADDRESSES:
        text, given = getattr(config, key), _given(config, tree, key)
        if not text:
            if key in REQUIRED:
                raise wrong_value((key,), given, "an address: agents and operators need one")
            continue
        try:
            address = parse_address(text)
        except ValueError as error:
            raise wrong_value((key,), given, str(error)) from None
        if key == "admin_http_address" and not address.is_local:
            raise wrong_value((key,), given, "a loopback address or a Unix socket")
        if key in GUARDED and not address.is_local and not guarded:
            expected = (
                "a loopback address or a Unix socket, unless tls_certificate_file or token_file "
                "is given"
            )
            raise wrong_value((key,), given, expected)
        if address.target in taken and not (address.host and address.port == 0):
            raise wrong_value((key,), given, f"another address than {taken[address.target]}")
        taken[address.target] = key


def _check_group(config: Config, tree: Tree) -> None:
    name = config.socket_group
    if not name or name.isdecimal():
        return
    try:
        grp.getgrnam(name)
    except KeyError:
        given = _given(config, tree, "socket_group")
        raise wrong_value(
            ("socket_group",), given, "a group of this machine, or its number"
        ) from None


def _check_labels(config: Config, tree: Tree) -> None:
    # Names of Prometheus labels have no '.' or '-'; both become '_'.
    names = {key.replace(".", "_").replace("-", "_") for key in config.label_keys}
    if len(names) < len(config.label_keys):
        given = _given(config, tree, "label_keys")
        raise wrong_value(("label_keys",), given, "a list of names that differ in more than '.-_'")


def _check_times(config: Config, tree: Tree) -> None:
    if config.flush_timeout_s > config.shutdown_timeout_s:
        key = "flush_timeout_s" if ("flush_timeout_s",) in tree else "shutdown_timeout_s"
        bound = (
            f"at most {config.shutdown_timeout_s:g}, the shutdown_timeout_s"
            if key == "flush_timeout_s"
            else f"at least {config.flush_timeout_s:g}, the flush_timeout_s"
        )
        raise wrong_value((key,), _given(config, tree, key), bound)
