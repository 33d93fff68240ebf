"""Where plain JSON is served, and to how many, as keys of the configuration."""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

AgentHttp: TypeAlias = Annotated[
    str,
    Meta(
        description="Unix socket, or address, on which agents are served plain JSON over HTTP; "
        "empty: none.",
        extra={"default": "the runtime directory's `agent-http.sock`"},
    ),
]
AgentHttpTcp: TypeAlias = Annotated[
    str, Meta(description="A second address for JSON from agents, over TCP; empty: none.")
]
AdminHttp: TypeAlias = Annotated[
    str,
    Meta(
        description="Address of the control plane as plain JSON over HTTP, and of `/statusz`: "
        "loopback or a Unix socket only; empty: none."
    ),
]

StreamsMax: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=65_536,
        description="Open streams, connections of each HTTP listener of agents, and watches of "
        "the health of each gRPC listener.",
    ),
]

DEFAULT_AGENT_HTTP_TCP: Final = "127.0.0.1:4301"
DEFAULT_ADMIN_HTTP: Final = "127.0.0.1:9465"
