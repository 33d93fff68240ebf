"""What the models' API is shown, and where it is: looked at before the first call."""

import pytest

from sidecar.models.access import KEY_VARIABLES, access_fault, has_key


@pytest.mark.parametrize("variable", KEY_VARIABLES)
def test_a_key_is_known_to_be_there_by_its_variable(variable: str) -> None:
    assert has_key("", {variable: "set"})
    assert not has_key("", {variable: ""})
    assert not has_key("", {variable: " \n"})
    assert has_key("given", {})


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
@pytest.mark.parametrize("key", ["sk-a\nsk-b", "sk-\x7f", "sk-ü", "sk a"])
def test_a_key_that_no_header_can_carry_is_said_by_its_variable_and_not_shown(
    variable: str, key: str
) -> None:
    fault = access_fault("", "", {variable: key})
    assert fault == f"{variable} is not right: it must be printable ASCII characters without blanks"
    assert access_fault("given", "", {variable: key}) == ""
    good = {"ANTHROPIC_API_KEY": "sk-good\n", "ANTHROPIC_AUTH_TOKEN": key}
    assert access_fault("", "", good) == ""


@pytest.mark.parametrize(
    "address",
    ["localhost:9", "ftp://x", "http://", "http://[::1", "http://exa mple", "http://x:99999", "x"],
)
def test_an_address_that_is_none_is_said_by_its_variable(address: str) -> None:
    variables = {"ANTHROPIC_BASE_URL": address}
    fault = access_fault("", "", variables)
    assert fault.startswith(f"ANTHROPIC_BASE_URL = '{address}' is not right: it must be an address")
    assert access_fault("", "http://given", variables) == ""


@pytest.mark.parametrize("address", ["", " ", "http://[::1]:8080", "https://x/v1", "http://x \n"])
def test_an_address_over_http_or_none_is_right(address: str) -> None:
    assert access_fault("", "", {"ANTHROPIC_BASE_URL": address}) == ""
