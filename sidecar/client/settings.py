"""How the sidecar is reached."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sidecar import paths
from sidecar.addresses import PORT_MAX, SOCKET_PATH_BYTES_MAX
from sidecar.client.intake import Intake

ADDRESS_VARIABLE: Final = "SIDECAR_ADDRESS"
# Envoy's external processing waits as long by default; a model call takes ten times that.
TIMEOUT_S: Final = 0.2
TIMEOUT_MAX_S: Final = 60.0
# What gRPC sends in a header.
_HEADER: Final = re.compile(r"[ -~]*")
_HOST_AND_PORT: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")


class AddressError(ValueError):
    """An address that nothing can listen on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the sidecar is and how to talk to it."""

    target: str
    """The address as gRPC has it; empty: unusable, and `target_fault` says why."""
    target_fault: str = ""
    private_directory: str = ""
    """Must be this user's alone if it is there: it is in /tmp, where anybody can make it, and turns
    are not told to a stranger's socket."""
    timeout_s: float = TIMEOUT_S
    root_certificates: str = ""
    certificate: str = ""
    private_key: str = ""
    token: str = field(default="", repr=False)

    @property
    def fault(self) -> str:
        """Why no stream can be made, whatever is there; empty: nothing is known."""
        if self.target_fault or _HEADER.fullmatch(self.token):
            return self.target_fault
        # gRPC itself would say so on standard error, at every attempt. The log has no tokens.
        return "the token has a character that cannot be sent"


def settings_of(address: object, options: Mapping[str, object], intake: Intake) -> Settings:
    """Settings from what the caller gives; an unusable address makes a target of "", no error."""
    given = intake.text("address", address) or os.environ.get(ADDRESS_VARIABLE, "")
    target, private_directory, fault = "", "", ""
    try:
        target, private_directory = (target_of(given), "") if given else _default()
    except AddressError as error:
        fault = str(error)
    timeout_s = intake.measure("timeout_s", options.get("timeout_s"), low=0.0, high=TIMEOUT_MAX_S)
    return Settings(
        target=target,
        target_fault=fault,
        private_directory=private_directory,
        timeout_s=TIMEOUT_S if timeout_s is None else timeout_s,
        root_certificates=_path("root_certificates", options, intake),
        certificate=_path("certificate", options, intake),
        private_key=_path("private_key", options, intake),
        # Read from a file it ends with a newline, and with one no header can be sent.
        token=intake.text("token", options.get("token")).strip(),
    )


def target_of(address: str) -> str:
    """The address as gRPC has it: `unix:PATH`, `/PATH`, `HOST:PORT` or `[IPv6]:PORT`.

    Raises AddressError. gRPC itself would say so on standard error, at every attempt.
    """
    if address.startswith("/"):
        address = f"unix:{address}"
    scheme, _, path = address.partition(":")
    if scheme == "unix":
        path = path.removeprefix("//")
        if not 0 < len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX or "\0" in path:
            raise AddressError(f"a socket's path has 1 to {SOCKET_PATH_BYTES_MAX} bytes: {path!r}")
        return f"unix:{path}"
    found = _HOST_AND_PORT.fullmatch(address)
    if found is None or not 0 < int(found[2]) <= PORT_MAX:
        raise AddressError(f"neither unix:PATH nor HOST:PORT: {address!r}")
    return address


def _default() -> tuple[str, str]:
    """The socket of a sidecar of the same user, and its directory if anybody could make that."""
    directory = paths.runtime_directory()
    return (
        target_of(f"unix:{paths.agent_socket()}"),
        str(directory) if paths.is_shared(directory) else "",
    )


def _path(field: str, options: Mapping[str, object], intake: Intake) -> str:
    value: Any = options.get(field)
    if issubclass(type(value), os.PathLike):
        # One that cannot be read is still one that is given: without it nothing would be encrypted.
        path = intake.guarded(field, os.fspath, value)
        return intake.text(field, path or type(value).__name__)
    return intake.text(field, value)
