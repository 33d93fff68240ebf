import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidecar.v1 import run_pb2 as _run_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Session(_message.Message):
    __slots__ = ("session_id", "agent_name", "agent_version", "model", "policy", "policy_revision", "mode", "limits", "labels", "previous_session_id", "state", "last_sequence", "open_time", "active_time", "connected", "closed", "outcome", "last_directive", "totals", "approaches", "rotations", "saved_path", "previous_missing", "close_reason")
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
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OPEN_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_TIME_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LAST_DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    APPROACHES_FIELD_NUMBER: _ClassVar[int]
    ROTATIONS_FIELD_NUMBER: _ClassVar[int]
    SAVED_PATH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_MISSING_FIELD_NUMBER: _ClassVar[int]
    CLOSE_REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    agent_name: str
    agent_version: str
    model: str
    policy: str
    policy_revision: str
    mode: _run_pb2.Mode
    limits: _run_pb2.Limits
    labels: _containers.ScalarMap[str, str]
    previous_session_id: str
    state: _run_pb2.State
    last_sequence: int
    open_time: _timestamp_pb2.Timestamp
    active_time: _timestamp_pb2.Timestamp
    connected: bool
    closed: bool
    outcome: _run_pb2.RunOutcome
    last_directive: _run_pb2.Decision
    totals: Totals
    approaches: _containers.RepeatedCompositeFieldContainer[Approach]
    rotations: _containers.RepeatedCompositeFieldContainer[Rotation]
    saved_path: str
    previous_missing: bool
    close_reason: str
    def __init__(self, session_id: _Optional[str] = ..., agent_name: _Optional[str] = ..., agent_version: _Optional[str] = ..., model: _Optional[str] = ..., policy: _Optional[str] = ..., policy_revision: _Optional[str] = ..., mode: _Optional[_Union[_run_pb2.Mode, str]] = ..., limits: _Optional[_Union[_run_pb2.Limits, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., previous_session_id: _Optional[str] = ..., state: _Optional[_Union[_run_pb2.State, str]] = ..., last_sequence: _Optional[int] = ..., open_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., active_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., connected: _Optional[bool] = ..., closed: _Optional[bool] = ..., outcome: _Optional[_Union[_run_pb2.RunOutcome, str]] = ..., last_directive: _Optional[_Union[_run_pb2.Decision, _Mapping]] = ..., totals: _Optional[_Union[Totals, _Mapping]] = ..., approaches: _Optional[_Iterable[_Union[Approach, _Mapping]]] = ..., rotations: _Optional[_Iterable[_Union[Rotation, _Mapping]]] = ..., saved_path: _Optional[str] = ..., previous_missing: _Optional[bool] = ..., close_reason: _Optional[str] = ...) -> None: ...

class Totals(_message.Message):
    __slots__ = ("turns", "files_changed", "errors_distinct", "input_tokens", "output_tokens", "cost_usd", "turns_missing")
    TURNS_FIELD_NUMBER: _ClassVar[int]
    FILES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    ERRORS_DISTINCT_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    TURNS_MISSING_FIELD_NUMBER: _ClassVar[int]
    turns: int
    files_changed: int
    errors_distinct: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    turns_missing: int
    def __init__(self, turns: _Optional[int] = ..., files_changed: _Optional[int] = ..., errors_distinct: _Optional[int] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost_usd: _Optional[float] = ..., turns_missing: _Optional[int] = ...) -> None: ...

class Approach(_message.Message):
    __slots__ = ("name", "first_sequence", "last_sequence", "outcome")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    name: str
    first_sequence: int
    last_sequence: int
    outcome: str
    def __init__(self, name: _Optional[str] = ..., first_sequence: _Optional[int] = ..., last_sequence: _Optional[int] = ..., outcome: _Optional[str] = ...) -> None: ...

class Rotation(_message.Message):
    __slots__ = ("sequence", "signal", "previous", "next")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    signal: str
    previous: str
    next: str
    def __init__(self, sequence: _Optional[int] = ..., signal: _Optional[str] = ..., previous: _Optional[str] = ..., next: _Optional[str] = ...) -> None: ...

class TurnRecord(_message.Message):
    __slots__ = ("sequence", "files_changed", "error", "output_lines", "approach", "state_before", "decision", "time", "tools", "context_tokens", "context_window", "readings_below", "actor")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FILES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_LINES_FIELD_NUMBER: _ClassVar[int]
    APPROACH_FIELD_NUMBER: _ClassVar[int]
    STATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_WINDOW_FIELD_NUMBER: _ClassVar[int]
    READINGS_BELOW_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    files_changed: int
    error: str
    output_lines: int
    approach: str
    state_before: _run_pb2.State
    decision: _run_pb2.Decision
    time: _timestamp_pb2.Timestamp
    tools: _containers.RepeatedScalarFieldContainer[str]
    context_tokens: int
    context_window: int
    readings_below: _containers.RepeatedCompositeFieldContainer[_run_pb2.Reading]
    actor: str
    def __init__(self, sequence: _Optional[int] = ..., files_changed: _Optional[int] = ..., error: _Optional[str] = ..., output_lines: _Optional[int] = ..., approach: _Optional[str] = ..., state_before: _Optional[_Union[_run_pb2.State, str]] = ..., decision: _Optional[_Union[_run_pb2.Decision, _Mapping]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tools: _Optional[_Iterable[str]] = ..., context_tokens: _Optional[int] = ..., context_window: _Optional[int] = ..., readings_below: _Optional[_Iterable[_Union[_run_pb2.Reading, _Mapping]]] = ..., actor: _Optional[str] = ...) -> None: ...

class CommandRecord(_message.Message):
    __slots__ = ("command", "state_before", "decision", "time")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    STATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    command: _run_pb2.Command
    state_before: _run_pb2.State
    decision: _run_pb2.Decision
    time: _timestamp_pb2.Timestamp
    def __init__(self, command: _Optional[_Union[_run_pb2.Command, _Mapping]] = ..., state_before: _Optional[_Union[_run_pb2.State, str]] = ..., decision: _Optional[_Union[_run_pb2.Decision, _Mapping]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("session_id", "turns_max")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURNS_MAX_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    turns_max: int
    def __init__(self, session_id: _Optional[str] = ..., turns_max: _Optional[int] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session", "turns", "commands")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    session: Session
    turns: _containers.RepeatedCompositeFieldContainer[TurnRecord]
    commands: _containers.RepeatedCompositeFieldContainer[CommandRecord]
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[TurnRecord, _Mapping]]] = ..., commands: _Optional[_Iterable[_Union[CommandRecord, _Mapping]]] = ...) -> None: ...

class ListTurnsRequest(_message.Message):
    __slots__ = ("session_id", "page_size", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    page_size: int
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTurnsResponse(_message.Message):
    __slots__ = ("turns", "commands", "next_page_token", "follow_token")
    TURNS_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_TOKEN_FIELD_NUMBER: _ClassVar[int]
    turns: _containers.RepeatedCompositeFieldContainer[TurnRecord]
    commands: _containers.RepeatedCompositeFieldContainer[CommandRecord]
    next_page_token: str
    follow_token: str
    def __init__(self, turns: _Optional[_Iterable[_Union[TurnRecord, _Mapping]]] = ..., commands: _Optional[_Iterable[_Union[CommandRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., follow_token: _Optional[str] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "states")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    states: _containers.RepeatedScalarFieldContainer[_run_pb2.State]
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_run_pb2.State, str]]] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class WatchSessionResponse(_message.Message):
    __slots__ = ("session", "skipped")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    session: Session
    skipped: int
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., skipped: _Optional[int] = ...) -> None: ...

class WatchSessionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchSessionsResponse(_message.Message):
    __slots__ = ("session", "skipped")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    session: Session
    skipped: int
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., skipped: _Optional[int] = ...) -> None: ...

class ContinueSessionRequest(_message.Message):
    __slots__ = ("session_id", "reason", "extra_turns", "extra_input_tokens", "request_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRA_TURNS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    extra_turns: int
    extra_input_tokens: int
    request_id: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ..., extra_turns: _Optional[int] = ..., extra_input_tokens: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ContinueSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ResetSessionRequest(_message.Message):
    __slots__ = ("session_id", "reason", "request_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    request_id: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ResetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session_id", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...
