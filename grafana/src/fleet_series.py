"""What the dashboard Fleet asks of: the series that its variables choose."""

from typing import Final

from grafana.src.panels import GREEN, RED, YELLOW
from grafana.src.queries import select

VARIABLES: Final = ("cluster", "namespace", "job", "agent", "model", "policy")
"""No `instance`: recorded series have none, and one sidecar is looked at in its own dashboard."""

RUNS: Final = "agent_policy_directive:sidecar_runs:increase5m"
DECISIONS: Final = "policy_directive_signal:sidecar_decisions:increase5m"
TURNS: Final = "agent_model:sidecar_turns:increase5m"
TOKENS: Final = "agent_model_type:sidecar_tokens:increase5m"
COST: Final = "agent_model:sidecar_cost_usd:increase5m"
SESSIONS: Final = "job_state:sidecar_sessions:sum"

TRIPPED: Final = 'directive=~"commit|halt"'
PAID: Final = 'type=~"input|output"'
"""Cached tokens are part of the input."""

SHARE: Final = ((None, GREEN), (0.1, YELLOW), (0.25, RED))
"""Of runs that were tripped: above a quarter an alert fires."""
WORKED: Final = ((None, RED), (0.4, YELLOW), (0.7, GREEN))

ALL_AGENTS: Final = "All agents count, whichever is chosen."
"""Ends the description of each panel whose series have no label `agent`."""


def chosen(name: str, *matchers: str) -> str:
    """The series that this dashboard's variables choose."""
    return select(name, *matchers, by=VARIABLES)


def grown(name: str, *matchers: str) -> str:
    """What a series of five-minute increases comes to over the dashboard's range."""
    return f"sum_over_time({chosen(name, *matchers)}[$__range:5m])"
