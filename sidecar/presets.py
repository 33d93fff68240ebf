"""The named policies: `default`, and the four that keep founding numbers exactly.

A founding preset does what the system it comes from does: no nudge before a commit, no way back
from a trip without a person, every quoted name in an error masked. Where a run has limits, all
presets hold it to them.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from sidecar.core.breaker import Patience
from sidecar.core.digests.subjects import Subjects
from sidecar.core.directive import Action
from sidecar.core.limits import Limits
from sidecar.core.policy import Lens, Policy, Staging, Watch
from sidecar.core.reading import Severity
from sidecar.signals import SIGNALS
from sidecar.signals.circling import CIRCLING
from sidecar.signals.decline import DeclineThresholds
from sidecar.signals.divergence import DivergenceThresholds
from sidecar.signals.drift import DriftThresholds
from sidecar.signals.loop import FOUNDING as FOUNDING_LOOP
from sidecar.signals.max_turns import MaxTurnsThresholds
from sidecar.signals.spin import EXECUTE as EXECUTE_SPIN
from sidecar.signals.spin import FOUNDING as FOUNDING_SPIN
from sidecar.signals.stall import StallEvidence, StallThresholds
from sidecar.signals.token_overflow import TokenOverflowThresholds

TRIP_TURNS: Final = 3
"""Turns in a row without a break, one of them with progress, after which `default` takes a trip
back by itself: whoever works on again should not stay marked until a person comes by."""

FOUNDING_DECLINE: Final = DeclineThresholds(
    warning_ratio=0.5,
    break_ratio=0.7,
    baseline_turns=3,
    low_turns=1,
    window_ratio_min=None,
    score_warning=None,
    score_break=None,
)

FOUNDING_STALL: Final = StallThresholds(warning=3, break_=5, evidence=StallEvidence.FILES)

SPENDING: Final = TokenOverflowThresholds(window_notice_ratio=None, window_warning_ratio=None)
"""What is spent, and not the context window, which no founding system watches."""

BUDGETS: Final[Mapping[str, Any]] = MappingProxyType(
    {"max_turns": MaxTurnsThresholds(), "token_overflow": SPENDING}
)
"""Silent until a run has limits."""

GAIA_MAX_TURNS: Final = 20
GAIA_INPUT_TOKENS_MAX: Final = 120_000
"""The founding convergence layer's budgets."""


def _watches(thresholds: Mapping[str, Any]) -> tuple[Watch, ...]:
    return tuple(
        Watch(signal=signal, thresholds=thresholds[signal.name])
        for signal in SIGNALS
        if signal.name in thresholds
    )


def _founding(name: str, thresholds: Mapping[str, Any]) -> Policy:
    return Policy(
        name=name,
        watches=_watches({**BUDGETS, **thresholds}),
        patience=Patience(trip_turns=None),
        staging=Staging(nudge_first=False),
        lens=Lens(subjects=Subjects.MASKED),
    )


DEFAULT: Final = Policy(
    name="default",
    watches=_watches(
        {signal.name: signal.defaults for signal in SIGNALS if signal is not CIRCLING}
    ),
    patience=Patience(trip_turns=TRIP_TURNS),
)
"""All signals but the judge's, with thresholds that leave alone the recorded runs that end well."""

GAIA: Final = replace(
    _founding(
        "gaia",
        {
            "max_turns": MaxTurnsThresholds(warning_ratio=None),
            "token_overflow": replace(SPENDING, budget_warning_ratio=None),
            "loop": FOUNDING_LOOP,
        },
    ),
    limits=Limits(max_turns=GAIA_MAX_TURNS, input_tokens_max=GAIA_INPUT_TOKENS_MAX),
    revision="",
)
"""The founding convergence layer: three triggers, no warnings."""

AUTONOMOUS: Final = _founding(
    "autonomous",
    {
        "spin": FOUNDING_SPIN,
        "stall": FOUNDING_STALL,
        "decline": FOUNDING_DECLINE,
        "divergence": DivergenceThresholds(window=3, persistence=2),
        "drift": DriftThresholds(),
    },
)
"""The founding circuit breaker."""

DEBUG: Final = _founding(
    "debug",
    {
        **{watch.signal.name: watch.thresholds for watch in AUTONOMOUS.watches},
        "stall": replace(FOUNDING_STALL, warning=5, break_=8),
    },
)
"""The same with more patience for turns that change no file, as diagnosis does."""

EXECUTE: Final = replace(
    _founding("execute", {"spin": EXECUTE_SPIN}),
    on=MappingProxyType({Severity.WARNING: Action.ROTATE, Severity.BREAK: Action.ASK_USER}),
    revision="",
)
"""The founding profile for single tasks: the third equal error halts, and asks the user."""

_BY_NAME: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in (DEFAULT, GAIA, AUTONOMOUS, DEBUG, EXECUTE)}
)

PRESETS: Final[tuple[str, ...]] = tuple(_BY_NAME)
"""Their names, `default` first."""


def watching_judges(policy: Policy) -> Policy:
    """The policy with the signal of judges, under that signal's own defaults."""
    watches = (*policy.watches, Watch(signal=CIRCLING, thresholds=CIRCLING.defaults))
    return replace(policy, watches=watches, revision="")


def preset(name: str) -> Policy:
    """The policy of that name. Raises KeyError when there is none."""
    return _BY_NAME[name]
