"""What the models' API is shown and where it is, as the SDK's standard variables have it.

It is looked at before the first call: with a key that no header can carry, every call would fail,
as if the API were not there.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
BEARER_VARIABLE: Final = "ANTHROPIC_AUTH_TOKEN"

KEY_VARIABLES: Final = (
    KEY_VARIABLE,
    BEARER_VARIABLE,
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_FEDERATION_RULE_ID",
)
"""Any of them gives the SDK something to show to the API."""

BASE_URL_VARIABLE: Final = "ANTHROPIC_BASE_URL"

KEY_EXPECTED: Final = "printable ASCII characters without blanks"
BASE_URL_EXPECTED: Final = "an address that begins with http:// or https:// and names a host"


def said_by(variable: str, environment: Mapping[str, str]) -> str:
    """What a variable says, without the white space around it: a mounted secret ends in a line
    break. Empty: nothing."""
    return environment.get(variable, "").strip()


def has_key(api_key: str, environment: Mapping[str, str]) -> bool:
    """Whether there is anything to show to the API: known without importing the SDK."""
    return bool(api_key) or any(said_by(variable, environment) for variable in KEY_VARIABLES)


def is_key(text: str) -> bool:
    """Whether a header can carry it."""
    return text.isascii() and text.isprintable() and " " not in text


def is_base_url(text: str) -> bool:
    """Whether it is an address over HTTP."""
    try:
        target = urlsplit(text)
        named = bool(target.hostname) and target.port != 0
    except ValueError:  # a port, or an address of IPv6, that is none
        return False
    return target.scheme in ("http", "https") and named and is_key(text)


def access_fault(api_key: str, base_url: str, environment: Mapping[str, str]) -> str:
    """What is wrong in the variables for the key and the address, where no other is given; empty:
    nothing, or they are not set."""
    variable = next((each for each in KEY_VARIABLES if said_by(each, environment)), "")
    is_sent = not api_key and variable in (KEY_VARIABLE, BEARER_VARIABLE)
    if is_sent and not is_key(said_by(variable, environment)):
        return f"{variable} is not right: it must be {KEY_EXPECTED}"
    address = "" if base_url else said_by(BASE_URL_VARIABLE, environment)
    if address and not is_base_url(address):
        return f"{BASE_URL_VARIABLE} = {address!r} is not right: it must be {BASE_URL_EXPECTED}"
    return ""
