"""The run that one MCP session is bound to: its client, its history, and what its tools give."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import json_format
from google.protobuf.message import Message

from sidecar.client import AsyncClient, ClientOptions, Directive
from sidecar.client.channel import (
    async_channel_of,
    check_socket,
    ending_of,
    metadata_of,
)
from sidecar.client.decision import directive_of
from sidecar.client.intake import Intake
from sidecar.client.settings import Settings, settings_of
from sidecar.mcp.arguments import named, read_commit, read_report
from sidecar.mcp.history import History
from sidecar.v1 import answer_service_pb2
from sidecar.v1.answer_service_pb2_grpc import AnswerServiceStub

SETTLES_WITHIN_S: Final = 0.5
"""For a look whether the sidecar is there: connecting takes milliseconds."""

COMMIT_WITHIN_S: Final = 120.0
"""For an answer; the sidecar's own time for a model call is shorter, unless it is set otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What every run of this process is opened with."""

    address: str | None
    """Of the sidecar; None: as the client finds it."""
    options: ClientOptions


class Run:
    """One sidecar session. For one event loop."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._client = AsyncClient(terms.address, **terms.options)
        self._session_id = self._client.session_id
        self._history = self._new_history()
        self._began_s = time.time()
        # A run has one turn at a time; a host may call tools side by side.
        self._one_at_a_time = asyncio.Lock()

    async def report(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`report_turn`: the decision, and what an agent needs beside it."""
        async with self._one_at_a_time:
            ended_s = time.time()
            report = read_report(arguments, began_s=self._began_s, ended_s=ended_s)
            self._began_s = ended_s
            # Of a caller who leaves: the turn is reported, and the client keeps what answers it for
            # the next report.
            directive = Directive()
            try:
                directive = await self._client.turn(**report.fields)
            finally:
                self._follow_session()
                self._history.add(report.turn, directive)
        return _told(directive, report.ignored)

    async def status(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`get_status`: where the run stands, as far as it is known here."""
        connected = await self._client.wait_until_settled(SETTLES_WITHIN_S)
        latest = self._history.latest
        return {
            "session_id": self._client.session_id,
            "connected": connected,
            "state": directive_of(latest, late=False, reason=None).state,
            "last_sequence": self._history.sequence,
            "readings": _json(latest).get("readings", []),
            "give_ups": self._client.give_ups,
            "ignored": list(named(arguments, Intake())),
        }

    async def commit(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`request_commit`: an answer from the sidecar's model, within its bounds, or why not."""
        request, ignored = read_commit(arguments, session_id=self._client.session_id)
        refusal, retry_after_s = "", 0.0
        answer = answer_service_pb2.ForceCommitResponse()
        try:
            async with _channel(self._settings()) as (channel, metadata):
                stub: Any = AnswerServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
                # Shielded: grpc makes a cancellation into one of its own, which the SDK does not
                # know for its host's, so that the server ends. The call ends with its channel.
                answer = await asyncio.shield(
                    stub.ForceCommit(request, timeout=COMMIT_WITHIN_S, metadata=metadata)
                )
        except grpc.aio.AioRpcError as error:
            ending = ending_of(error)
            refusal, retry_after_s = ending.description, ending.retry_delay_s
        except (OSError, ValueError) as error:  # no socket, or a certificate that is none
            refusal = f"no sidecar: {error}"
        told = {"refusal": refusal, "retry_after_s": retry_after_s, "ignored": list(ignored)}
        return _json(answer) | told

    def explanation(self) -> str:
        """The run explained, as Markdown."""
        return self._history.explanation(self._client.session_id)

    async def close(self) -> None:
        """Closes the session; the agent's run is over."""
        await self._client.close()

    def _follow_session(self) -> None:
        """Begins a history anew where the client had to go on under another name."""
        if self._client.session_id != self._session_id:
            self._session_id = self._client.session_id
            self._history = self._new_history()

    def _new_history(self) -> History:
        return History(policy=self._terms.options.get("policy", ""))

    def _settings(self) -> Settings:
        """How the client itself speaks to the sidecar. Raises ValueError where it cannot."""
        settings = settings_of(self._terms.address, self._terms.options, Intake())
        if not settings.target:
            raise ValueError(settings.target_fault)
        return settings


@asynccontextmanager
async def _channel(
    settings: Settings,
) -> AsyncIterator[tuple[grpc.aio.Channel, tuple[tuple[str, str | bytes], ...]]]:
    check_socket(settings)
    async with async_channel_of(settings) as channel:
        yield channel, metadata_of(settings)


def _told(directive: Directive, ignored: tuple[str, ...]) -> dict[str, Any]:
    # Without a decision it is what a decision without a directive means: proceed.
    decision = {"proceed": {}} if directive.decision is None else _json(directive.decision)
    return decision | {
        "kind": directive.kind.value,
        "instruction": directive.instruction,
        "late": directive.late,
        "fail_open_reason": directive.fail_open_reason or "",
        "ignored": list(ignored),
    }


def _json(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found
