"""What is read from files that nobody else should see, before anything listens."""

import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from sidecar.adapters.grpc.listener import Tls
from sidecar.adapters.sqlite_store import DATABASE
from sidecar.adapters.state_key import KEY_BYTES, KEY_NAME, load_key, put_back_key
from sidecar.config.keys import Config

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What callers over TCP are met with, and what the model's API is shown."""

    tls: Tls | None
    token: str
    """Empty: none is asked for."""
    http_tls: ssl.SSLContext | None = None
    """The same for callers over HTTP; None: plain."""
    model_key: str = ""
    """Empty: what the SDK finds by itself."""


def read_secrets(config: Config) -> Secrets:
    """The files that the configuration names. Raises OSError naming one that cannot be read."""
    tls = None
    if config.tls_certificate_file:
        ca = config.tls_client_ca_file
        tls = Tls(
            certificate=Path(config.tls_certificate_file).read_bytes(),
            key=Path(config.tls_key_file).read_bytes(),
            client_ca=Path(ca).read_bytes() if ca else None,
        )
    return Secrets(
        tls=tls,
        token=_word(config.token_file),
        http_tls=_http_tls(config),
        model_key=_word(config.model_key_file),
    )


def _http_tls(config: Config) -> ssl.SSLContext | None:
    if not config.tls_certificate_file:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(config.tls_certificate_file, config.tls_key_file)
    if config.tls_client_ca_file:
        context.load_verify_locations(config.tls_client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _word(name: str) -> str:
    return Path(name).read_text().strip() if name else ""


def put_back_digest_key(config: Config, key: bytes) -> None:
    """Keep the key beside a database that was begun anew; what is in the way goes to the log."""
    problem = put_back_key(Path(config.state_directory), key) if config.state_directory else None
    if problem:
        logger.warning("the key of the digests is not kept for the next start: %s", problem)


def digest_key(config: Config) -> tuple[bytes, str | None]:
    """The key of all digests, and what an operator should know of it, if anything."""
    if not config.state_directory:
        return os.urandom(KEY_BYTES), None
    directory = Path(config.state_directory)
    lost = (directory / DATABASE).exists() and not (directory / KEY_NAME).exists()
    key, problem = load_key(directory)
    if problem:
        return key, f"digests are kept under a key of this process only: {problem}"
    if lost:
        return key, (
            f"there was no {directory / KEY_NAME} to the digests in {DATABASE}, so a new one was "
            "made: what a run did before is not recognized when it comes again"
        )
    return key, None
