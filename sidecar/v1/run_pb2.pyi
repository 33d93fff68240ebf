import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_ENFORCE: _ClassVar[Mode]
    MODE_OBSERVE: _ClassVar[Mode]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_OK: _ClassVar[Outcome]
    OUTCOME_ERROR: _ClassVar[Outcome]
    OUTCOME_DENIED: _ClassVar[Outcome]

class ResultKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESULT_KIND_UNSPECIFIED: _ClassVar[ResultKind]
    RESULT_KIND_PLAIN: _ClassVar[ResultKind]
    RESULT_KIND_EMPTY: _ClassVar[ResultKind]
    RESULT_KIND_ACKNOWLEDGEMENT: _ClassVar[ResultKind]
    RESULT_KIND_RUNNING: _ClassVar[ResultKind]

class CallKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_KIND_UNSPECIFIED: _ClassVar[CallKind]
    CALL_KIND_PLAIN: _ClassVar[CallKind]
    CALL_KIND_WAIT: _ClassVar[CallKind]
    CALL_KIND_OVERVIEW: _ClassVar[CallKind]
    CALL_KIND_NAVIGATION: _ClassVar[CallKind]
    CALL_KIND_WRITE: _ClassVar[CallKind]
    CALL_KIND_PRESS: _ClassVar[CallKind]

class RunOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_OUTCOME_UNSPECIFIED: _ClassVar[RunOutcome]
    RUN_OUTCOME_SUCCEEDED: _ClassVar[RunOutcome]
    RUN_OUTCOME_FAILED: _ClassVar[RunOutcome]
    RUN_OUTCOME_CANCELLED: _ClassVar[RunOutcome]

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_UNSPECIFIED: _ClassVar[State]
    STATE_HEALTHY: _ClassVar[State]
    STATE_WARNING: _ClassVar[State]
    STATE_TRIPPED: _ClassVar[State]
    STATE_RECOVERY: _ClassVar[State]

class Severity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEVERITY_UNSPECIFIED: _ClassVar[Severity]
    SEVERITY_WARNING: _ClassVar[Severity]
    SEVERITY_BREAK: _ClassVar[Severity]

class Cause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAUSE_UNSPECIFIED: _ClassVar[Cause]
    CAUSE_TURN: _ClassVar[Cause]
    CAUSE_OPERATOR: _ClassVar[Cause]
    CAUSE_IDLE: _ClassVar[Cause]
    CAUSE_JUDGE: _ClassVar[Cause]

class JudgeFinding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JUDGE_FINDING_UNSPECIFIED: _ClassVar[JudgeFinding]
    JUDGE_FINDING_PROGRESSING: _ClassVar[JudgeFinding]
    JUDGE_FINDING_CIRCLING: _ClassVar[JudgeFinding]
    JUDGE_FINDING_FINISHED: _ClassVar[JudgeFinding]
    JUDGE_FINDING_UNSURE: _ClassVar[JudgeFinding]
MODE_UNSPECIFIED: Mode
MODE_ENFORCE: Mode
MODE_OBSERVE: Mode
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_OK: Outcome
OUTCOME_ERROR: Outcome
OUTCOME_DENIED: Outcome
RESULT_KIND_UNSPECIFIED: ResultKind
RESULT_KIND_PLAIN: ResultKind
RESULT_KIND_EMPTY: ResultKind
RESULT_KIND_ACKNOWLEDGEMENT: ResultKind
RESULT_KIND_RUNNING: ResultKind
CALL_KIND_UNSPECIFIED: CallKind
CALL_KIND_PLAIN: CallKind
CALL_KIND_WAIT: CallKind
CALL_KIND_OVERVIEW: CallKind
CALL_KIND_NAVIGATION: CallKind
CALL_KIND_WRITE: CallKind
CALL_KIND_PRESS: CallKind
RUN_OUTCOME_UNSPECIFIED: RunOutcome
RUN_OUTCOME_SUCCEEDED: RunOutcome
RUN_OUTCOME_FAILED: RunOutcome
RUN_OUTCOME_CANCELLED: RunOutcome
STATE_UNSPECIFIED: State
STATE_HEALTHY: State
STATE_WARNING: State
STATE_TRIPPED: State
STATE_RECOVERY: State
SEVERITY_UNSPECIFIED: Severity
SEVERITY_WARNING: Severity
SEVERITY_BREAK: Severity
CAUSE_UNSPECIFIED: Cause
CAUSE_TURN: Cause
CAUSE_OPERATOR: Cause
CAUSE_IDLE: Cause
CAUSE_JUDGE: Cause
JUDGE_FINDING_UNSPECIFIED: JudgeFinding
JUDGE_FINDING_PROGRESSING: JudgeFinding
JUDGE_FINDING_CIRCLING: JudgeFinding
JUDGE_FINDING_FINISHED: JudgeFinding
JUDGE_FINDING_UNSURE: JudgeFinding

