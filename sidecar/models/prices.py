"""What models cost: the prices shipped, and those that an operator gives."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from sidecar.core.value import value

DEFAULT_MODEL: Final = "claude-haiku-4-5"
"""For forced commits and the reference agent: small and quick, and it does not think unless asked
to, so that a few hundred tokens of output are enough."""

DEFAULT_REVIEW_MODEL: Final = "claude-sonnet-4-6"
"""For second opinions: larger than the agent's, as in the founding pair, and for the same reason
not one that always thinks."""

SEARCH_USD: Final = 0.01
"""Of one search of the web on the API's own side, beside its tokens: 10 US dollars for 1,000
(platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool)."""

TOKENS_PRICED: Final = 1_000_000
"""A price is for as many tokens."""


@value
class Price:
    """Of one model, in US dollars per million tokens."""

    input_usd: float
    output_usd: float
    cache_read_usd: float
    cache_write_usd: float
    """Kept for five minutes."""

    def cost_usd(
        self,
        *,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> float:
        """The cost of a call; `input_tokens` include those read from or written to a cache."""
        plain = max(0, input_tokens - cache_read_tokens - cache_write_tokens)
        total = (
            plain * self.input_usd
            + output_tokens * self.output_usd
            + cache_read_tokens * self.cache_read_usd
            + cache_write_tokens * self.cache_write_usd
        )
        return total / TOKENS_PRICED


def _price(input_usd: float, output_usd: float) -> Price:
    # The multipliers that the page below gives for all models listed here.
    return Price(
        input_usd=input_usd,
        output_usd=output_usd,
        cache_read_usd=input_usd * 0.1,
        cache_write_usd=input_usd * 1.25,
    )


PRICES_SOURCE: Final = "https://platform.claude.com/docs/en/about-claude/pricing"
PRICES_DATE: Final = "2026-11-21"
"""When the table was last held against the source."""

PRICES: Final[Mapping[str, Price]] = MappingProxyType(
    {
        "claude-haiku-4-5": _price(1.0, 5.0),
        "claude-haiku-4-5-20251001": _price(1.0, 5.0),
        "claude-sonnet-4-6": _price(3.0, 15.0),
        "claude-sonnet-5": _price(2.0, 10.0),
        "claude-opus-4-5": _price(5.0, 25.0),
        "claude-opus-4-5-20251101": _price(5.0, 25.0),
        "claude-opus-4-6": _price(5.0, 25.0),
        "claude-opus-4-7": _price(5.0, 25.0),
        "claude-opus-4-8": _price(5.0, 25.0),
        "claude-opus-5": _price(5.0, 25.0),
    }
)
"""Models with one price for requests of any length. One that is not here has no known price, and
what it costs is absent, not zero."""

PRICE_PATTERN: Final = (
    r"^[^=\s]+=[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?(/[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?)?$"
)
"""`<model>=<input>/<output>`, and after it `/<cache read>/<cache write>`."""


def prices_with(given: Iterable[str]) -> Mapping[str, Price]:
    """The shipped prices, and over them those given in the form of PRICE_PATTERN.

    Without prices for a cache the usual multiples of the input's are taken. Raises ValueError
    naming a word of another form.
    """
    return MappingProxyType({**PRICES, **dict(map(_read, given))})


def _read(word: str) -> tuple[str, Price]:
    if not re.match(PRICE_PATTERN, word):
        raise ValueError(f"{word!r} is no price: write <model>=<input>/<output>")
    model, _, numbers = word.partition("=")
    input_usd, output_usd, *cache = map(float, numbers.split("/"))
    if not cache:
        return model, _price(input_usd, output_usd)
    return model, Price(
        input_usd=input_usd,
        output_usd=output_usd,
        cache_read_usd=cache[0],
        cache_write_usd=cache[1],
    )
