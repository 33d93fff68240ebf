"""What the dashboard Sidecar asks of: the series that its variables choose."""

from typing import Final

from grafana.src.panels import BLUE, GREEN, GREY, RED, YELLOW
from grafana.src.queries import select

VARIABLES: Final = ("cluster", "namespace", "job", "instance")

WINDOW: Final = "[$__rate_interval]"
LATE: Final = ((None, GREEN), (0.05, YELLOW), (0.2, RED))
"""Seconds: of the objective, and of what an agent waits by default."""
FAILED: Final = ((None, GREEN), (0.001, YELLOW), (0.01, RED))
STATUSES: Final = {
    "starting": BLUE,
    "ok": GREEN,
    "recoverable": YELLOW,
    "permanent": RED,
    "stopping": GREY,
}


def of(name: str, *matchers: str) -> str:
    """The series that this dashboard's variables choose."""
    return select(name, *matchers, by=VARIABLES)


def rate(name: str, *matchers: str) -> str:
    """Per second, over the interval that Grafana chooses."""
    return f"rate({of(name, *matchers)}{WINDOW})"


def quantile(share: float, name: str, by: str = "") -> str:
    """A quantile of a histogram, of all sidecars chosen or of each."""
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) ({rate(f'{name}_bucket')}))"
