"""Clusters and schedulers as bytes: what comes of them goes on as the original."""

import copy
import multiprocessing
import pickle

import pytest

import gangsched as gs


def decided(scheduler, now):
    return [(d.kind, d.pod_name, d.node_name, d.attempt, d.score) for d in scheduler.run(now)]


@pytest.fixture
def busy(cluster):
    """A scheduler with a pod that was placed, one that is in backoff, and one that has no place."""
    for name, cpu in (("placed", 6), ("failed", 2), ("greedy", 20)):
        cluster.add_pod(gs.Pod(name, cpu=cpu))
    scheduler = gs.Scheduler(cluster, seed=3, initial_backoff=4)
    scheduler.run(1, confirm=False)
    scheduler.confirm("placed")
    scheduler.fail("failed", "the image is not there")
    return scheduler


def test_what_is_restored_goes_on_as_the_original(cluster, busy):
    before = cluster.digest()
    taken = busy.snapshot()
    assert isinstance(taken, bytes) and busy.snapshot() == taken
    assert cluster.digest() == before
    with gs.restore(taken) as again:
        assert isinstance(again, gs.Fork) and isinstance(again.cluster, gs.Cluster)
        assert again.cluster.digest() == before
        assert again.cluster.find_pod("failed") == cluster.find_pod("failed")
        assert again.scheduler.counts() == busy.counts()
        assert again.scheduler.standing("failed").backoff_until == busy.standing("failed").backoff_until
        assert again.scheduler.snapshot() == taken
        for on in (cluster, again.cluster):
            on.add_node(gs.Node("large", cpu=32))
        first = decided(busy, 20)
        assert {kind for kind, *_ in first} == {"bind"} and len(first) == 2
        assert decided(again.scheduler, 20) == first
        assert again.cluster.digest() == cluster.digest()


def test_a_restored_scheduler_outlives_what_it_was_made_of(cluster, busy):
    taken = busy.snapshot()
    del cluster, busy
    again = gs.restore(taken)
    scheduler, on = again.scheduler, again.cluster
    again.close()
    del taken, again
    on.add_node(gs.Node("large", cpu=32))
    assert scheduler.run(20).count() == {"bind": 2}


def test_damaged_bytes_are_an_error(busy):
    taken = busy.snapshot()
    harmed = bytearray(taken)
    harmed[len(harmed) // 2] ^= 1
    for wrong in (b"", b"hello", taken[:-1], taken + b"x", bytes(harmed)):
        for ask in (gs.restore, gs.Cluster.from_snapshot):
            with pytest.raises(gs.Error) as refused:
                ask(wrong)
            assert (refused.value.code, refused.value.object) == ("malformed", "snapshot")
    with pytest.raises(TypeError):
        gs.restore("text")
    assert gs.restore(taken).scheduler.counts() == busy.counts()


def test_the_profile_is_that_of_the_snapshot(cluster):
    cluster.add_pod(gs.Pod("p"))
    taken = gs.Scheduler(cluster, gs.Profile.with_queues()).snapshot()
    with pytest.raises(gs.Error) as refused:
        gs.restore(taken)
    assert refused.value.code == "wrong_state"
    assert gs.restore(taken, gs.Profile.with_queues()).scheduler.run(0).count() == {"bind": 1}
    with pytest.raises(gs.Error) as refused:
        gs.restore(cluster.snapshot())
    assert (refused.value.code, refused.value.field) == ("wrong_state", "scheduler")


class OnlyB(gs.Plugin):
    def __init__(self):
        self.asked = 0

    def filter(self, pod, node):
        self.asked += 1
        if pod.name == "breaks":
            raise ValueError("this pod breaks it")
        return None if node.name == "node-b" else "not b"


def test_plugins_in_python_are_brought_with_the_profile(cluster):
    first, second = OnlyB(), OnlyB()
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(first))
    cluster.add_pod(gs.Pod("p"))
    again = gs.restore(scheduler.snapshot(), gs.Profile.default().add(second))
    assert [d.node_name for d in again.scheduler.run(0)] == ["node-b"]
    assert second.asked and not first.asked
    again.cluster.add_pod(gs.Pod("breaks"))
    with pytest.raises(gs.Error) as failed:
        again.scheduler.run(1)
    assert isinstance(failed.value.__cause__, ValueError)


def test_who_watches_is_said_anew(cluster, busy):
    again = gs.restore(busy.snapshot(), metrics="timed", events=10, trace="by_now")
    again.cluster.add_node(gs.Node("large", cpu=32))
    assert again.scheduler.run(20).count() == {"bind": 2}
    assert 'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 2' in again.scheduler.metrics()
    assert {event.name for event in again.scheduler.events()} == {"failed", "greedy"}
    assert "greedy" in again.scheduler.trace()
    with pytest.raises(gs.Error) as refused:
        gs.restore(busy.snapshot()).scheduler.metrics()
    assert refused.value.code == "wrong_state"


def test_no_snapshot_within_a_trial(cluster, busy):
    with cluster.trial():
        for ask in (busy.snapshot, cluster.snapshot, lambda: pickle.dumps(cluster)):
            with pytest.raises(gs.Error) as refused:
                ask()
            assert refused.value.code == "busy"


def test_clusters_are_pickled_and_copied(cluster, busy):
    for again in (pickle.loads(pickle.dumps(cluster)), copy.deepcopy(cluster), gs.Cluster.from_snapshot(busy.snapshot())):
        assert isinstance(again, gs.Cluster) and again is not cluster
        assert again.digest() == cluster.digest()
        assert again.find_pod("placed") == cluster.find_pod("placed")
        again.remove_pod("placed")
        assert cluster.state_of("placed") == "bound"


def placed_by(cluster):
    return gs.Scheduler(cluster, ties="lowest_row").run(0).count()["bind"]


def test_clusters_go_to_other_processes(cluster):
    for i in range(4):
        cluster.add_pod(gs.Pod(f"p{i}", cpu=2))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(placed_by, [cluster]) == [4]
    assert cluster.state_of("p0") == "pending"
