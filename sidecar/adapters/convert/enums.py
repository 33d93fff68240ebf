"""Enums of the wire beside those of the core. An unknown number reads as unset."""

from sidecar.core.breaker import State
from sidecar.core.directive import Cause
from sidecar.core.opening import Finding, Mode, RunOutcome
from sidecar.core.reading import Severity
from sidecar.core.turn import CallKind, Outcome, ResultKind
from sidecar.v1 import run_pb2 as pb

OUTCOMES = {pb.OUTCOME_ERROR: Outcome.ERROR, pb.OUTCOME_DENIED: Outcome.DENIED}
OUTCOMES_OUT = {
    Outcome.OK: pb.OUTCOME_OK,
    Outcome.ERROR: pb.OUTCOME_ERROR,
    Outcome.DENIED: pb.OUTCOME_DENIED,
}
RESULT_KINDS = {
    pb.RESULT_KIND_PLAIN: ResultKind.PLAIN,
    pb.RESULT_KIND_EMPTY: ResultKind.EMPTY,
    pb.RESULT_KIND_ACKNOWLEDGEMENT: ResultKind.ACKNOWLEDGEMENT,
    pb.RESULT_KIND_RUNNING: ResultKind.RUNNING,
}
RESULT_KINDS_OUT = {kind: number for number, kind in RESULT_KINDS.items()}
CALL_KINDS = {
    pb.CALL_KIND_PLAIN: CallKind.PLAIN,
    pb.CALL_KIND_WAIT: CallKind.WAIT,
    pb.CALL_KIND_OVERVIEW: CallKind.OVERVIEW,
    pb.CALL_KIND_NAVIGATION: CallKind.NAVIGATION,
    pb.CALL_KIND_WRITE: CallKind.WRITE,
    pb.CALL_KIND_PRESS: CallKind.PRESS,
}
CALL_KINDS_OUT = {kind: number for number, kind in CALL_KINDS.items()}
SEVERITIES_OUT = {Severity.WARNING: pb.SEVERITY_WARNING, Severity.BREAK: pb.SEVERITY_BREAK}
SEVERITIES = {number: severity for severity, number in SEVERITIES_OUT.items()}
STATES_OUT = {
    State.HEALTHY: pb.STATE_HEALTHY,
    State.WARNING: pb.STATE_WARNING,
    State.TRIPPED: pb.STATE_TRIPPED,
    State.RECOVERY: pb.STATE_RECOVERY,
}
STATES = {number: state for state, number in STATES_OUT.items()}
CAUSES_OUT = {
    Cause.TURN: pb.CAUSE_TURN,
    Cause.OPERATOR: pb.CAUSE_OPERATOR,
    Cause.IDLE: pb.CAUSE_IDLE,
    Cause.JUDGE: pb.CAUSE_JUDGE,
}
CAUSES = {number: cause for cause, number in CAUSES_OUT.items()}
FINDINGS_OUT = {
    Finding.PROGRESSING: pb.JUDGE_FINDING_PROGRESSING,
    Finding.CIRCLING: pb.JUDGE_FINDING_CIRCLING,
    Finding.FINISHED: pb.JUDGE_FINDING_FINISHED,
    Finding.UNSURE: pb.JUDGE_FINDING_UNSURE,
}
FINDINGS = {number: finding for finding, number in FINDINGS_OUT.items()}
MODES = {pb.MODE_OBSERVE: Mode.OBSERVE}
MODES_OUT = {Mode.ENFORCE: pb.MODE_ENFORCE, Mode.OBSERVE: pb.MODE_OBSERVE}
RUN_OUTCOMES = {
    pb.RUN_OUTCOME_SUCCEEDED: RunOutcome.SUCCEEDED,
    pb.RUN_OUTCOME_FAILED: RunOutcome.FAILED,
    pb.RUN_OUTCOME_CANCELLED: RunOutcome.CANCELLED,
}
RUN_OUTCOMES_OUT = {outcome: number for number, outcome in RUN_OUTCOMES.items()}
