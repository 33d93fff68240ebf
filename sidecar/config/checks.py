"""What holds between several keys of a configuration, or between a key and this machine."""

import grp
import os
import ssl
from operator import attrgetter
from pathlib import Path as FilePath
from typing import Final

from sidecar.addresses import parse_address
from sidecar.config.given import ConfigError, Given, Origin, Tree, wrong_value
from sidecar.config.keys import ADDRESSES, FILES, Config
from sidecar.models.access import BASE_URL_EXPECTED, KEY_EXPECTED, is_base_url, is_key

REQUIRED: Final = ("agent_address", "admin_address")
"""Listeners that there is no sidecar without."""

GUARDED: Final = (
    "agent_address",
    "agent_tcp_address",
    "agent_http_address",
    "agent_http_tcp_address",
    "admin_address",
)
"""Listeners that may be reached from elsewhere by those who know a token or have a certificate."""

PARTS_OF_TIMES: Final = (
    ("flush_timeout_s", "shutdown_timeout_s"),
    # A session that is kept no more cannot be resumed.
    ("session_idle_ttl_s", "retention_s"),
)

TOKEN_BYTES_MIN: Final = 16
"""128 bits, if they are random: what cannot be guessed over a network."""

JUDGED_CONCURRENCY_MIN: Final = 2
"""One place for a judge, and the one that it leaves free (`sidecar.models.purse`)."""

TOKEN_BYTES_MAX: Final = 4096
"""Fits into the 8 KiB that gRPC allows for all metadata of a call by default."""


def check(config: Config, tree: Tree) -> None:
    """Refuse what contradicts itself or is not there, before it is served. Raises ConfigError."""
    check_asking(config, tree)
    for key in FILES:
        check_file(key, getattr(config, key), _given(config, tree, key).where)
    _check_tls(config, tree)
    _check_exposure(config, tree)
    _check_group(config, tree)


def check_asking(config: Config, tree: Tree) -> None:
    """Refuse what contradicts itself, for a command that serves nothing: it may run as another
    user, or on another machine, than the sidecar whose configuration this is. Raises ConfigError.
    """
    _check_policy(config, tree)
    _check_pairs(config, tree)
    _check_addresses(config, tree)
    _check_labels(config, tree)
    _check_times(config, tree)
    _check_models(config, tree)


def _given(config: Config, tree: Tree, key: str) -> Given:
    default = Given(value=getattr(config, key), origin=Origin.DEFAULT, where="default")
    return tree.get((key,), default)


def _check_policy(config: Config, tree: Tree) -> None:
    if config.default_policy not in config.policies:
        names = ", ".join(config.policies)
        given = _given(config, tree, "default_policy")
        raise wrong_value(("default_policy",), given, f"a known policy: {names}")


def _check_pairs(config: Config, tree: Tree) -> None:
    for key, needed in (
        ("tls_certificate_file", "tls_key_file"),
        ("tls_key_file", "tls_certificate_file"),
        ("tls_client_ca_file", "tls_certificate_file"),
        ("tls_client_certificate_file", "tls_client_key_file"),
        ("tls_client_key_file", "tls_client_certificate_file"),
        # A judge is shown the turns that the journal has.
        ("judge.model", "state_directory"),
    ):
        if attrgetter(key)(config) and not getattr(config, needed):
            given = tree.get(tuple(key.split(".")))
            where = given.where if given else ""
            raise ConfigError(f"{key} is given without {needed}: give both", where=where)


def check_file(key: str, name: str, where: str) -> None:
    """Refuse a file that cannot be read or holds nothing; an empty name is none.

    Raises ConfigError naming the key, the file and where it was named.
    """
    if not name:
        return
    try:
        with FilePath(name).open("rb") as file:
            content = file.read(TOKEN_BYTES_MAX + 1).strip()
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code else "it is no path"
        # What is not a path may be the secret itself, put where the path of its file belongs.
        shown = name if name.startswith(("/", "./", "../")) else "(a relative path)"
        raise _wrong_file(key, shown, where, f"it must be a readable file ({reason})") from None
    if not content:
        raise _wrong_file(key, name, where, "the file is empty")
    if key == "token_file" and not _is_token(content):
        expected = (
            f"it must hold a token of {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} ASCII characters "
            "without blanks"
        )
        raise _wrong_file(key, name, where, expected)
    if key == "model_key_file" and not is_key(content.decode("utf-8", "replace")):
        raise _wrong_file(key, name, where, f"it must hold a key of {KEY_EXPECTED}")


