"""Plugins in Python: each hook, what it sees, and what becomes of one that fails."""

import concurrent.futures

import numpy as np
import pytest

import gangsched as gs


def placed(decisions):
    return {d.pod_name: d.node_name for d in decisions if d.kind == "bind"}


def test_a_filter_says_why(cluster):
    class OnlyB(gs.Plugin):
        name = "OnlyB"

        def filter(self, pod, node):
            assert pod.name == "p" and pod.requests["cpu"] == 500 and pod.request("cpu") == 500 and pod.labels == {"app": "x"}
            return None if node.label("zone") == "b" else "wrong zone"

    cluster.add_pod(gs.Pod("p", cpu="500m", labels={"app": "x"}))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(OnlyB()))
    assert [(v.plugin, v.reasons) for v in scheduler.explain("p").nodes if v.code != "success"] == [("OnlyB", ["wrong zone"])]
    assert placed(scheduler.run(0)) == {"p": "node-b"}


def test_a_rejected_pod_gets_the_reason_in_its_line(cluster):
    class Never:
        def filter(self, pod, node):
            return "never"

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Never()))
    assert scheduler.run(0).count() == {"reject": 1}
    assert "2 never" in scheduler.explain("p").summary


def test_a_score_decides_with_its_weight(cluster):
    class LikesB(gs.Plugin):
        def score(self, pod, node):
            return 100 if node.name == "node-b" else 0

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(LikesB(), weight=50))
    sheet = {one.plugin: one for one in scheduler.explain("p").nodes[1].scores}
    assert (sheet["LikesB"].raw, sheet["LikesB"].weight, sheet["LikesB"].weighted) == (100, 50, 5000)
    assert placed(scheduler.run(0)) == {"p": "node-b"}


def test_scores_of_all_nodes_at_once_are_those_of_one_after_another():
    class One(gs.Plugin):
        def score(self, pod, node):
            return 100 - 100 * node.free("cpu") // max(node.allocatable("cpu"), 1)

    class All(gs.Plugin):
        def score_nodes(self, pod, nodes):
            assert len(nodes) == len(nodes.rows) == len(nodes.names)
            assert np.array_equal(nodes.free("cpu"), nodes.allocatable("cpu") - nodes.requested("cpu"))
            assert nodes.free("nobody.com/has").sum() == 0
            return 100 - 100 * nodes.free("cpu") // np.maximum(nodes.allocatable("cpu"), 1)

    class Kept(One):
        reads = ("allocatable", "usage")

    class AllKept(All):
        reads = ("allocatable", "usage", "name")

    def run(plugin):
        rng = np.random.default_rng(5)
        cluster = gs.Cluster()
        cluster.add_nodes([{"name": f"n{i}", "cpu": int(rng.integers(4, 32))} for i in range(40)])
        cluster.add_pods([{"name": f"p{i}", "cpu": f"{rng.integers(1, 40) * 100}m"} for i in range(150)])
        profile = gs.Profile().add("PrioritySort").add("NodeResourcesFit", without=["score", "pre_score"]).add(plugin)
        scheduler = gs.Scheduler(cluster, profile, ties="lowest_row")
        return scheduler.run(0).to_numpy().tobytes()

    runs = [run(one()) for one in (One, All, Kept, AllKept)]
    assert runs[1:] == runs[:1] * 3


def test_what_a_plugin_reads_is_asked_again_when_it_changes_only(cluster):
    asked = []

    class Counts(gs.Plugin):
        reads = ("labels",)

        def filter(self, pod, node):
            asked.append(node.label("zone"))
            return None if node.label("zone") != "b" else "not in b"

    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Counts()))
    for i in range(5):
        cluster.add_pod(gs.Pod(f"p{i}"))
    assert set(placed(scheduler.run(0)).values()) == {"node-a"}
    assert sorted(asked) == ["a", "b"]
    cluster.update_node("node-b", gs.Node("node-b", cpu=8, labels={"zone": "z"}))
    cluster.add_pod(gs.Pod("late"))
    scheduler.run(1)
    assert "z" in asked[2:] and "b" not in asked[2:]


def test_a_plugin_cannot_read_more_than_it_says(cluster):
    class Cheats(gs.Plugin):
        reads = ("labels",)

        def score(self, pod, node):
            return node.free("cpu") and 0

    class AsksForThePod(gs.Plugin):
        reads = ("labels",)

        def filter(self, pod, node):
            return None if pod.name else "nameless"

    for plugin, word in ((Cheats(), "reads"), (AsksForThePod(), "class of pods")):
        made = gs.Cluster()
        made.add_node(gs.Node("n"))
        made.add_pod(gs.Pod("p"))
        with pytest.raises(gs.Error) as ended:
            gs.Scheduler(made, gs.Profile.default().add(plugin)).run(0)
        assert ended.value.code == "contract" and isinstance(ended.value.__cause__, gs.Error)
        assert word in str(ended.value.__cause__)
    with pytest.raises(gs.Error, match="usages"):
        gs.Profile.default().add(type("Odd", (), {"reads": ("usages",), "filter": lambda self, pod, node: None})())


