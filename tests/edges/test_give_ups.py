"""Totals that clients report, counted once."""

from sidecar.sessions.give_ups import GiveUps


def test_so_many_clients_are_remembered_and_the_one_heard_of_longest_ago_counts_again() -> None:
    give_ups = GiveUps(instances_max=2)
    for client in ("a", "b", "a"):
        give_ups.new(client, [("timeout", 3)])
    within = give_ups.new("a", [("timeout", 3)])
    give_ups.new("c", [("timeout", 1)])

    assert within == []
    assert give_ups.new("a", [("timeout", 4)]) == [("timeout", 1)]
    assert give_ups.new("b", [("timeout", 3)]) == [("timeout", 3)]


def test_totals_counted_before_a_restart_are_not_counted_again() -> None:
    give_ups = GiveUps(instances_max=2)
    assert give_ups.new("a", [("timeout", 5)], before=[("timeout", 3)]) == [("timeout", 2)]
    assert give_ups.new("a", [("timeout", 5)], before=[("timeout", 3)]) == []
    assert give_ups.counted("a") == (("timeout", 5),)
