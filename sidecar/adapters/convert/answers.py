"""Messages, and what answers came of them."""

from collections.abc import Sequence
from typing import Any, Final

from sidecar.adapters.convert.turns_out import duration
from sidecar.commit import Committed
from sidecar.core.answers.answer import Extraction, Source
from sidecar.review import Review, Verdict
from sidecar.v1 import answer_service_pb2 as pb

SOURCES: Final = {
    Source.NONE: pb.ANSWER_SOURCE_NONE,
    Source.TEXT: pb.ANSWER_SOURCE_TEXT,
    Source.HISTORY: pb.ANSWER_SOURCE_HISTORY,
    Source.MODEL: pb.ANSWER_SOURCE_MODEL,
}

VERDICTS: Final = {
    Verdict.PASS: pb.VERDICT_PASS,
    Verdict.FAIL: pb.VERDICT_FAIL,
    Verdict.UNCERTAIN: pb.VERDICT_UNCERTAIN,
}


def messages_in(wire: Sequence[pb.Message]) -> list[dict[str, Any]]:
    """Messages as agents and APIs write them."""
    return [{"role": message.role, "content": _content_in(message)} for message in wire]


def extraction_out(found: Extraction) -> pb.ExtractAnswerResponse:
    """What was found in a text or a history."""
    return pb.ExtractAnswerResponse(
        answer=found.answer,
        source=SOURCES[found.source],
        rule=found.rule or "",
        message_index=found.message_index,
        offset=found.offset,
    )


def committed_out(committed: Committed) -> pb.ForceCommitResponse:
    """What a forced commit came to."""
    spent = committed.spent
    return pb.ForceCommitResponse(
        answer=committed.answer,
        source=SOURCES[committed.source],
        signal=committed.signal,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_usd=spent.cost_usd,
        latency=duration(spent.latency_s),
        model_error=committed.model_error,
    )


def review_out(review: Review) -> pb.ReviewAnswerResponse:
    """A second opinion."""
    return pb.ReviewAnswerResponse(
        verdict=VERDICTS[review.verdict],
        reasoning=review.reasoning,
        suggested_revision=review.suggested_revision,
        cost_usd=review.spent.cost_usd,
        error=review.error,
        raw_response=review.raw_response,
    )


def _content_in(message: pb.Message) -> Any:
    if message.WhichOneof("content") == "blocks":
        return [_plain(value) for value in message.blocks.values]
    return message.text


def _plain(value: Any) -> Any:
    """A JSON value; protobuf has bounded its depth. A number that JSON has no word for stays one.

    Not by json_format, which raises for those.
    """
    kind = value.WhichOneof("kind")
    match kind:
        case "struct_value":
            return {name: _plain(field) for name, field in value.struct_value.fields.items()}
        case "list_value":
            return [_plain(each) for each in value.list_value.values]
        case None | "null_value":
            return None
    return getattr(value, kind)
