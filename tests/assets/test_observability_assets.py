"""P11: metrics, rules, alerts, dashboards and runbooks agree with the code and with one another."""

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sidecar.adapters.semconv import METRICS, Kind
from sidecar.signals import SIGNALS

ROOT: Final = Path(__file__).parents[2]
GRAFANA: Final = ROOT / "grafana"
READ: Final = {".json", ".yaml", ".yml", ".md", ".py", ".tpl", ".txt", ".toml", ".service", ""}

METRIC: Final = re.compile(r"(?<![\w:./-])(?:sidecar|process|python_gc)_[a-z0-9_]+(?![\w:(*.-])")
RECORDED: Final = re.compile(r"(?<![\w:])[a-z_]+:[a-z_]+:[a-z0-9_]+")
SUFFIX: Final = re.compile(r"_(bucket|count|sum)$")

INTERNAL: Final = {
    "process_virtual_memory_bytes": "comes with the process collector; resident memory counts",
    "python_gc_objects_collected_total": "the garbage collector's own, for whoever hunts a leak",
    "python_gc_objects_uncollectable_total": "as above",
}
"""Metrics that nothing in grafana/ has to name, each with the reason."""

KNOWN: Final = {metric.name for metric in METRICS} | {
    f"{metric.name}_{suffix}"
    for metric in METRICS
    if metric.kind is Kind.HISTOGRAM
    for suffix in ("bucket", "count", "sum")
}