def _wrong_file(key: str, shown: str, where: str, expected: str) -> ConfigError:
    return ConfigError(f"{key} = {shown} is not right: {expected}", where=where)


def _check_tls(config: Config, tree: Tree) -> None:
    """Refuse files, each readable, with which no TLS can be spoken."""
    for key in ("tls_certificate_file", "tls_client_ca_file"):
        if name := getattr(config, key):
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(name)
            except ssl.SSLError:
                where = _given(config, tree, key).where
                raise _wrong_file(key, name, where, "it must hold certificates in PEM") from None
    if config.tls_certificate_file:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            # A passphrase, even none, so that nobody is asked for one on a terminal.
            context.load_cert_chain(config.tls_certificate_file, config.tls_key_file, password="")
        except ssl.SSLError as error:
            expected = (
                "it must hold the private key, in PEM and without a passphrase, to the certificate "
                f"in {config.tls_certificate_file}"
            )
            # OpenSSL has a reason where each is read and the two do not do together.
            reason = f" ({error.reason.lower().replace('_', ' ')})" if error.reason else ""
            where = _given(config, tree, "tls_key_file").where
            raise _wrong_file(
                "tls_key_file", config.tls_key_file, where, expected + reason
            ) from None


def _is_token(content: bytes) -> bool:
    # Other bytes cannot stand in the header of a call.
    is_sendable = all(0x21 <= byte <= 0x7E for byte in content)
    return is_sendable and TOKEN_BYTES_MIN <= len(content) <= TOKEN_BYTES_MAX


def _check_addresses(config: Config, tree: Tree) -> None:
    taken: dict[str, str] = {}
    origins = list(Origin)
    # Of two that are the same the one that was said last is at fault, and no default is.
    for key in sorted(ADDRESSES, key=lambda key: origins.index(_given(config, tree, key).origin)):
        text, given = getattr(config, key), _given(config, tree, key)
        if not text:
            if key in REQUIRED:
                raise wrong_value((key,), given, "an address: agents and operators need one")
            continue
        try:
            address = parse_address(text)
        except ValueError as error:
            raise wrong_value((key,), given, str(error)) from None
        place = os.path.realpath(address.path) if address.path else address.target
        if place in taken and not (address.host and address.port == 0):
            raise wrong_value((key,), given, f"another address than {taken[place]}")
        taken[place] = key


def _check_exposure(config: Config, tree: Tree) -> None:
    guarded = bool(config.tls_certificate_file or config.token_file)
    for key, address in config.listeners.items():
        given = _given(config, tree, key)
        if key == "admin_http_address" and not address.is_local:
            raise wrong_value((key,), given, "a loopback address or a Unix socket")
        if key in GUARDED and not address.is_local and not guarded:
            expected = (
                "a loopback address or a Unix socket, unless tls_certificate_file or token_file "
                "is given"
            )
            raise wrong_value((key,), given, expected)


def _check_group(config: Config, tree: Tree) -> None:
    name = config.socket_group
    if not name or name.isdecimal():
        return
    try:
        grp.getgrnam(name)
    except (KeyError, UnicodeEncodeError):
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
    for part, whole in PARTS_OF_TIMES:
        part_s, whole_s = getattr(config, part), getattr(config, whole)
        if part_s <= whole_s:
            continue
        if (part,) in tree:
            key, bound = part, f"at most {whole_s:g}, the {whole}"
        else:
            key, bound = whole, f"at least {part_s:g}, the {part}"
        raise wrong_value((key,), _given(config, tree, key), bound)


def _check_models(config: Config, tree: Tree) -> None:
    if config.model_base_url and not is_base_url(config.model_base_url):
        given = _given(config, tree, "model_base_url")
        raise wrong_value(("model_base_url",), given, BASE_URL_EXPECTED)
    if config.judge.model and config.model_concurrency_max < JUDGED_CONCURRENCY_MIN:
        given = _given(config, tree, "model_concurrency_max")
        expected = f"at least {JUDGED_CONCURRENCY_MIN}: a judge leaves one place to other calls"
        raise wrong_value(("model_concurrency_max",), given, expected)
    if config.model_output_tokens_max >= config.model_window_tokens:
        given = _given(config, tree, "model_output_tokens_max")
        expected = f"less than model_window_tokens ({config.model_window_tokens})"
        raise wrong_value(("model_output_tokens_max",), given, expected)
    priced = [word.partition("=")[0] for word in config.model_prices]
    if len(set(priced)) < len(priced):
        given = _given(config, tree, "model_prices")
        raise wrong_value(("model_prices",), given, "a list with one price for each model")
