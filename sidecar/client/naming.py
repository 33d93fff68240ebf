"""Names of sessions."""

import hashlib

# The protocol's bound for an id.
ID_BYTES_MAX = 128
_DIGEST_HEX = 16


def fit(name: str, bytes_max: int = ID_BYTES_MAX) -> str:
    """The name, or its beginning and a digest of it all: long names that differ stay different."""
    encoded = name.encode("utf-8", "replace")
    if len(encoded) <= bytes_max:
        return encoded.decode()
    digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST_HEX]
    head = encoded[: bytes_max - _DIGEST_HEX - 1].decode("utf-8", "ignore")
    return f"{head}~{digest}"


def successor(name: str, *, client_instance: str, number: int) -> str:
    """The name of the session that takes the place of the one named, the `number`-th to do so.

    It holds part of the client's own random name: another process that replaces the same session
    must not meet this one there.
    """
    suffix = f".{client_instance[:8]}.{number}"
    return fit(name, ID_BYTES_MAX - len(suffix)) + suffix