@pytest.mark.parametrize("hook", ["filter", "score", "score_nodes", "permit", "queue_of", "queue_before"])
@pytest.mark.parametrize("kept", [False, True])
def test_what_a_hook_raises_ends_the_cycle_and_is_the_cause(cluster, hook, kept):
    def fails(self, *arguments):
        raise ZeroDivisionError("by zero")

    hooks = {hook: fails}
    if hook == "queue_of":
        hooks["queue_before"] = lambda self, a, b: False
    if hook == "queue_before":
        hooks["queue_of"] = lambda self, pod: pod.name
    if kept:
        hooks["reads"] = ("usage",)
    broken = type("Broken", (), hooks)()
    cluster.add_pod(gs.Pod("p"))
    cluster.add_pod(gs.Pod("q"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(broken))
    with pytest.raises(gs.Error) as ended:
        scheduler.run(0)
    assert ended.value.code == "contract" and "Broken" in str(ended.value)
    assert isinstance(ended.value.__cause__, ZeroDivisionError)
    assert ended.value.decisions is not None
    assert cluster.pods().state.tolist() == [1, 1] or hook.startswith("queue")  # the attempt left nothing behind


def test_an_interrupt_in_a_hook_goes_through(cluster):
    class Interrupted(gs.Plugin):
        def score(self, pod, node):
            raise KeyboardInterrupt

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Interrupted()))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(0)
    assert cluster.state_of("p") == "pending"


@pytest.mark.parametrize(
    "hook, said",
    [("score", 101), ("score", -1), ("score", "fifty"), ("score", 1.5), ("score_nodes", np.array([1.0, 2.0])),
     ("score_nodes", np.array([1])), ("score_nodes", None), ("score_nodes", np.array([0, 101])), ("filter", 7), ("permit", "yes")],
)  # fmt: skip
def test_what_no_hook_may_say_is_a_contract_error(cluster, hook, said):
    broken = type("Broken", (), {hook: lambda self, *arguments: said})()
    cluster.add_pod(gs.Pod("p"))
    with pytest.raises(gs.Error) as ended:
        gs.Scheduler(cluster, gs.Profile.default().add(broken)).run(0)
    assert ended.value.code == "contract" and "Broken" in str(ended.value)


def test_smaller_integers_will_do_for_scores(cluster):
    class Small(gs.Plugin):
        def score_nodes(self, pod, nodes):
            return (nodes.free("cpu") > 0).astype("u1") * np.uint8(100)

    cluster.add_pod(gs.Pod("p"))
    assert gs.Scheduler(cluster, gs.Profile.default().add(Small())).run(0).count() == {"bind": 1}


def test_a_permit_waits_lets_go_and_denies(cluster):
    class Pairs(gs.Plugin):
        """Pods start two by two; those called bad never."""

        def permit(self, pod, node, room):
            assert node in ("node-a", "node-b") and room.now >= 0
            if pod.name.startswith("bad"):
                return gs.deny("bad pods do not run")
            others = room.waiting()
            if not others:
                return gs.wait(seconds=30)
            room.allow(others[0])
            return gs.ALLOW

    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Pairs()))
    first = cluster.add_pod(gs.Pod("one"))
    assert scheduler.run(0).count() == {"wait": 1}
    assert scheduler.pending_plugins(first) == ["Pairs"]
    cluster.add_pod(gs.Pod("two"))
    assert scheduler.run(1).count() == {"bind": 2}
    cluster.add_pod(gs.Pod("bad"))
    assert scheduler.run(2).count() == {"reject": 1}
    cluster.add_pod(gs.Pod("three"))
    scheduler.run(3)
    assert scheduler.run(33.5).count()["revoke"] == 1  # its time is over


def test_queues_are_ordered_by_a_plugin():
    class ShortestQueueName(gs.Plugin):
        def queue_of(self, pod):
            return pod.namespace

        def queue_before(self, a, b):
            assert isinstance(a.queue, str) and a.now == 0 and a.pod != b.pod
            return len(a.queue) < len(b.queue)

    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=2))
    for name in ("a-long-name", "short", "longer"):
        for i in range(2):
            cluster.add_pod(gs.Pod(f"{name}-{i}", namespace=name, cpu=1))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(ShortestQueueName()))
    assert list(placed(scheduler.run(0))) == ["short-0", "short-1"]


