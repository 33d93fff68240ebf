"""Every metric of the inventory is exported, and every exported one stands in it."""

import pytest

from sidecar.adapters.semconv import METRICS, Kind, Metric
from sidecar.adapters.semconv import metrics as inventory
from sidecar.adapters.telemetry import TelemetrySettings, build
from tests.edges.telemetry_samples import POLICY, World, decision, everything, samples

pytestmark = pytest.mark.usefixtures("no_exporter")


def exposed_name(metric: Metric) -> str:
    """The name of a sample that every series of the metric has."""
    return f"{metric.name}_count" if metric.kind is Kind.HISTOGRAM else metric.name


def everything_happened() -> World:
    world = World()
    everything(world.telemetry, world.clock.now_s())
    world.telemetry.loop_lag(0.01)
    world.telemetry.configured([POLICY], {"sessions_max": 10})
    world.decide(decision(overridden=True))
    world.health.component("store").ok()
    return world


def test_every_metric_of_the_inventory_is_exported_and_every_exported_one_is_in_it() -> None:
    exported = set()
    for sample in samples(everything_happened().registry):
        if not sample.name.endswith(("_bucket", "_sum")):
            exported.add((sample.name, frozenset(sample.labels)))
    listed = {(exposed_name(metric), frozenset(metric.labels)) for metric in METRICS}
    assert exported == listed


def test_every_metric_of_the_module_stands_in_the_inventory_once() -> None:
    defined = [each for each in vars(inventory).values() if isinstance(each, Metric)]
    assert all(metric in METRICS for metric in defined)
    assert len({metric.name for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_keep_the_conventions_of_prometheus(metric: Metric) -> None:
    assert metric.name.startswith(("process_", "python_") if metric.foreign else "sidecar_")
    assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
    assert bool(metric.buckets) is (metric.kind is Kind.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert metric.help.endswith(".")
    assert not {"session", "session_id", "user", "conversation"} & set(metric.labels)


def test_two_telemetries_in_one_registry_are_refused() -> None:
    world = World()
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        build(
            TelemetrySettings(version="1"),
            registry=world.registry,
            clock=world.clock,
            health=world.health,
        )
