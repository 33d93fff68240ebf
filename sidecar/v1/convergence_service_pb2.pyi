import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from sidecar.v1 import run_pb2 as _run_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ObserveRequest(_message.Message):
    __slots__ = ("open", "turn", "heartbeat", "close")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    open: _run_pb2.Open
    turn: _run_pb2.Turn
    heartbeat: Heartbeat
    close: _run_pb2.Close
    def __init__(self, open: _Optional[_Union[_run_pb2.Open, _Mapping]] = ..., turn: _Optional[_Union[_run_pb2.Turn, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., close: _Optional[_Union[_run_pb2.Close, _Mapping]] = ...) -> None: ...

class ObserveResponse(_message.Message):
    __slots__ = ("opened", "decision", "draining")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    opened: Opened
    decision: _run_pb2.Decision
    draining: Draining
    def __init__(self, opened: _Optional[_Union[Opened, _Mapping]] = ..., decision: _Optional[_Union[_run_pb2.Decision, _Mapping]] = ..., draining: _Optional[_Union[Draining, _Mapping]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("give_ups",)
    GIVE_UPS_FIELD_NUMBER: _ClassVar[int]
    give_ups: _containers.RepeatedCompositeFieldContainer[_run_pb2.GiveUp]
    def __init__(self, give_ups: _Optional[_Iterable[_Union[_run_pb2.GiveUp, _Mapping]]] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ("session_id", "last_sequence", "missing", "idle_ttl", "policy", "policy_revision", "turn_bytes_max", "previous_missing")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    IDLE_TTL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_REVISION_FIELD_NUMBER: _ClassVar[int]
    TURN_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_MISSING_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    last_sequence: int
    missing: int
    idle_ttl: _duration_pb2.Duration
    policy: str
    policy_revision: str
    turn_bytes_max: int
    previous_missing: bool
    def __init__(self, session_id: _Optional[str] = ..., last_sequence: _Optional[int] = ..., missing: _Optional[int] = ..., idle_ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., policy: _Optional[str] = ..., policy_revision: _Optional[str] = ..., turn_bytes_max: _Optional[int] = ..., previous_missing: _Optional[bool] = ...) -> None: ...

class Draining(_message.Message):
    __slots__ = ("grace",)
    GRACE_FIELD_NUMBER: _ClassVar[int]
    grace: _duration_pb2.Duration
    def __init__(self, grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RecordTurnRequest(_message.Message):
    __slots__ = ("open", "turn", "close")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    open: _run_pb2.Open
    turn: _run_pb2.Turn
    close: _run_pb2.Close
    def __init__(self, open: _Optional[_Union[_run_pb2.Open, _Mapping]] = ..., turn: _Optional[_Union[_run_pb2.Turn, _Mapping]] = ..., close: _Optional[_Union[_run_pb2.Close, _Mapping]] = ...) -> None: ...

class RecordTurnResponse(_message.Message):
    __slots__ = ("opened", "decision")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    opened: Opened
    decision: _run_pb2.Decision
    def __init__(self, opened: _Optional[_Union[Opened, _Mapping]] = ..., decision: _Optional[_Union[_run_pb2.Decision, _Mapping]] = ...) -> None: ...

class RunFileLine(_message.Message):
    __slots__ = ("open", "turn", "heartbeat", "close", "command", "rejected", "inherited_json", "granted_limits")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    INHERITED_JSON_FIELD_NUMBER: _ClassVar[int]
    GRANTED_LIMITS_FIELD_NUMBER: _ClassVar[int]
    open: _run_pb2.Open
    turn: _run_pb2.Turn
    heartbeat: Heartbeat
    close: _run_pb2.Close
    command: _run_pb2.Command
    rejected: RejectedTurn
    inherited_json: str
    granted_limits: _run_pb2.Limits
    def __init__(self, open: _Optional[_Union[_run_pb2.Open, _Mapping]] = ..., turn: _Optional[_Union[_run_pb2.Turn, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., close: _Optional[_Union[_run_pb2.Close, _Mapping]] = ..., command: _Optional[_Union[_run_pb2.Command, _Mapping]] = ..., rejected: _Optional[_Union[RejectedTurn, _Mapping]] = ..., inherited_json: _Optional[str] = ..., granted_limits: _Optional[_Union[_run_pb2.Limits, _Mapping]] = ...) -> None: ...

class RejectedTurn(_message.Message):
    __slots__ = ("sequence", "rejection", "id")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REJECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    rejection: _run_pb2.Rejection
    id: str
    def __init__(self, sequence: _Optional[int] = ..., rejection: _Optional[_Union[_run_pb2.Rejection, _Mapping]] = ..., id: _Optional[str] = ...) -> None: ...
