"""The keys about models: their types and meanings, for `sidecar.config.keys`."""

from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

from sidecar.models.prices import PRICE_PATTERN

TOKENS_MAX: Final = 10_000_000_000
COST_MAX: Final = 1_000_000.0

ModelName = Annotated[
    str, Meta(min_length=1, description="Model of forced commits and of the reference agent.")
]
ReviewModelName = Annotated[str, Meta(min_length=1, description="Model of `ReviewAnswer`.")]
ModelBaseUrl = Annotated[
    str,
    Meta(
        pattern="^(https?://.+)?$",
        description="Address of the Messages API; empty: `ANTHROPIC_BASE_URL`, or the public one.",
        extra={"expected": "an address that begins with http:// or https://, or empty"},
    ),
]
ModelKeyFile = Annotated[
    str,
    Meta(
        description="File with the API key; empty: what the SDK finds in its standard variables "
        "(`ANTHROPIC_API_KEY`, ...). With neither, no model is configured."
    ),
]
ModelTimeout = Annotated[
    float,
    Meta(
        gt=0,
        le=3600,
        description="Seconds of one model call, repeated attempts included; less where the caller "
        "has less.",
    ),
]
ModelWindow = Annotated[
    int,
    Meta(
        ge=4_096,
        le=100_000_000,
        description="Tokens that a request and its reply may take together; a longer history is "
        "shortened.",
    ),
]
ModelOutput = Annotated[
    int,
    Meta(
        ge=64,
        le=1_000_000,
        description="Tokens that a model may produce in a forced commit, a review or a verdict of "
        "the judge, less than `model_window_tokens`. One that always thinks needs some thousands.",
    ),
]
ModelPrices = Annotated[
    tuple[Annotated[str, Meta(pattern=PRICE_PATTERN)], ...],
    Meta(
        description="Prices in US dollars per million tokens, over those shipped: "
        "`<model>=<input>/<output>`, or with `/<cache read>/<cache write>` after it; each model "
        "once.",
        extra={"expected": "a list of <model>=<input>/<output> in US dollars per million tokens"},
    ),
]


def _calls(whose: str) -> Meta:
    return Meta(ge=0, le=1_000_000_000, description=f"Model calls {whose} in a UTC day.")


def _tokens(whose: str) -> Meta:
    return Meta(
        ge=0,
        le=TOKENS_MAX,
        description=f"Tokens of model calls {whose} in a UTC day, sent and received. What bounds "
        "models without a known price.",
    )


def _cost(whose: str) -> Meta:
    return Meta(ge=0, le=COST_MAX, description=f"US dollars for model calls {whose} in a UTC day.")


_ALL: Final = "over all callers"
_SESSION: Final = "for one session"

ModelCallsMax = Annotated[int, _calls(_ALL)]
ModelTokensMax = Annotated[int, _tokens(_ALL)]
ModelCostMax = Annotated[float, _cost(_ALL)]
SessionModelCallsMax = Annotated[int, _calls(_SESSION)]
SessionModelTokensMax = Annotated[int, _tokens(_SESSION)]
SessionModelCostMax = Annotated[float, _cost(_SESSION)]
ModelConcurrencyMax = Annotated[
    int,
    Meta(
        ge=1,
        le=65_536,
        description="Model calls under way at a time; at least 2 with a judge, which leaves one "
        "place to the others.",
    ),
]

TextsKept = Annotated[
    int,
    Meta(
        ge=0,
        le=1024**4,
        description="Bytes of the texts of the latest turns kept in memory, over all sessions, for "
        "forced commits without messages and for the judge; never written anywhere. 0: none are.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The judge of runs that go round in meaning; off without a model."""

    model: Annotated[
        str, Meta(description="Model that judges whether runs go round in meaning; empty: none.")
    ] = ""
    every_turns: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Turns between two verdicts on a run.")
    ] = 10
    from_turn: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Turns from which a run is long enough to be judged; one that something "
            "is wrong with is judged after `judge.every_turns`.",
        ),
    ] = 15
    cost_usd_max: Annotated[
        float, Meta(ge=0, le=COST_MAX, description="US dollars for the judge in a UTC day.")
    ] = 1.0
