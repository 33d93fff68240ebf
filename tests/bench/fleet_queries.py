"""`python -m tests.bench.fleet_queries`: how long Fleet takes over 500 sidecars and a day.

A day of the series that the dashboard reads, twenty for each of 500 sidecars and one a minute, is
made as OpenMetrics and put into blocks by promtool. Each sidecar is in a namespace of its own, so
that no rule has added any two of them up. A real Prometheus is then asked every query of the
dashboard, as Grafana asks it. Nothing is asserted: the machine decides a lot.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TextIO

from tests.bench.rows import Row, print_rows
from tests.observability.dashboards import VARIABLES, Query, filled, queries
from tests.observability.programs import Prometheus, prometheus

SIDECARS: Final = 500
HOURS: Final = 24
STEP_S: Final = 60
POINTS_MAX: Final = 720
"""Of a query over time: about the width of a panel in pixels."""
ROUNDS: Final = 3
BAR_S: Final = 1.0
FILLED: Final[Mapping[str, str]] = {**VARIABLES, "__rate_interval": "4m", "__range": f"{HOURS}h"}

SERIES: Final = (
    ("up", ""),
    ("sidecar_ready", ""),
    ("process_resident_memory_bytes", ""),
    ("instance:sidecar_fail_open:ratio_rate5m", ""),
    ("instance:sidecar_decision_duration_seconds:p99_5m", ""),
    ("job_state:sidecar_sessions:sum", 'state="healthy"'),
    ("job_state:sidecar_sessions:sum", 'state="tripped"'),
    (
        "policy_directive_signal:sidecar_decisions:increase5m",
        'policy="p",directive="rotate",signal="loop"',
    ),
    (
        "policy_directive_signal:sidecar_decisions:increase5m",
        'policy="p",directive="rotate",signal="spin"',
    ),
    (
        "agent_policy_directive:sidecar_runs:increase5m",
        'agent="{a}",policy="p",directive="proceed"',
    ),
    ("agent_policy_directive:sidecar_runs:increase5m", 'agent="{a}",policy="p",directive="commit"'),
    ("agent:sidecar_runs_tripped:ratio_increase1h", 'agent="{a}"'),
    ("signal_outcome:sidecar_rotations:increase5m", 'signal="loop",outcome="ended"'),
    ("source:sidecar_forced_commits:increase5m", 'source="model"'),
    ("le:sidecar_commit_budget_left_ratio_bucket:increase5m", 'le="0.1"'),
    ("le:sidecar_commit_budget_left_ratio_bucket:increase5m", 'le="+Inf"'),
    ("agent_model_type:sidecar_tokens:increase5m", 'agent="{a}",model="{m}",type="input"'),
    ("agent_model_type:sidecar_tokens:increase5m", 'agent="{a}",model="{m}",type="cache_read"'),
    ("agent_model:sidecar_cost_usd:increase5m", 'agent="{a}",model="{m}"'),
    ("agent_model:sidecar_turns:increase5m", 'agent="{a}",model="{m}"'),
)
"""Of one sidecar, with labels beyond its target's; `{a}` is its agent, `{m}` its model."""


def write(file: TextIO, *, sidecars: int, end_s: int) -> int:
    """A day of all series, up to `end_s`; how many samples that are."""
    times = range(end_s - HOURS * 3600, end_s + 1, STEP_S)
    stamps = [f"{(at // STEP_S) % 97 / 100} {at}\n" for at in times]
    names = dict.fromkeys(name for name, _ in SERIES)
    for name in names:
        for prefix in _prefixes(name, sidecars):
            file.writelines([prefix + stamp for stamp in stamps])
    file.write("# EOF\n")
    return len(SERIES) * sidecars * len(times)


def _prefixes(name: str, sidecars: int) -> Iterator[str]:
    """The series of that name, up to the value."""
    for number in range(sidecars):
        place = f'cluster="bench",namespace="team-{number}",job="agent-sidecar"'
        if ":" not in name or name.startswith("instance:"):
            place += f',instance="sidecar-{number}"'
        for own, labels in SERIES:
            if own == name:
                more = labels.format(a=f"agent-{number % 50}", m=f"model-{number % 8}")
                yield f"{name}{{{place}{',' if more else ''}{more}}} "


def blocks(folder: Path, *, sidecars: int, end_s: int) -> int:
    """Prometheus' blocks of these series; how many samples that are."""
    text = folder / "series.txt"
    with text.open("w", encoding="utf-8") as file:
        samples = write(file, sidecars=sidecars, end_s=end_s)
    subprocess.run(
        [
            "promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet",
            f"--max-block-duration={HOURS}h", str(text), str(folder / "tsdb"),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    text.unlink()
    return samples


def took_s(running: Prometheus, query: Query, *, end_s: int) -> float:
    """Seconds that a query takes. Raises AssertionError where it finds nothing."""
    expr = filled(query.expr, FILLED)
    began_s = time.perf_counter()
    if query.is_instant:
        data = running.ask("query", query=expr, time=end_s)
    else:
        step_s = HOURS * 3600 // POINTS_MAX
        start_s = end_s - HOURS * 3600
        data = running.ask("query_range", query=expr, start=start_s, end=end_s, step=step_s)
    assert data["result"], expr
    return time.perf_counter() - began_s


def figures(*, sidecars: int) -> Iterator[Row]:
    """A row for each query, after one for making the blocks."""
    end_s = int(time.time()) // 3600 * 3600
    with tempfile.TemporaryDirectory() as name:
        began_s = time.perf_counter()
        samples = blocks(Path(name), sidecars=sidecars, end_s=end_s)
        made_s = time.perf_counter() - began_s
        yield Row(what=f"blocks of {samples / 1e6:.1f} million samples", measured=f"{made_s:.0f} s")
        config = {"global": {"scrape_interval": "1m"}}
        with prometheus(Path(name), config) as running:
            asked = [each for each in queries("prometheus") if each.board == "fleet"]
            for query in asked:
                times = [took_s(running, query, end_s=end_s) for _ in range(ROUNDS)]
                yield Row(
                    what=query.id,
                    measured=f"{statistics.median(times):.2f} s, at most {max(times):.2f} s",
                    bar=f"{BAR_S:g} s",
                )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sidecars", type=int, default=SIDECARS)
    print_rows(figures(sidecars=parser.parse_args().sidecars))


if __name__ == "__main__":
    main()