def test_queues_may_be_numbers():
    class ByPriority(gs.Plugin):
        def queue_of(self, pod):
            return pod.priority

        def queue_before(self, a, b):
            return a.queue < b.queue  # the least important first

    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=1))
    for priority in (5, 1, 9):
        cluster.add_pod(gs.Pod(f"p{priority}", cpu=1, priority=priority))
    profile = gs.Profile().add("PrioritySort").add("NodeResourcesFit").add(ByPriority())
    assert list(placed(gs.Scheduler(cluster, profile).run(0))) == ["p1"]
    with pytest.raises(gs.Error):
        gs.Profile.with_queues().add(ByPriority())


def test_a_plugin_reads_columns_that_the_host_sets(cluster):
    class Cool(gs.Plugin):
        columns = ("temperature",)
        reads = ("columns",)

        def filter(self, pod, node):
            return "too hot" if node.column("temperature") > 70 else None

        def score_nodes(self, pod, nodes):
            return 100 - nodes.column("temperature")

    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Cool(), weight=100))
    cluster.set_node_column("node-a", "temperature", 60)
    cluster.set_node_column("node-b", "temperature", 20)
    cluster.add_pod(gs.Pod("p"))
    assert placed(scheduler.run(0)) == {"p": "node-b"}
    cluster.set_node_column("node-a", "temperature", 90)
    cluster.set_node_column("node-b", "temperature", 90)
    cluster.add_pod(gs.Pod("q"))
    assert scheduler.run(1).count() == {"reject": 1}
    cluster.set_node_column("node-a", "temperature", 50)
    assert placed(scheduler.run(400)) == {"q": "node-a"}
    assert cluster.node_column("node-a", "temperature") == 50 and cluster.node_column("node-a", "rain") is None


def test_a_profile_does_for_many_clusters(cluster):
    class Cool(gs.Plugin):
        columns = ("temperature",)

        def score(self, pod, node):
            return node.column("temperature")

    profile = gs.Profile.default().add(Cool(), weight=100)
    other = gs.Cluster()
    for name in ("noise", "dust"):
        other.add_node_column(name)
    for name in ("x", "y"):
        other.add_node(gs.Node(name))
    schedulers = [gs.Scheduler(cluster, profile), gs.Scheduler(other, profile)]
    for made, best in ((cluster, "node-b"), (other, "y")):
        made.set_node_column(best, "temperature", 100)
        made.add_pod(gs.Pod("p"))
    other.set_node_column("x", "noise", 77)
    assert [placed(one.run(0)) for one in schedulers] == [{"p": "node-b"}, {"p": "y"}]


