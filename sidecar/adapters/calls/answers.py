"""Answers: found in text, forced out of a run, reviewed."""

import asyncio
from typing import Final, TypeVar

from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import identifier
from sidecar.adapters.convert.answers import (
    committed_out,
    extraction_out,
    messages_in,
    review_out,
)
from sidecar.commit import ForceCommit
from sidecar.core.answers.answer import extract
from sidecar.core.policy import Policy
from sidecar.core.texts import messages_of
from sidecar.kept_texts import KeptTexts
from sidecar.ports import Recorder
from sidecar.refusal import Reason, Refusal
from sidecar.review import Reviewer
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import answer_service_pb2 as pb

LARGE_BYTES: Final = 16 * 1024
"""From here on a request is read by a thread: the event loop has agents to serve."""

REPLY_SHARE: Final = 0.1
REPLY_MAX_S: Final = 0.5
"""Of the caller's time, what is kept for the reply: a tenth, and no more than this."""

ERROR: Final = "error"
"""The verdict of a review that went wrong, in the metrics."""

R = TypeVar("R")


class AnswerCalls:
    """What a caller asks about answers. Every method raises Refusal."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        recall: Recall,
        force_commit: ForceCommit | None,
        reviewer: Reviewer | None,
        timeout_s: float,
        recorder: Recorder,
        texts: KeptTexts,
    ) -> None:
        """`force_commit` and `reviewer` are None where no model is configured. A model call takes
        `timeout_s` seconds at most. `texts` stands in for messages that a caller does not send."""
        self._sessions = sessions
        self._recall = recall
        self._force_commit = force_commit
        self._reviewer = reviewer
        self._timeout_s = timeout_s
        self._recorder = recorder
        self._texts = texts

    async def extract(self, request: pb.ExtractAnswerRequest) -> pb.ExtractAnswerResponse:
        """The final answer in a text or a history."""
        policy = self._policy(request.policy)
        if request.ByteSize() < LARGE_BYTES:
            return _extracted(request, policy)
        return await asyncio.to_thread(_extracted, request, policy)

    async def force_commit(
        self, request: pb.ForceCommitRequest, *, left_s: float | None = None
    ) -> pb.ForceCommitResponse:
        """An answer now: the model's, else the history's, else none. `left_s` are the seconds that
        the caller waits; None: for as long as it takes."""
        force_commit = _configured(self._force_commit)
        session = await self._session(identifier(request.session_id))
        policy = (
            session.facts.policy
            if session is not None and not request.policy
            else self._policy(request.policy)
        )
        messages = await asyncio.to_thread(messages_in, request.messages) or messages_of(
            self._texts.of(identifier(request.session_id))
        )
        if not (messages or request.question.strip()):
            raise Refusal(
                Reason.REQUEST_INVALID,
                "there is nothing to answer: no messages, no texts kept of the session, and no "
                "question",
                field="messages",
            )
        committed = await force_commit.commit(
            messages,
            question=request.question,
            answer_form=policy.answer_form,
            signal=session.ended_by if session is not None else "",
            session_id=identifier(request.session_id),
            timeout_s=self._time_s(left_s),
        )
        self._recorder.committed(committed.source.value, committed.signal)
        return committed_out(committed)

    async def review(
        self, request: pb.ReviewAnswerRequest, *, left_s: float | None = None
    ) -> pb.ReviewAnswerResponse:
        """A second opinion; `left_s` as for `force_commit`."""
        review = await _configured(self._reviewer).review(
            request.question,
            request.answer,
            list(request.trajectory),
            session_id=identifier(request.session_id),
            timeout_s=self._time_s(left_s),
        )
        self._recorder.reviewed(ERROR if review.error else review.verdict.value)
        return review_out(review)

    def _policy(self, name: str) -> Policy:
        try:
            return self._sessions.policies.named(name)
        except Refusal as refusal:
            raise Refusal(refusal.reason, refusal.message, field="policy") from None

    async def _session(self, session_id: str) -> Session | None:
        """The session where it is held: one that is not is no reason to give no answer."""
        if not session_id:
            return None
        async with self._recall.of(session_id) as found:
            return self._sessions.find(session_id, found)

    def _time_s(self, left_s: float | None) -> float:
        if left_s is None:
            return self._timeout_s
        return min(self._timeout_s, left_s - min(REPLY_MAX_S, left_s * REPLY_SHARE))


def _extracted(request: pb.ExtractAnswerRequest, policy: Policy) -> pb.ExtractAnswerResponse:
    looked_through = request.text or messages_in(request.messages)
    return extraction_out(extract(looked_through, (policy.answer_form,)))


def _configured(part: R | None) -> R:
    if part is None:
        raise Refusal(
            Reason.MODEL_NOT_CONFIGURED,
            "set ANTHROPIC_API_KEY or model_key_file; see docs/answers.md, and statusz for what is "
            "wrong with those that are set",
        )
    return part
