"""Why a sidecar did not answer, in one line that says what would be right.

gRPC says "Socket closed" of a sidecar that wants TLS and of one that wants a certificate, so after
a failure the way is walked once more by hand, and what stops that is said.
"""

import socket
import ssl
from contextlib import suppress
from typing import Any, Final

import grpc

from sidecar.addresses import Address
from sidecar.client.channel import ending_of
from sidecar.client.settings import Settings
from sidecar.config.given import ConfigError

FAULTS: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)
"""Codes of calls that would have ended so whatever was in them."""

TRY_WITHIN_S: Final = 2.0

NAME_MISMATCHES: Final = frozenset({62, 64})
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""


class ConnectionFault(Exception):  # noqa: N818 - its text says what is at fault
    """A sidecar was not reached, or does not speak to this caller."""

    def __init__(self, text: str, *, answered: bool) -> None:
        super().__init__(text)
        self.answered = answered
        """Whether a sidecar said so itself."""


def fault_of(error: Any, address: Address, settings: Settings, *, key: str) -> ConnectionFault:
    """What a call met that ended with one of FAULTS; `key` says which address it is to be.

    Raises ConfigError where a file named by the settings is of no use.
    """
    target = settings.target
    match error.code():
        case grpc.StatusCode.UNAUTHENTICATED:
            said = "does not take the token that was sent" if settings.token else "wants a token"
            text = f"{target} {said}: name the file that has it (--token-file or token_file)"
            return ConnectionFault(text, answered=True)
        case grpc.StatusCode.UNIMPLEMENTED:
            text = f"{target} does not serve this: it is not the {key} of a sidecar"
            return ConnectionFault(text, answered=True)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return ConnectionFault(f"{target} did not answer in time", answered=False)
    if ending_of(error).reason:
        return ConnectionFault(f"{target}: {error.details()}", answered=True)
    found = _obstacle(address, settings, key)
    if found is None:
        found = f"{target} takes connections but does not answer: does a sidecar hang there?"
    return ConnectionFault(found, answered=False)


def _obstacle(address: Address, settings: Settings, key: str) -> str | None:
    """What stops a connection; None: nothing does, by now."""
    target = settings.target
    context = _context(settings)
    try:
        with dialled(address) as link:
            return None if address.path else _refusal(link, context, address.host, settings)
    except ssl.SSLCertVerificationError as error:
        right = (
            "ask it under a name that is in the certificate"
            if error.verify_code in NAME_MISMATCHES
            else "name the authority that signed it (--tls-server-ca-file or tls_server_ca_file)"
        )
        why = error.verify_message.rstrip(".")
        return f"the certificate of {target} is not accepted ({why}): {right}"
    except OSError as error:
        why = error.strerror or str(error)
        return (
            f"no sidecar answers at {target} ({why}); is `sidecar serve` running, "
            f"and is this its {key}?"
        )


def dialled(address: Address) -> socket.socket:
    """A connection to an address. Raises OSError."""
    if not address.path:
        return socket.create_connection((address.host, address.port), TRY_WITHIN_S)
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(TRY_WITHIN_S)
    try:
        link.connect(address.path)
    except OSError:
        link.close()
        raise
    return link


def _refusal(
    link: socket.socket, context: ssl.SSLContext, host: str, settings: Settings
) -> str | None:
    """What the other side has against a handshake, or this side against the other's certificate,
    which raises SSLCertVerificationError."""
    target = settings.target
    try:
        with context.wrap_socket(link, server_hostname=host) as secured:
            if not settings.root_certificates:
                return (
                    f"{target} speaks TLS: name the authority that signed its certificate "
                    "(--tls-server-ca-file or tls_server_ca_file)"
                )
            if _goes_on(secured):
                return None
    except ssl.SSLCertVerificationError:
        raise
    except TimeoutError:
        return None
    except ssl.SSLError:
        if not settings.root_certificates:
            return None
        return (
            f"{target} does not speak TLS: leave out --tls-server-ca-file, tls_server_ca_file "
            "and tls_certificate_file"
        )
    shown = f"not that of {settings.certificate}" if settings.certificate else "and got none"
    return (
        f"{target} wants a certificate that an authority it trusts has signed, {shown}: name one "
        "(--tls-client-certificate-file and --tls-client-key-file)"
    )


def _goes_on(secured: ssl.SSLSocket) -> bool:
    """Whether the other side keeps the connection: in TLS 1.3 it sees our certificate, and hangs
    up, after the handshake is over on this side."""
    with suppress(TimeoutError):
        return bool(secured.recv(1))
    return True


def _context(settings: Settings) -> ssl.SSLContext:
    """As gRPC has it. Raises ConfigError for a file that holds something else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if not settings.root_certificates:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    # A certificate vouches for itself, too: the sidecar's own may be given in place of a CA's.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(settings.root_certificates)
    except ssl.SSLError:
        raise ConfigError(f"{settings.root_certificates} holds no certificate in PEM") from None
    if settings.certificate:
        try:
            context.load_cert_chain(settings.certificate, settings.private_key)
        except ssl.SSLError:
            raise ConfigError(
                f"{settings.certificate} and {settings.private_key} are not a certificate in PEM "
                "and the key to it"
            ) from None
    return context
