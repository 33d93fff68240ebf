"""Who the spans are from, and which of them are wanted."""

import os
from typing import Final

from opentelemetry.sdk import environment_variables as otel
from opentelemetry.sdk.resources import (
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Sampler

from sidecar.adapters.telemetry.exporters import given

NAME: Final = "agent-sidecar"
SAMPLERS: Final = (
    *("always_on", "always_off", "traceidratio"),
    *("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"),
)
"""Those that the standard names and the SDK has."""


def resource(version: str, *, name: str = NAME) -> Resource:
    """This process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before our own words."""
    given = OTELResourceDetector().detect().attributes
    own = {SERVICE_NAME: name, SERVICE_VERSION: version}
    return Resource.create({name: value for name, value in own.items() if name not in given})


def sampler(named: Resource) -> Sampler:
    """The sampler that OTEL_TRACES_SAMPLER asks for.

    The SDK reads the variable only when it builds a provider. Raises ValueError where it cannot
    read one of its own variables, and for what it would pass over here: everything is then more
    than was asked for.
    """
    name = os.environ.get(
        otel.OTEL_TRACES_SAMPLER, ""
    )  # as the SDK takes it, with blanks around it
    if name.strip() and name.lower() not in SAMPLERS:
        raise ValueError(
            f"OTEL_TRACES_SAMPLER is {name!r}: it must be one of {', '.join(SAMPLERS)}"
        )
    share = given(otel.OTEL_TRACES_SAMPLER_ARG)
    if name.lower().endswith("ratio") and share and not _is_share(share):
        raise ValueError(
            f"OTEL_TRACES_SAMPLER_ARG is {share}: it must be a share from 0 to 1, such as 0.01"
        )
    return TracerProvider(resource=named, shutdown_on_exit=False).sampler


def _is_share(text: str) -> bool:
    try:
        return 0.0 <= float(text) <= 1.0
    except ValueError:
        return False
