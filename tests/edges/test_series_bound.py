"""A sidecar's series are bounded all together, whatever its agents are called and do."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from sidecar.adapters.semconv import metrics as inventory
from sidecar.adapters.telemetry.families import Allowance, Families
from tests.edges.full_labels import full_world
from tests.edges.telemetry_samples import series_count

SERIES_MAX = 400
"""What Prometheus has to keep of one sidecar."""


pytestmark = pytest.mark.usefixtures("no_exporter")


def test_beyond_the_bound_names_from_outside_are_other_and_at_last_every_value_is() -> None:
    registry = CollectorRegistry()
    families = Families(registry, label_keys=["team"], series_max=4)
    turns = families.children(inventory.TURNS_COUNTED)  # agent, model, policy or mode, and team
    refused = families.children(inventory.REFUSED)
    outside = len(inventory.TURNS_COUNTED.labels) - 1
    for name in ("a", "b", "c", "d", "e"):
        turns[(*[name] * outside, "enforce", name)].inc()
    for reason in ("X", "Y", "X", "Z", "Y"):
        refused[(reason,)].inc()
    counted = {
        (sample.labels.get("agent"), sample.labels.get("reason")): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    assert counted == {
        ("a", None): 1, ("b", None): 1, ("c", None): 1, ("other", None): 2,
        (None, "other"): 5,
    }  # fmt: skip


def test_a_quarter_is_kept_for_what_the_program_names_itself() -> None:
    allowance = Allowance(8)
    outside = [allowance.take(is_named_here=False) for _ in range(8)]
    own = [allowance.take(is_named_here=True) for _ in range(4)]
    assert (outside.count(True), own) == (6, [True, True, False, False])


def test_full_label_sets_make_at_most_400_series_and_150_kib() -> None:
    world = full_world()
    assert series_count(world.registry) <= SERIES_MAX
    page = generate_latest(world.registry)  # type: ignore[no-untyped-call]
    assert len(page) <= 150 * 1024