ALERTS: Final = [
    rule
    for path in sorted((GRAFANA / "alerts").glob("*.yaml"))
    for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
RECORDS: Final = [
    rule
    for path in sorted((GRAFANA / "rules").glob("*.yaml"))
    for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
RUNBOOKS: Final = sorted((GRAFANA / "runbooks").glob("*.md"))
HEADINGS: Final = ["## Meaning", "## Impact", "## Diagnosis", "## Mitigation"]
SEVERITIES: Final = {"critical", "warning", "info"}


def texts(*folders: str) -> Iterator[tuple[Path, str]]:
    """Every text file below these folders, but for generated dependencies."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in READ:
                yield path.relative_to(ROOT), path.read_text("utf-8")


NOT_METRICS: Final = {
    "sidecar_" + word for word in ("image", "name", "args", "config", "socket", "fraction")
} | {"process_resident"}
"""Variables of manifests and programs that only look like one."""


def test_each_metric_that_is_named_exists() -> None:
    unknown = {
        (str(path), name)
        for path, text in texts("grafana", "deploy")
        for name in METRIC.findall(text)
        if name not in KNOWN | NOT_METRICS
    }
    assert unknown == set()


def test_each_metric_is_named_or_internal_and_none_is_both() -> None:
    named = {
        SUFFIX.sub("", name) if name in KNOWN and SUFFIX.sub("", name) in KNOWN else name
        for _, text in texts("grafana")
        for name in METRIC.findall(text)
    }
    assert {metric.name for metric in METRICS} - named == set(INTERNAL)


def test_each_series_that_is_read_is_recorded() -> None:
    recorded = {rule["record"] for rule in RECORDS}
    read = {(str(path), name) for path, text in texts("grafana") for name in RECORDED.findall(text)}
    assert {(path, name) for path, name in read if name not in recorded} == set()


def test_no_series_is_recorded_twice() -> None:
    names = [rule["record"] for rule in RECORDS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_each_alert_says_what_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    name = rule["alert"]
    assert rule["labels"]["severity"] in SEVERITIES
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert "{{" not in rule["annotations"]["summary"]
    assert "{{" in rule["annotations"]["description"]
    assert rule["annotations"]["runbook_url"].endswith(f"/grafana/runbooks/{name}.md")
    assert rule["for"]


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    assert [path.stem for path in RUNBOOKS] == sorted(rule["alert"] for rule in ALERTS)


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_each_runbook_has_its_parts(path: Path) -> None:
    text = path.read_text("utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [f"# {path.stem}", *HEADINGS]
    parts = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
    assert all(part.strip() for part in parts)
    assert "```sh\n" in parts[2]
    for name in re.findall(r"\]\((\w+\.md)\)", text):
        assert (path.parent / name).exists()
    assert "(../alerts/README.md#where-the-commands-run)" in parts[2]


def test_the_runbooks_of_fail_open_say_what_speaks_while_no_client_is_back() -> None:
    for path in RUNBOOKS:
        if "FailOpen" in path.stem:
            assert "SidecarDown" in path.read_text("utf-8")


def test_each_signal_appears_since_none_is_named() -> None:
    """Dashboards iterate over the label; a signal that is added appears by itself."""
    boards = {path.name: path.read_text("utf-8") for path in GRAFANA.glob("dashboards/*.json")}
    assert boards
    assert re.search(r"by \([a-z_, ]*signal[a-z_, ]*\)", boards["fleet.json"])
    for name, text in boards.items():
        for signal in SIGNALS:
            assert f'signal=\\"{signal.name}\\"' not in text, name
            assert f'signal=~\\"{signal.name}' not in text, name


def test_no_rule_compares_the_sidecars_clock_with_that_of_prometheus() -> None:
    for rule in ALERTS + RECORDS:
        assert not re.search(r"\b(time|timestamp)\s*\(|_start_time_", rule["expr"]), rule


def test_the_manifest_of_the_rules_is_current() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "render_prometheus_rules.py"))
    written = (GRAFANA / "kubernetes" / "prometheus-rules.yaml").read_text("utf-8")
    assert written == script["page"](), "run scripts/render_prometheus_rules.py"


def test_the_manifest_has_each_rule_once() -> None:
    manifests = yaml.safe_load_all(
        (GRAFANA / "kubernetes" / "prometheus-rules.yaml").read_text("utf-8")
    )
    groups = [group for each in manifests for group in each["spec"]["groups"]]
    assert len({group["name"] for group in groups}) == len(groups)
    assert [rule for group in groups for rule in group["rules"]] == RECORDS + ALERTS


# Scaling


SCALE: Final = runpy.run_path(str(ROOT / "scripts" / "scale_rules.py"))
RULE_FILES: Final = sorted([*GRAFANA.glob("rules/*.yaml"), *GRAFANA.glob("alerts/*.yaml")])


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.name)
def test_scaling_divides_each_duration_and_changes_nothing_else(path: Path) -> None:
    text = path.read_text("utf-8")
    scaled = SCALE["scaled"](text, 60)
    anywhere = re.compile(
        r"(?:(?<=for: )|(?<=offset )|(?<=\[)|(?<=[smhdw]:))(?:\d+(?:ms|[smhdwy]))+(?=[\s\]):])"
    )
    before, after = anywhere.findall(text), anywhere.findall(scaled)
    assert before
    assert [SCALE["milliseconds"](each) * 60 for each in after] == [
        SCALE["milliseconds"](each) for each in before
    ]
    age = re.compile(r"(?<=\) < )[\d.]+(?=\n)")
    assert [float(each) * 60 for each in age.findall(scaled)] == [
        float(each) for each in age.findall(text)
    ]
    assert age.sub("", anywhere.sub("", scaled)) == age.sub("", anywhere.sub("", text))


@pytest.mark.parametrize(
    ("text", "scaled"),
    [
        ("for: 1h30m", "for: 90000ms"),
        ("rate(x_5m[5m] offset 1h) > 5", "rate(x_5m[5000ms] offset 60000ms) > 5"),
        ("max_over_time(x[1d:5m])", "max_over_time(x[1440000ms:5000ms])"),
        ("max_over_time(x[1h:])", "max_over_time(x[60000ms:])"),
        ("uptime_seconds[5m]) < 300 or x < 300", "uptime_seconds[5000ms]) < 5.0 or x < 300"),
    ],
)  # fmt: skip
def test_what_is_divided(text: str, scaled: str) -> None:
    assert SCALE["scaled"](text, 60) == scaled


def test_less_than_a_millisecond_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("for: 1s\n")
    assert SCALE["main"](["2000", str(tmp_path / "out"), str(rules)]) == 2
    assert "1s divided by 2000" in capsys.readouterr().err


def test_dashboards_that_are_read_here_are_json() -> None:
    for path in GRAFANA.glob("dashboards/*.json"):
        json.loads(path.read_text("utf-8"))
