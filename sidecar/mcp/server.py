"""The MCP server of one run: three tools and a resource. Start reading here.

A server speaks for one run only, so no tool has to be told which, and none can be told another.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from sidecar.mcp import schemas
from sidecar.mcp.message_schema import Schema
from sidecar.mcp.run import Run
from sidecar.version import VERSION

EXPLANATION: Final = "sidecar://run/explanation"
MARKDOWN: Final = "text/markdown"

INSTRUCTIONS: Final = (
    "A sidecar watches this run for loops, repeated errors and standstill. Call report_turn once "
    "after each turn of work (a model call and the tool calls that came of it), with the tool "
    "calls and what came of them, and do what its `kind` and `instruction` say: proceed (go on), "
    "rotate (try another approach), commit (answer now with what is known), halt (stop). When the "
    "sidecar is away it says proceed: go on as usual."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool."""

    description: str
    takes: Schema
    gives: Schema
    call: Callable[[Run, Mapping[str, Any]], Awaitable[dict[str, Any]]]
    read_only: bool


TOOLS: Final = MappingProxyType(
    {
        "report_turn": Offer(
            description="Reports the turn that has just ended; returns what to do now. Every "
            "argument is optional: what is left out is unknown, not zero.",
            takes=schemas.taking(schemas.TURN),
            gives=schemas.decision(),
            call=Run.report,
            read_only=False,
        ),
        "get_status": Offer(
            description="Says where this run stands: the breaker's state, the readings of the "
            "last decision, and whether the sidecar is there.",
            takes=schemas.taking(MappingProxyType({})),
            gives=schemas.status(),
            call=Run.status,
            read_only=True,
        ),
        "request_commit": Offer(
            description="Asks the sidecar's own model for a final answer from the conversation "
            "given, without tools and within the bounds that its operator has set.",
            takes=schemas.taking(schemas.COMMIT),
            gives=schemas.committed(),
            call=Run.commit,
            read_only=False,
        ),
    }
)


def server_of(run: Run) -> Server[Any]:
    """The server of this run."""

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name, offer) for name, offer in TOOLS.items()])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _called(run, params)

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[RESOURCE])

    async def read_resource(
        _: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return _read(run, params.uri)

    return Server(
        "sidecar",
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


RESOURCE: Final = types.Resource(
    name="explanation",
    uri=EXPLANATION,
    description="This run as the sidecar sees it: its turns, the approaches tried, what was said "
    "and why.",
    mime_type=MARKDOWN,
)


async def _called(run: Run, params: types.CallToolRequestParams) -> types.CallToolResult:
    offer = TOOLS.get(params.name)
    if offer is None:
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"no tool {params.name[:64]!r}; there are {', '.join(TOOLS)}",
        )
    found = await offer.call(run, params.arguments or {})
    # As text too, for hosts that know no structured content.
    text = types.TextContent(text=json.dumps(found, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=found)


def _read(run: Run, uri: str) -> types.ReadResourceResult:
    if uri != EXPLANATION:
        raise MCPError(
            code=types.INVALID_PARAMS, message=f"no such resource; there is {EXPLANATION}"
        )
    text = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=run.explanation())
    return types.ReadResourceResult(contents=[text])


def _tool(name: str, offer: Offer) -> types.Tool:
    return types.Tool(
        name=name,
        description=offer.description,
        input_schema=offer.takes,
        output_schema=offer.gives,
        annotations=types.ToolAnnotations(
            read_only_hint=offer.read_only, destructive_hint=False, open_world_hint=False
        ),
    )
