"""What is served over JSON: the data plane to agents, the control plane to operators."""

from sidecar.adapters.calls import AnswerCalls, ControlCalls, TurnCalls
from sidecar.adapters.json_http.routes import Route, Routes
from sidecar.v1 import answer_service_pb2 as answers_pb
from sidecar.v1 import convergence_service_pb2 as turns_pb
from sidecar.v1 import session_service_pb2 as control_pb


def agent_routes(turns: TurnCalls, answers: AnswerCalls) -> Routes:
    """What an agent may call. Nothing here sets a session free: that is the operator's."""
    return Routes(
        [
            Route(
                method="POST",
                path="/v1/sessions/{open.session_id}/turns",
                rpc="ConvergenceService.RecordTurn",
                request=turns_pb.RecordTurnRequest,
                response=turns_pb.RecordTurnResponse,
                call=turns.record,
                needs_one_of=("open", "turn", "close"),
            ),
            Route(
                method="POST",
                path="/v1/answers:extract",
                rpc="AnswerService.ExtractAnswer",
                request=answers_pb.ExtractAnswerRequest,
                response=answers_pb.ExtractAnswerResponse,
                call=answers.extract,
            ),
            Route(
                method="POST",
                path="/v1/answers:forceCommit",
                rpc="AnswerService.ForceCommit",
                request=answers_pb.ForceCommitRequest,
                response=answers_pb.ForceCommitResponse,
                call=answers.force_commit,
                ends_with_caller=True,
            ),
            Route(
                method="POST",
                path="/v1/answers:review",
                rpc="AnswerService.ReviewAnswer",
                request=answers_pb.ReviewAnswerRequest,
                response=answers_pb.ReviewAnswerResponse,
                call=answers.review,
                ends_with_caller=True,
            ),
        ]
    )


def control_routes(control: ControlCalls) -> Routes:
    """What an operator may call."""
    return Routes(
        [
            Route(
                method="GET",
                path="/v1/sessions",
                rpc="SessionService.ListSessions",
                request=control_pb.ListSessionsRequest,
                response=control_pb.ListSessionsResponse,
                call=control.sessions,
            ),
            Route(
                method="GET",
                path="/v1/sessions/{session_id}",
                rpc="SessionService.GetSession",
                request=control_pb.GetSessionRequest,
                response=control_pb.GetSessionResponse,
                call=control.session,
            ),
            Route(
                method="GET",
                path="/v1/sessions/{session_id}/turns",
                rpc="SessionService.ListTurns",
                request=control_pb.ListTurnsRequest,
                response=control_pb.ListTurnsResponse,
                call=control.turns,
            ),
            Route(
                method="POST",
                path="/v1/sessions/{session_id}:continue",
                rpc="SessionService.ContinueSession",
                request=control_pb.ContinueSessionRequest,
                response=control_pb.ContinueSessionResponse,
                call=control.go_on,
            ),
            Route(
                method="POST",
                path="/v1/sessions/{session_id}:reset",
                rpc="SessionService.ResetSession",
                request=control_pb.ResetSessionRequest,
                response=control_pb.ResetSessionResponse,
                call=control.reset,
            ),
            Route(
                method="POST",
                path="/v1/sessions/{session_id}:close",
                rpc="SessionService.CloseSession",
                request=control_pb.CloseSessionRequest,
                response=control_pb.CloseSessionResponse,
                call=control.close,
            ),
        ]
    )
