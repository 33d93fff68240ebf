"""Who the spans are from, and which of them are wanted."""

from typing import Final

from opentelemetry.sdk.resources import (
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Sampler

NAME: Final = "agent-sidecar"


def resource(version: str, *, name: str = NAME) -> Resource:
    """This process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before our own words."""
    given = OTELResourceDetector().detect().attributes
    own = {SERVICE_NAME: name, SERVICE_VERSION: version}
    return Resource.create({name: value for name, value in own.items() if name not in given})


def sampler(named: Resource) -> Sampler:
    """The sampler that OTEL_TRACES_SAMPLER asks for.

    The SDK reads the variable only when it builds a provider. Raises ValueError where it cannot
    read one of its own variables.
    """
    return TracerProvider(resource=named, shutdown_on_exit=False).sampler
