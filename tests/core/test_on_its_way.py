"""States of what is on its way, in the forms in which services tell them."""

import pytest

from sidecar.core.digests.result_kind import result_kind
from sidecar.core.turn import ResultKind

KINDS = {
    "ack": ResultKind.ACKNOWLEDGEMENT,
    "running": ResultKind.RUNNING,
    "plain": ResultKind.PLAIN,
}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("running", "InProgress"),
        ("running", '"creating"'),
        ("running", "● Building"),
        ("running", '{"job": {"state": "RUNNING"}}'),
        ("running", '{"conclusion": "", "status": "in_progress"}'),
        ("running", '[{"id": 1, "status": "completed"}, {"id": 2, "status": "deploying"}]'),
        ("plain", '[{"id": 1, "status": "failed"}, {"id": 2, "status": "deploying"}]'),
        ("plain", '[{"id": 1, "status": "pending", "title": "Fix it"}, {"id": 2}]'),
        ("running", "Status: Building\nProgress: 50%"),
        ("running", "NAME READY STATUS RESTARTS AGE\nweb-1 0/1 ContainerCreating 0 17s"),
        ("running", "web-1 0/1 Pending 0 17s"),
        ("ack", "NAME READY STATUS\nweb-1 0/1 CrashLoopBackOff\nweb-2 0/1 Pending"),
        ("ack", "NAME READY STATUS RESTARTS AGE\nweb-1 1/1 Running 0 17s"),
        ("running", "Up 20 seconds (health: starting)"),
        ("running", "JOBID PARTITION NAME ST TIME\n991 gpu train PD 0:00"),
        ("ack", "2/5 passed, 3 pending"),
        ("ack", "server running"),
        ("ack", '{"state": "existing"}'),
        ("running", '{"state": "warming"}'),
        ("running", '{"id": "b1", "state": "PENDING", "state_message": "Finding instances."}'),
        ("plain", '{"id": "b1", "state": "PENDING", "state_message": "It crashed."}'),
        ("running", '{"status": "queued", "created_at": "2026-10-02 12:01:00"}'),
        ("running", '{"build": 881, "name": "Nightly build", "status": "queued"}'),
        ("running", '{"state": "cloning", "percent_complete": 0}'),
        ("running", '{"status": "in_progress", "request_counts": {"total": 9, "failed": 0}}'),
        ("ack", '{"status": "pending", "order": {"total": 9}}'),
        ("running", "RUNNABLE"),
        ("running", '{"state": "notStarted"}'),
        ("running", 'mike/fit has status "KernelWorkerStatus.RUNNING"'),
        ("ack", 'mike/fit has status "KernelWorkerStatus.COMPLETE"'),
        ("running", "build\tpending\t0\thttps://ci/1\nlint\tpass\t12s\thttps://ci/2"),
        ("plain", "build\tpending\t0\thttps://ci/1\nlint\tfail\t12s\thttps://ci/2"),
        ("running", '{"status": "reticulating"}'),
        ("ack", '{"state": "Wyoming"}'),
        ("ack", '{"stage": "staging"}'),
        ("ack", '{"status": "string"}'),
        ("running", "Der Auftrag wird noch ausgeführt."),
        ("running", "En ejecución"),
        ("running", "任务正在执行中"),
        ("running", "aws_db.main: Still creating... [1m0s elapsed]"),
    ],
)
def test_a_state_is_on_its_way_where_it_says_no_more(kind: str, text: str) -> None:
    assert result_kind(text) is KINDS[kind]
