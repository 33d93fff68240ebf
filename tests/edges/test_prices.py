"""What models cost: the shipped prices, and an operator's."""

import pytest

from sidecar.models.prices import (
    DEFAULT_MODEL,
    DEFAULT_REVIEW_MODEL,
    PRICES,
    PRICES_DATE,
    PRICES_SOURCE,
    prices_with,
)


@pytest.mark.parametrize("name", [DEFAULT_MODEL, DEFAULT_REVIEW_MODEL])
def test_the_default_models_are_current_and_priced(name: str) -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS

    assert name not in DEPRECATED_MODELS
    assert name in PRICES


def test_no_price_is_shipped_for_a_deprecated_model_and_all_have_a_source_and_a_date() -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS

    assert not set(PRICES) & set(DEPRECATED_MODELS)
    assert PRICES_SOURCE.startswith("https://")
    assert len(PRICES_DATE) == len("2026-01-01")


def test_an_operators_prices_come_before_the_shipped() -> None:
    prices = prices_with([f"{DEFAULT_MODEL}=2/4", "local=0.5/1.5/0.1/0.2"])
    assert prices[DEFAULT_MODEL].cost_usd(input_tokens=1_000_000, output_tokens=1_000_000) == 6
    cost_usd = prices["local"].cost_usd(
        input_tokens=3_000_000,
        output_tokens=1_000_000,
        cache_read_tokens=1_000_000,
        cache_write_tokens=1_000_000,
    )
    assert cost_usd == pytest.approx(0.5 + 1.5 + 0.1 + 0.2)
    assert prices[DEFAULT_REVIEW_MODEL] == PRICES[DEFAULT_REVIEW_MODEL]


@pytest.mark.parametrize("word", ["", "a", "a=1", "a=1/", "a=-1/2", "a=1/2/3", "=1/2", "a=x/y"])
def test_a_word_that_is_no_price_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is no price"):
        prices_with([word])
