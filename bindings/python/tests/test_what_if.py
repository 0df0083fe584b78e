"""Forks, and questions about nodes that are asked in them."""

import gc
import threading
import weakref

import pytest

import gangsched as gs


def digests(fork):
    return fork.cluster.digest(), fork.scheduler.statistics()["decisions"]


def test_a_fork_decides_as_its_original_and_shows_nothing_there(cluster):
    cluster.add_pod(gs.Pod("fits", cpu=6))
    cluster.add_pod(gs.Pod("greedy", cpu=20))
    scheduler = gs.Scheduler(cluster)
    assert scheduler.run(0).count() == {"bind": 1, "reject": 1}
    before = cluster.digest()
    with scheduler.fork() as fork:
        assert isinstance(fork.cluster, gs.Cluster)
        assert digests(fork) == (before, scheduler.statistics()["decisions"])
        fork.cluster.add_node(gs.Node("large", cpu=32))
        (tried,) = [d for d in fork.scheduler.run(20) if d.kind == "bind"]
        assert (tried.pod_name, tried.node_name) == ("greedy", "large")
        after = fork.cluster.digest()
    assert cluster.digest() == before and cluster.find_node("large") is None
    assert cluster.state_of("greedy") == "pending"
    cluster.add_node(gs.Node("large", cpu=32))
    assert scheduler.run(20).count() == {"bind": 1}
    assert cluster.digest() == after
    with pytest.raises(gs.Error) as refused:
        fork.scheduler.run(20)
    assert refused.value.code == "wrong_state"


def test_a_fork_can_be_forked_and_taken_over(cluster):
    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, metrics="counted")
    with scheduler.fork() as outer, outer.scheduler.fork() as inner:
        assert inner.scheduler.run(0).count() == {"bind": 1}
        assert outer.cluster.state_of("p") == cluster.state_of("p") == "pending"
        with pytest.raises(gs.Error) as refused:
            inner.scheduler.metrics()
        assert refused.value.code == "wrong_state"
        cluster, scheduler = inner.cluster, inner.scheduler
    gc.collect()
    assert cluster.state_of("p") == "bound" and not scheduler.run(1).worked


def test_a_cluster_alone_is_forked_for_another_profile(cluster):
    cluster.add_pod(gs.Pod("first", cpu=1, node="node-b"))
    cluster.add_pod(gs.Pod("p", cpu=1))
    nodes = {}
    for name, profile in (("spread", gs.Profile.default()), ("packed", gs.Profile.bin_packing())):
        copy = cluster.fork()
        (nodes[name],) = [d.node_name for d in gs.Scheduler(copy, profile).run(0)]
    assert nodes == {"spread": "node-a", "packed": "node-b"}
    assert cluster.state_of("p") == "pending"


def test_no_fork_within_a_trial(cluster):
    scheduler = gs.Scheduler(cluster)
    with cluster.trial():
        for ask in (scheduler.fork, cluster.fork):
            with pytest.raises(gs.Error) as refused:
                ask()
            assert refused.value.code == "busy"


class ByShare(gs.Plugin):
    """Queues by the pods' label, that of fewer pods on nodes first; and a filter that fails where it is told to."""

    def __init__(self):
        self.broken_in = None
        self.ran = 0

    def filter(self, pod, node):
        self.ran += 1
        if self.broken_in == threading.get_ident():
            raise RuntimeError("on purpose")

    def queue_of(self, pod):
        return pod.labels["team"]

    def queue_before(self, a, b):
        return a.queue > b.queue


def test_plugins_of_python_go_with_a_fork():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=64))
    plugin = ByShare()
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(plugin))
    for i, team in enumerate(["x", "y", "z", "x", "y", "z"]):
        cluster.add_pod(gs.Pod(f"p{i}", labels={"team": team}))
    assert len(scheduler.run(0, most=2)) == 2  # queues have numbers now
    with scheduler.fork() as fork:
        cluster.add_pod(gs.Pod("late", labels={"team": "yy"}))
        fork.cluster.add_pod(gs.Pod("late", labels={"team": "yy"}))
        there = [(d.pod_name, d.node_name) for d in fork.scheduler.run(0)]
        assert there == [(d.pod_name, d.node_name) for d in scheduler.run(0)]
        assert [name for name, _ in there] == ["late", "p1", "p4", "p0", "p3"]
    assert plugin.ran >= 12