class Limits(_message.Message):
    __slots__ = ("max_turns", "input_tokens_max", "cost_usd_max", "duration_max")
    MAX_TURNS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    COST_USD_MAX_FIELD_NUMBER: _ClassVar[int]
    DURATION_MAX_FIELD_NUMBER: _ClassVar[int]
    max_turns: int
    input_tokens_max: int
    cost_usd_max: float
    duration_max: _duration_pb2.Duration
    def __init__(self, max_turns: _Optional[int] = ..., input_tokens_max: _Optional[int] = ..., cost_usd_max: _Optional[float] = ..., duration_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GiveUp(_message.Message):
    __slots__ = ("reason", "count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: str
    count: int
    def __init__(self, reason: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class Open(_message.Message):
    __slots__ = ("session_id", "agent_name", "agent_version", "model", "policy", "limits", "mode", "previous_session_id", "first_available_sequence", "client_instance", "give_ups", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_AVAILABLE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CLIENT_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    GIVE_UPS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    agent_name: str
    agent_version: str
    model: str
    policy: str
    limits: Limits
    mode: Mode
    previous_session_id: str
    first_available_sequence: int
    client_instance: str
    give_ups: _containers.RepeatedCompositeFieldContainer[GiveUp]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, session_id: _Optional[str] = ..., agent_name: _Optional[str] = ..., agent_version: _Optional[str] = ..., model: _Optional[str] = ..., policy: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., mode: _Optional[_Union[Mode, str]] = ..., previous_session_id: _Optional[str] = ..., first_available_sequence: _Optional[int] = ..., client_instance: _Optional[str] = ..., give_ups: _Optional[_Iterable[_Union[GiveUp, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens", "context_tokens", "context_window", "cost_usd")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_WINDOW_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_write_input_tokens: int
    context_tokens: int
    context_window: int
    cost_usd: float
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cache_read_input_tokens: _Optional[int] = ..., cache_write_input_tokens: _Optional[int] = ..., context_tokens: _Optional[int] = ..., context_window: _Optional[int] = ..., cost_usd: _Optional[float] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json", "arguments_digest", "outcome", "result_text", "result_digest", "result_kind", "duration", "call_kind", "error_position_digest")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RESULT_TEXT_FIELD_NUMBER: _ClassVar[int]
    RESULT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULT_KIND_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    CALL_KIND_FIELD_NUMBER: _ClassVar[int]
    ERROR_POSITION_DIGEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    arguments_digest: str
    outcome: Outcome
    result_text: str
    result_digest: str
    result_kind: ResultKind
    duration: _duration_pb2.Duration
    call_kind: CallKind
    error_position_digest: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., arguments_digest: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., result_text: _Optional[str] = ..., result_digest: _Optional[str] = ..., result_kind: _Optional[_Union[ResultKind, str]] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., call_kind: _Optional[_Union[CallKind, str]] = ..., error_position_digest: _Optional[str] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("kind", "message", "fingerprint", "fingerprint_strict")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_STRICT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    fingerprint: str
    fingerprint_strict: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ..., fingerprint: _Optional[str] = ..., fingerprint_strict: _Optional[str] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("files_changed", "files_changed_outside_plan", "tasks_completed", "tasks_aligned", "tests_passed", "tests_failed", "test_coverage_ratio")
    FILES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    FILES_CHANGED_OUTSIDE_PLAN_FIELD_NUMBER: _ClassVar[int]
    TASKS_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    TASKS_ALIGNED_FIELD_NUMBER: _ClassVar[int]
    TESTS_PASSED_FIELD_NUMBER: _ClassVar[int]
    TESTS_FAILED_FIELD_NUMBER: _ClassVar[int]
    TEST_COVERAGE_RATIO_FIELD_NUMBER: _ClassVar[int]
    files_changed: int
    files_changed_outside_plan: int
    tasks_completed: int
    tasks_aligned: int
    tests_passed: int
    tests_failed: int
    test_coverage_ratio: float
    def __init__(self, files_changed: _Optional[int] = ..., files_changed_outside_plan: _Optional[int] = ..., tasks_completed: _Optional[int] = ..., tasks_aligned: _Optional[int] = ..., tests_passed: _Optional[int] = ..., tests_failed: _Optional[int] = ..., test_coverage_ratio: _Optional[float] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("sequence", "id", "start_time", "end_time", "traceparent", "actor", "directive_seen", "user_input", "usage", "tool_calls", "failures", "text", "text_digest", "output_lines", "progress", "confidence", "reward", "approach", "final_answer", "text_repeats", "text_length")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_SEEN_FIELD_NUMBER: _ClassVar[int]
    USER_INPUT_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_LINES_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    APPROACH_FIELD_NUMBER: _ClassVar[int]
    FINAL_ANSWER_FIELD_NUMBER: _ClassVar[int]
    TEXT_REPEATS_FIELD_NUMBER: _ClassVar[int]
    TEXT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    id: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    traceparent: str
    actor: str
    directive_seen: int
    user_input: bool
    usage: Usage
    tool_calls: _containers.RepeatedCompositeFieldContainer[ToolCall]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    text: str
    text_digest: str
    output_lines: int
    progress: Progress
    confidence: float
    reward: float
    approach: str
    final_answer: str
    text_repeats: int
    text_length: int
    def __init__(self, sequence: _Optional[int] = ..., id: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., traceparent: _Optional[str] = ..., actor: _Optional[str] = ..., directive_seen: _Optional[int] = ..., user_input: _Optional[bool] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., tool_calls: _Optional[_Iterable[_Union[ToolCall, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ..., text: _Optional[str] = ..., text_digest: _Optional[str] = ..., output_lines: _Optional[int] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., confidence: _Optional[float] = ..., reward: _Optional[float] = ..., approach: _Optional[str] = ..., final_answer: _Optional[str] = ..., text_repeats: _Optional[int] = ..., text_length: _Optional[int] = ...) -> None: ...

class Reading(_message.Message):
    __slots__ = ("signal", "severity", "value", "threshold", "summary")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    signal: str
    severity: Severity
    value: float
    threshold: float
    summary: str
    def __init__(self, signal: _Optional[str] = ..., severity: _Optional[_Union[Severity, str]] = ..., value: _Optional[float] = ..., threshold: _Optional[float] = ..., summary: _Optional[str] = ...) -> None: ...

class Proceed(_message.Message):
    __slots__ = ("notice",)
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    notice: str
    def __init__(self, notice: _Optional[str] = ...) -> None: ...

class Rotate(_message.Message):
    __slots__ = ("instruction", "approaches_tried", "suggestions", "wait_max")
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    APPROACHES_TRIED_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    WAIT_MAX_FIELD_NUMBER: _ClassVar[int]
    instruction: str
    approaches_tried: _containers.RepeatedScalarFieldContainer[str]
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    wait_max: _duration_pb2.Duration
    def __init__(self, instruction: _Optional[str] = ..., approaches_tried: _Optional[_Iterable[str]] = ..., suggestions: _Optional[_Iterable[str]] = ..., wait_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Commit(_message.Message):
    __slots__ = ("instruction", "handover")
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    HANDOVER_FIELD_NUMBER: _ClassVar[int]
    instruction: str
    handover: bool
    def __init__(self, instruction: _Optional[str] = ..., handover: _Optional[bool] = ...) -> None: ...

class Halt(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Rejection(_message.Message):
    __slots__ = ("reason", "field", "description")
    REASON_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    reason: str
    field: str
    description: str
    def __init__(self, reason: _Optional[str] = ..., field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("decision_id", "sequence", "cause", "state", "readings", "proceed", "rotate", "commit", "halt", "overridden", "rejection", "policy_revision")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    READINGS_FIELD_NUMBER: _ClassVar[int]
    PROCEED_FIELD_NUMBER: _ClassVar[int]
    ROTATE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    HALT_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    sequence: int
    cause: Cause
    state: State
    readings: _containers.RepeatedCompositeFieldContainer[Reading]
    proceed: Proceed
    rotate: Rotate
    commit: Commit
    halt: Halt
    overridden: bool
    rejection: Rejection
    policy_revision: str
    def __init__(self, decision_id: _Optional[str] = ..., sequence: _Optional[int] = ..., cause: _Optional[_Union[Cause, str]] = ..., state: _Optional[_Union[State, str]] = ..., readings: _Optional[_Iterable[_Union[Reading, _Mapping]]] = ..., proceed: _Optional[_Union[Proceed, _Mapping]] = ..., rotate: _Optional[_Union[Rotate, _Mapping]] = ..., commit: _Optional[_Union[Commit, _Mapping]] = ..., halt: _Optional[_Union[Halt, _Mapping]] = ..., overridden: _Optional[bool] = ..., rejection: _Optional[_Union[Rejection, _Mapping]] = ..., policy_revision: _Optional[str] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ("outcome", "final_answer", "reason")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FINAL_ANSWER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    outcome: RunOutcome
    final_answer: str
    reason: str
    def __init__(self, outcome: _Optional[_Union[RunOutcome, str]] = ..., final_answer: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ("after_sequence", "reset", "idle", "verdict")
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    after_sequence: int
    reset: ResetCommand
    idle: IdleCommand
    verdict: VerdictCommand
    def __init__(self, after_sequence: _Optional[int] = ..., reset: _Optional[_Union[ResetCommand, _Mapping]] = ..., idle: _Optional[_Union[IdleCommand, _Mapping]] = ..., verdict: _Optional[_Union[VerdictCommand, _Mapping]] = ..., **kwargs) -> None: ...

class ContinueCommand(_message.Message):
    __slots__ = ("reason", "extra_turns", "extra_input_tokens", "request_id")
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_TURNS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    reason: str
    extra_turns: int
    extra_input_tokens: int
    request_id: str
    def __init__(self, reason: _Optional[str] = ..., extra_turns: _Optional[int] = ..., extra_input_tokens: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ResetCommand(_message.Message):
    __slots__ = ("reason", "request_id")
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    reason: str
    request_id: str
    def __init__(self, reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class IdleCommand(_message.Message):
    __slots__ = ("waited",)
    WAITED_FIELD_NUMBER: _ClassVar[int]
    waited: _duration_pb2.Duration
    def __init__(self, waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class VerdictCommand(_message.Message):
    __slots__ = ("stuck", "confidence", "summary", "finding", "since_sequence", "cited_sequences", "texts_seen")
    STUCK_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    SINCE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CITED_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    TEXTS_SEEN_FIELD_NUMBER: _ClassVar[int]
    stuck: bool
    confidence: float
    summary: str
    finding: JudgeFinding
    since_sequence: int
    cited_sequences: _containers.RepeatedScalarFieldContainer[int]
    texts_seen: bool
    def __init__(self, stuck: _Optional[bool] = ..., confidence: _Optional[float] = ..., summary: _Optional[str] = ..., finding: _Optional[_Union[JudgeFinding, str]] = ..., since_sequence: _Optional[int] = ..., cited_sequences: _Optional[_Iterable[int]] = ..., texts_seen: _Optional[bool] = ...) -> None: ...
