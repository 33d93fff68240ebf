"""Answers over gRPC: found in text, forced out of a run, reviewed."""

from typing import Any

from sidecar.adapters.calls import AnswerCalls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.grpc.status import OneCall
from sidecar.ports import Recorder
from sidecar.v1 import answer_service_pb2 as pb


class AnswerService:
    """The servicer of AnswerService."""

    def __init__(
        self, calls: AnswerCalls, *, recorder: Recorder, authorization: Authorization
    ) -> None:
        self._calls = calls
        self._recorder = recorder
        self._authorization = authorization

    async def ExtractAnswer(  # noqa: N802
        self, request: pb.ExtractAnswerRequest, context: Any
    ) -> pb.ExtractAnswerResponse:
        """The final answer in a text or a history."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.extract(request)

    async def ForceCommit(  # noqa: N802
        self, request: pb.ForceCommitRequest, context: Any
    ) -> pb.ForceCommitResponse:
        """An answer now: the model's, else the history's, else none."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.force_commit(request, left_s=context.time_remaining())

    async def ReviewAnswer(  # noqa: N802
        self, request: pb.ReviewAnswerRequest, context: Any
    ) -> pb.ReviewAnswerResponse:
        """A second opinion."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.review(request, left_s=context.time_remaining())