def test_what_a_plugin_raises_in_a_fork_is_told_there(cluster):
    plugin = ByShare()
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(plugin))
    cluster.add_pod(gs.Pod("p", labels={"team": "x"}))
    fork = scheduler.fork()
    caught = []

    def break_there():
        plugin.broken_in = threading.get_ident()
        try:
            fork.scheduler.run(0)
        except gs.Error as error:
            caught.append(error)

    other = threading.Thread(target=break_there)
    other.start()
    other.join()
    assert [error.code for error in caught] == ["contract"] and isinstance(caught[0].__cause__, RuntimeError)
    plugin.broken_in = None
    assert scheduler.run(0).count() == {"bind": 1}


def test_forks_run_side_by_side_on_threads(cluster):
    cluster.add_pods([{"name": f"p{i}", "cpu": "100m"} for i in range(100)])
    scheduler = gs.Scheduler(cluster, seed=3)
    forks = [scheduler.fork() for _ in range(4)]
    said = [None] * 4

    def work(i):
        said[i] = forks[i].scheduler.run(0).to_numpy().tobytes()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert set(said) == {scheduler.run(0).to_numpy().tobytes()}


def test_a_fork_that_nobody_closes_is_collected(cluster):
    plugin = ByShare()
    gone = weakref.ref(plugin)
    plugin.fork = gs.Scheduler(cluster, gs.Profile.default().add(plugin)).fork()
    del plugin
    gc.collect()
    assert gone() is None


SHAPES = [gs.NodeShape(gs.Node("small", cpu=4), price=10), gs.NodeShape(gs.Node("large", cpu=8), price=15, most=3)]


def test_demand_says_which_nodes_are_missing():
    cluster = gs.Cluster()
    train = cluster.add_group(gs.Group("train", min_count=2))
    for i in range(2):
        cluster.add_pod(gs.Pod(f"train-{i}", cpu=4, group=train))
    greedy = cluster.add_pod(gs.Pod("greedy", cpu=100))
    scheduler = gs.Scheduler(cluster)
    scheduler.run(0)
    before = cluster.digest()
    answer = scheduler.demand(SHAPES, now=0)
    assert cluster.digest() == before
    assert answer.left == [greedy]
    assert [(plan.price, [node.shape for node in plan.nodes]) for plan in answer.plans] == [(15, [1]), (20, [0, 0])]
    best = answer.plans[0]
    assert best.by_itself and best.elsewhere == []
    node = cluster.add_node(gs.Node("large-1", cpu=8))
    for pod in best.nodes[0].pods:
        cluster.nominate(pod, node)
    assert scheduler.run(20).count() == {"bind": 2}
    assert scheduler.demand(SHAPES, 20, groups=["train"]).left == []
    assert scheduler.demand(SHAPES, 20, pods=["greedy"]).plans == []
    for wrong, code in (((SHAPES, 19), "time_went_back"), (([gs.NodeShape(gs.Node("n"), price=-1)], 20), "out_of_range")):
        with pytest.raises(gs.Error) as refused:
            scheduler.demand(*wrong)
        assert refused.value.code == code


def test_removable_says_which_nodes_can_go():
    cluster = gs.Cluster()
    nodes = [cluster.add_node(gs.Node(f"n{i}", cpu=4)) for i in range(3)]
    for i in range(3):
        cluster.add_pod(gs.Pod(f"p{i}", cpu=2, node=f"n{i}"))
    scheduler = gs.Scheduler(cluster)
    (first,) = scheduler.removable(0)  # two nodes hold three pods, one does not
    assert first.node == nodes[0]
    assert [(move.pod, move.node in nodes[1:]) for move in first.moves] == [(cluster.find_pod("p0"), True)]
    (last,) = scheduler.removable(0, among=["n2", "n1"])
    assert last.node == nodes[2]
    assert scheduler.removable(0, stay=["p0", "p1", "p2"]) == []
    with pytest.raises(gs.Error) as refused:
        scheduler.removable(0, among=["n9"])
    assert refused.value.code == "unknown"