PRICED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: LowPrice, weight: 1000}]}}
"""


@pytest.mark.parametrize("make", [lambda: gs.Profile.default().add("LowPrice", 1000), lambda: gs.Profile.of_configuration(PRICED)])
def test_plugins_of_the_library_do_too(make):
    profile, placements = make(), []
    clusters = [gs.Cluster(), gs.Cluster()]
    for i in range(6):
        clusters[1].add_node_column(f"noise{i}")
    for cluster in clusters:
        cluster.add_nodes([{"name": "dear", "cpu": 4}, {"name": "cheap", "cpu": 4}])
    schedulers = [gs.Scheduler(cluster, profile, ties="lowest_row") for cluster in clusters]
    for cluster, scheduler in zip(clusters, schedulers):
        cluster.set_node_column("dear", "load.price", 900)
        cluster.set_node_column("cheap", "load.price", 100)
        cluster.add_pod(gs.Pod("p", cpu=1))
        placements.append(placed(scheduler.run(0)))
    assert placements == [{"p": "cheap"}] * 2


def test_a_score_in_python_decides_as_the_same_of_the_library():
    class Least(gs.Plugin):
        """NodeResourcesFit, LeastAllocated by cpu."""

        def score_nodes(self, pod, nodes):
            room = nodes.allocatable("cpu")
            return np.where(room > 0, np.maximum(nodes.free("cpu") - pod.request("cpu"), 0) * 100 // np.maximum(room, 1), 0)

    least = {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    ours = gs.Profile().add("PrioritySort").add("NodeResourcesFit", without=["score", "pre_score"]).add(Least())
    theirs = gs.Profile().add("PrioritySort").add("NodeResourcesFit", args=least)
    rng = np.random.default_rng(8)
    for _ in range(5):
        nodes = [{"name": f"n{i}", "cpu": int(rng.integers(1, 40)), "gpu": int(rng.integers(0, 3))} for i in range(60)]
        pods = [{"name": f"p{i}", "cpu": f"{rng.integers(1, 50) * 100}m", "gpu": int(rng.integers(0, 2))} for i in range(200)]
        rows = []
        for profile in (ours, theirs):
            cluster = gs.Cluster()
            cluster.add_nodes(nodes)
            cluster.add_pods(pods)
            rows.append(gs.Scheduler(cluster, profile, ties="lowest_row").run(0).to_numpy())
        assert np.array_equal(rows[0], rows[1]) and (rows[0]["kind"] == 0).sum() > 50


def test_an_exception_that_cannot_be_written_ends_the_cycle_too(cluster):
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    class Broken(gs.Plugin):
        def score(self, pod, node):
            raise Mute

    cluster.add_pod(gs.Pod("p"))
    with pytest.raises(gs.Error) as ended:
        gs.Scheduler(cluster, gs.Profile.default().add(Broken())).run(0)
    assert isinstance(ended.value.__cause__, Mute)


def test_clusters_are_scheduled_on_threads_side_by_side():
    class Packs(gs.Plugin):
        def score_nodes(self, pod, nodes):
            return 100 - 100 * nodes.free("cpu") // nodes.allocatable("cpu")

    profile = gs.Profile.default().add(Packs(), weight=10)

    def run(seed):
        cluster = gs.Cluster()
        cluster.add_nodes([{"name": f"n{i}", "cpu": 16} for i in range(30)])
        cluster.add_pods([{"name": f"p{i}", "cpu": 1} for i in range(200)])
        return gs.Scheduler(cluster, profile, seed=seed).run(0).to_numpy().tobytes()

    expected = [run(seed) for seed in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(8))) == expected


def test_gpus_are_seen_one_by_one():
    seen = {}

    class Looks(gs.Plugin):
        def score_nodes(self, pod, nodes):
            seen["free"], seen["ask"] = nodes.gpu_free_milli(), nodes.gpu_ask()
            return np.zeros(len(nodes), dtype=np.int64)

    cluster = gs.Cluster()
    cluster.add_node(gs.Node("two", cpu=8, gpu_devices=2, gpu_model="T4"))
    cluster.add_node(gs.Node("one", cpu=8, gpu_devices=1, gpu_model="T4"))
    profile = gs.Profile.default().add(Looks())
    cluster.add_pod(gs.Pod("p", gpu_devices=1, gpu_milli=300))
    scheduler = gs.Scheduler(cluster, profile)
    scheduler.run(0)
    assert seen["free"].tolist() == [[1000, 1000], [1000, -1]] and seen["ask"] == (1, 300)


def test_views_end_with_the_hook(cluster):
    kept = []

    class Keeps(gs.Plugin):
        def filter(self, pod, node):
            kept[:] = [pod, node]

        def score_nodes(self, pod, nodes):
            kept.append(nodes)
            return np.zeros(len(nodes), dtype=int)

    cluster.add_pod(gs.Pod("p"))
    gs.Scheduler(cluster, gs.Profile.default().add(Keeps())).run(0)
    for late in (lambda: kept[0].name, lambda: kept[0].priority, lambda: kept[1].name, lambda: kept[2].free("cpu"), lambda: len(kept[2])):
        with pytest.raises(gs.Error, match="has returned"):
            late()


def test_a_hook_may_ask_the_cluster_and_not_change_it(cluster):
    codes = []

    class Asks(gs.Plugin):
        def filter(self, pod, node):
            assert cluster.state_of(pod.id) == "pending"
            for change in (lambda: cluster.add_pod(gs.Pod("more")), lambda: cluster.remove_node("node-a"), lambda: scheduler.run(5)):
                try:
                    change()
                except gs.Error as error:
                    codes.append(error.code)

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Asks()))
    assert scheduler.run(0).count() == {"bind": 1}
    assert set(codes) == {"busy"} and len(codes) == 6


def test_different_reasons_are_bounded():
    class Talks(gs.Plugin):
        said = 0

        def filter(self, pod, node):
            Talks.said += 1
            return f"reason {Talks.said}"

    cluster = gs.Cluster()
    cluster.add_nodes([{"name": f"n{i}"} for i in range(500)])
    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Talks()))
    for _ in range(12):
        scheduler.explain("p")
    assert any("a further reason" in node.reasons[0] for node in scheduler.explain("p").nodes)


def test_what_has_no_hook_is_no_plugin():
    for odd in (object(), type("Half", (), {"queue_of": lambda self, pod: 0})()):
        with pytest.raises(gs.Error) as refused:
            gs.Profile.default().add(odd)
        assert refused.value.code == "malformed"


def test_a_configuration_may_name_a_plugin_of_python(cluster):
    class LikesB(gs.Plugin):
        def score(self, pod, node):
            return 100 if node.name == "node-b" else 0

    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: LikesB, weight: 100}]}}
"""
    cluster.add_pod(gs.Pod("p"))
    assert placed(gs.Scheduler(cluster, gs.Profile.of_configuration(text, [LikesB()])).run(0)) == {"p": "node-b"}
