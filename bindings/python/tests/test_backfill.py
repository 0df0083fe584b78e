"""Nodes reserved for who finds no room, and who starts there meanwhile."""

import pytest

import gangsched as gs


def job(name, cpu, seconds=0.0, **more):
    return gs.Pod(name, cpu=cpu, expected_run_time=seconds, **more)


def bound(decisions):
    return [d.pod_name for d in decisions if d.kind == "bind"]


def busy_cluster(**options):
    """A node with 8 CPUs, 4 of them taken for 100 seconds; `wide`, which needs all of it, waits from second 10 on."""
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8))
    cluster.add_pod(job("first", 4, 100))
    scheduler = gs.Scheduler(cluster, ties="lowest_row", max_backoff=0, **options)
    assert bound(scheduler.run(0)) == ["first"]
    cluster.add_pod(job("wide", 8, 100))
    return cluster, scheduler, scheduler.run(10)


@pytest.mark.parametrize("rule", ["easy", "conservative"])
def test_who_ends_in_time_starts_before_who_waits_for_more(rule):
    cluster, scheduler, said = busy_cluster(backfill=rule)
    assert [(d.kind, d.pod_name, d.node_name) for d in said if d.kind == "nominate"] == [("nominate", "wide", "n")]
    assert cluster.reserved_from("wide") == 100 and cluster.nominated_node_of("wide") == cluster.find_node("n")
    cluster.add_pod(job("late", 4, 200))
    cluster.add_pod(job("unknown", 4))
    cluster.add_pod(job("short", 4, 50))
    assert bound(scheduler.run(20)) == ["short"]
    cluster.remove_pod("short")
    cluster.remove_pod("first")
    assert bound(scheduler.run(100)) == ["wide"]
    assert cluster.reserved_from("wide") is None and cluster.nominated_node_of("wide") is None


def test_without_backfill_whoever_fits_starts():
    cluster, scheduler, _ = busy_cluster()
    assert cluster.reserved_from("wide") is None
    cluster.add_pod(job("late", 4, 200))
    assert bound(scheduler.run(20)) == ["late"]
    assert scheduler.statistics()["reservations"] == 0


def test_easy_reserves_for_the_first_and_conservative_for_all():
    reserved = {}
    for rule in ("easy", "conservative"):
        cluster, scheduler, _ = busy_cluster(backfill=rule)
        cluster.add_pod(job("wider", 8, 30))
        scheduler.run(20)
        reserved[rule] = (cluster.reserved_from("wide"), cluster.reserved_from("wider"), scheduler.statistics()["reservations"])
    assert reserved == {"easy": (100, None, 1), "conservative": (100, 200, 2)}


def test_who_runs_longer_than_expected_puts_a_reservation_off():
    cluster, scheduler, _ = busy_cluster(backfill="easy")
    assert scheduler.statistics()["late_reservations"] == 0
    cluster.add_node(gs.Node("small", cpu=1))  # something changes, after `first` should have ended
    scheduler.run(150)
    assert cluster.reserved_from("wide") == 150
    assert scheduler.statistics()["late_reservations"] == 1


def test_who_was_overtaken_for_too_long_gets_nodes_at_once():
    for limit, starts in ((60, []), (None, ["small"])):
        cluster = gs.Cluster()
        cluster.add_node(gs.Node("n", cpu=8))
        cluster.add_pod(job("first", 4))  # nobody knows how long
        scheduler = gs.Scheduler(cluster, max_backoff=0, unschedulable_timeout=30, max_overtake=limit)
        scheduler.run(0)
        cluster.add_pod(job("wide", 8))
        scheduler.run(10)
        assert cluster.nominated_node_of("wide") is None
        scheduler.run(80)
        cluster.add_pod(job("small", 4))
        assert bound(scheduler.run(81)) == starts
        assert (cluster.nominated_node_of("wide") is not None) == (limit is not None)


def test_pods_that_run_already_say_since_when_and_dicts_their_deadline():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8))
    cluster.add_pod(job("first", 4, 100, node="n", start_time=40))
    container = {"name": "main", "image": "job", "resources": {"requests": {"cpu": "8"}}}
    cluster.add_pod({"metadata": {"name": "wide"}, "spec": {"activeDeadlineSeconds": 60, "containers": [container]}})
    scheduler = gs.Scheduler(cluster, max_backoff=0, backfill="conservative")
    cluster.add_pod(job("wider", 8))
    scheduler.run(50)
    assert (cluster.reserved_from("wide"), cluster.reserved_from("wider")) == (140, 200)


def test_what_is_no_rule_and_no_time_is_refused():
    cluster = gs.Cluster()
    with pytest.raises(gs.Error) as refused:
        gs.Scheduler(cluster, backfill="greedy")
    assert refused.value.code == "malformed" and refused.value.field == "backfill"
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(job("p", 1, -1))
    assert (refused.value.code, refused.value.field) == ("out_of_range", "expected_run_time")
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", start_time="noon"))
    assert str(refused.value) == "pod default/p: start_time: is no time: 'noon'"
    assert cluster.find_pod("p") is None


def test_who_has_to_start_first_goes_first():
    profile = gs.Profile.of_configuration(
        """{"profiles": [{"plugins": {"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "LeastSlackSort"}]},
                                        "multiPoint": {"enabled": [{"name": "Deadline"}]}}}]}"""
    )
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8))
    cluster.add_group(gs.Group("g", deadline=70))
    cluster.add_pod(job("any-time", 1, 10))
    cluster.add_pod(job("by-50", 1, 50, deadline=100))
    cluster.add_pod(job("by-20", 1, max_wait=20))
    cluster.add_pod(job("by-40", 1, 30, group="g"))
    cluster.add_pod(job("too-late", 1, 50, deadline=40))
    said = gs.Scheduler(cluster, profile).run(0)
    assert bound(said) == ["by-20", "by-40", "by-50", "any-time"]
    assert [d.pod_name for d in said if d.kind == "reject"] == ["too-late"]
    with pytest.raises(gs.Error, match="max_wait"):
        cluster.add_pod(job("negative", 1, max_wait=-1))


@pytest.mark.parametrize("field", ["cpu_percent", "memory_percent", "after_scheduled", "after_initialized"])
def test_what_a_pod_says_of_its_load_is_checked(field):
    cluster = gs.Cluster()
    cluster.add_pod(gs.Pod("p", **{"load_" + field: 0}))
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("q", **{"load_" + field: -1}))
    assert (refused.value.code, refused.value.field) == ("out_of_range", "load." + field)
