import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AnswerSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_SOURCE_UNSPECIFIED: _ClassVar[AnswerSource]
    ANSWER_SOURCE_NONE: _ClassVar[AnswerSource]
    ANSWER_SOURCE_TEXT: _ClassVar[AnswerSource]
    ANSWER_SOURCE_HISTORY: _ClassVar[AnswerSource]
    ANSWER_SOURCE_MODEL: _ClassVar[AnswerSource]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_PASS: _ClassVar[Verdict]
    VERDICT_FAIL: _ClassVar[Verdict]
    VERDICT_UNCERTAIN: _ClassVar[Verdict]
ANSWER_SOURCE_UNSPECIFIED: AnswerSource
ANSWER_SOURCE_NONE: AnswerSource
ANSWER_SOURCE_TEXT: AnswerSource
ANSWER_SOURCE_HISTORY: AnswerSource
ANSWER_SOURCE_MODEL: AnswerSource
VERDICT_UNSPECIFIED: Verdict
VERDICT_PASS: Verdict
VERDICT_FAIL: Verdict
VERDICT_UNCERTAIN: Verdict

class Message(_message.Message):
    __slots__ = ("role", "text", "blocks")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    role: str
    text: str
    blocks: _struct_pb2.ListValue
    def __init__(self, role: _Optional[str] = ..., text: _Optional[str] = ..., blocks: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ...) -> None: ...

class ExtractAnswerRequest(_message.Message):
    __slots__ = ("text", "messages", "policy")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    text: str
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    policy: str
    def __init__(self, text: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., policy: _Optional[str] = ...) -> None: ...

class ExtractAnswerResponse(_message.Message):
    __slots__ = ("answer", "source", "rule", "message_index", "offset")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    answer: str
    source: AnswerSource
    rule: str
    message_index: int
    offset: int
    def __init__(self, answer: _Optional[str] = ..., source: _Optional[_Union[AnswerSource, str]] = ..., rule: _Optional[str] = ..., message_index: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ForceCommitRequest(_message.Message):
    __slots__ = ("session_id", "question", "messages", "policy")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    question: str
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    policy: str
    def __init__(self, session_id: _Optional[str] = ..., question: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., policy: _Optional[str] = ...) -> None: ...

class ForceCommitResponse(_message.Message):
    __slots__ = ("answer", "source", "signal", "input_tokens", "output_tokens", "cost_usd", "latency", "model_error")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    MODEL_ERROR_FIELD_NUMBER: _ClassVar[int]
    answer: str
    source: AnswerSource
    signal: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    latency: _duration_pb2.Duration
    model_error: str
    def __init__(self, answer: _Optional[str] = ..., source: _Optional[_Union[AnswerSource, str]] = ..., signal: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost_usd: _Optional[float] = ..., latency: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., model_error: _Optional[str] = ...) -> None: ...

class ReviewAnswerRequest(_message.Message):
    __slots__ = ("question", "answer", "trajectory", "session_id")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    question: str
    answer: str
    trajectory: _containers.RepeatedScalarFieldContainer[str]
    session_id: str
    def __init__(self, question: _Optional[str] = ..., answer: _Optional[str] = ..., trajectory: _Optional[_Iterable[str]] = ..., session_id: _Optional[str] = ...) -> None: ...

class ReviewAnswerResponse(_message.Message):
    __slots__ = ("verdict", "reasoning", "suggested_revision", "cost_usd", "error", "raw_response")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RAW_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    reasoning: str
    suggested_revision: str
    cost_usd: float
    error: bool
    raw_response: str
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., reasoning: _Optional[str] = ..., suggested_revision: _Optional[str] = ..., cost_usd: _Optional[float] = ..., error: _Optional[bool] = ..., raw_response: _Optional[str] = ...) -> None: ...
