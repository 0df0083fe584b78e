"""Pods that hold room for others."""

import pytest

import gangsched as gs


def holding(name, cpu, **more):
    return gs.Pod(name, cpu=cpu, reservation=gs.Reservation(**more))


def binds(decisions):
    return {d.pod_name: d.node_name for d in decisions if d.kind == "bind"}


def test_a_reservation_holds_room_for_its_owners(cluster):
    owners = [gs.ReservationOwner(labels={"job": "nightly"}), gs.ReservationOwner(pod="night-watch", namespace="default")]
    cluster.add_pod(holding("held", 6, owners=owners, once=False))
    scheduler = gs.Scheduler(cluster)
    where = binds(scheduler.run(0))["held"]
    assert cluster.left_of("held", "cpu") == 6000
    for name in ("a", "b", "c"):
        cluster.add_pod(gs.Pod(name, cpu=4))
    cluster.add_pod(gs.Pod("nightly", cpu=4, labels={"job": "nightly"}))
    cluster.add_pod(gs.Pod("night-watch", cpu=1))
    placed = binds(scheduler.run(1))
    assert sorted(placed) == ["a", "b", "night-watch", "nightly"] and placed["nightly"] == placed["night-watch"] == where
    assert where not in (placed["a"], placed["b"])
    held = cluster.find_pod("held")
    assert cluster.reservation_of("nightly") == held and cluster.reservation_of("a") is None
    assert cluster.left_of(held, "cpu") == 1000


def test_who_has_to_be_in_a_reservation_waits_for_one(cluster):
    cluster.add_pod(gs.Pod("named", cpu=1, reservation_affinity=gs.ReservationAffinity(name="held")))
    cluster.add_pod(gs.Pod("by-label", cpu=1, reservation_affinity=gs.ReservationAffinity(labels={"rack": "r1"})))
    scheduler = gs.Scheduler(cluster)
    assert binds(scheduler.run(0)) == {}
    spec = holding("held", 2, owners=[gs.ReservationOwner()], once=False, taints=[{"key": "quiet", "effect": "NoSchedule"}])
    spec.labels = {"rack": "r1"}
    cluster.add_pod(spec)
    assert sorted(binds(scheduler.run(60))) == ["held", "named"]  # of who names it nothing else counts
    room = gs.ReservationAffinity(labels={"rack": "r1"}, tolerations=[{"key": "quiet", "operator": "Exists"}])
    cluster.update_pod("by-label", gs.Pod("by-label", cpu=1, reservation_affinity=room))
    assert sorted(binds(scheduler.run(120))) == ["by-label"]


def test_who_ignores_reservations_takes_what_they_hold_and_owners_are_restricted(cluster):
    cluster.add_pod(holding("held", 8, owners=[gs.ReservationOwner()], once=False, policy="restricted", restricted=["cpu"], order=1))
    scheduler = gs.Scheduler(cluster)
    scheduler.run(0)
    cluster.add_pod(gs.Pod("large", cpu=8, ignores_reservations=True))
    cluster.add_pod(gs.Pod("other", cpu=8, ignores_reservations=True))
    assert sorted(binds(scheduler.run(1))) == ["large", "other"]
    assert cluster.reservation_of("large") is None


def test_who_wants_a_reservation_of_its_size_takes_no_other(cluster):
    cluster.add_pod(holding("held", 4, owners=[gs.ReservationOwner()], once=False))
    scheduler = gs.Scheduler(cluster)
    scheduler.run(0)
    for name, cpu in (("smaller", 2), ("same", 4)):
        cluster.add_pod(gs.Pod(name, cpu=cpu, exact_reservation=["cpu"]))
    assert sorted(binds(scheduler.run(1))) == ["same", "smaller"]
    assert cluster.reservation_of("smaller") is None and cluster.reservation_of("same") == cluster.find_pod("held")
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("wrong", cpu=1, exact_reservation=["no name"]))
    assert refused.value.field == "exact_reservation[0]", refused.value


def test_a_reservation_ends_at_its_time(cluster):
    cluster.add_pod(holding("held", 1, owners=[gs.ReservationOwner()], expires=100.0))
    scheduler = gs.Scheduler(cluster)
    scheduler.run(0)
    assert scheduler.next_deadline() == 100.0
    assert [d.pod_name for d in scheduler.run(100) if d.kind == "evict"] == ["held"]


def test_a_pod_that_runs_says_which_reservation_it_draws_from(cluster):
    held = holding("held", 4, owners=[gs.ReservationOwner()], once=False)
    held.node = "node-a"
    reservation = cluster.add_pod(held)
    cluster.add_pod(gs.Pod("runs", cpu=3, node="node-a", draws_from=reservation))
    assert cluster.reservation_of("runs") == reservation and cluster.left_of(reservation, "cpu") == 1000


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (gs.Reservation(policy="Aligned"), "policy"),
        (gs.Reservation(pre_allocation="always"), "pre_allocation"),
        (gs.Reservation(order="first"), "order"),  # type: ignore[arg-type]
        (gs.Reservation(restricted=["cpu"]), "reservation.restricted"),
        (gs.Reservation(expires="soon"), "expires"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_with_a_reservation_is_said_by_field(cluster, wrong, field):
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("held", cpu=1, reservation=wrong))
    assert refused.value.field == field, refused.value
