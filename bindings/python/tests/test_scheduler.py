"""What a scheduler decides, says and refuses."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gangsched as gs


def test_decisions_are_objects_and_rows(cluster):
    pod = cluster.add_pod(gs.Pod("fits", cpu=1, cookie=9))
    cluster.add_pod(gs.Pod("greedy", cpu=100))
    decisions = gs.Scheduler(cluster, ties="lowest_row").run(now=0)
    assert len(decisions) == 2 and decisions.worked
    first, second = decisions
    assert (first.kind, first.pod, first.pod_name, first.node_name, first.pod_cookie) == ("bind", pod, "fits", "node-a", 9)
    assert first.attempt > 0 and first.score > 0 and first.rank == -1
    assert (second.kind, second.node, second.code) == ("reject", None, "unschedulable")
    assert repr(decisions[-1]) == "Decision(reject greedy)"
    with pytest.raises(IndexError):
        decisions[2]

    rows = decisions.to_numpy()
    assert rows.dtype == gs.DECISION and rows.dtype.itemsize == 72
    assert [gs.DECISION_KINDS[kind] for kind in rows["kind"]] == ["bind", "reject"]
    assert rows["pod"][0] == pod.row and rows["score"][0] == first.score and rows["attempt"][0] == first.attempt
    assert rows["pod_cookie"].tolist() == [9, 0]
    frame = decisions.to_pandas()
    assert frame["kind"].tolist() == ["bind", "reject"] and frame["pod"].tolist() == ["fits", "greedy"]
    assert decisions.to_arrow().column("node").to_pylist() == ["node-a", ""]


def test_arrays_of_decisions_are_views_that_keep_them(cluster):
    cluster.add_pod(gs.Pod("p", cookie=3))
    decisions = gs.Scheduler(cluster).run(0)
    one, two = decisions.to_numpy(), decisions.to_numpy()
    assert np.shares_memory(one, two)
    del decisions, two
    gc.collect()
    assert one["pod_cookie"].tolist() == [3]


def test_an_empty_batch_is_an_empty_table(cluster):
    decisions = gs.Scheduler(cluster).run(0)
    assert not decisions.worked and len(decisions) == 0
    assert decisions.to_numpy().shape == (0,) and decisions.to_pandas().empty


def test_a_host_confirms_and_fails_by_attempt(cluster):
    pod = cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, initial_backoff=1)
    (decision,) = scheduler.schedule_cycle(0)
    assert cluster.state_of(pod) == "assumed"
    scheduler.fail(pod, "the node does not answer", decision.attempt)
    assert cluster.state_of(pod) == "pending" and scheduler.next_deadline() == 1
    assert scheduler.standing("p").place == "error_backoff"
    (again,) = scheduler.schedule_cycle(1.5)
    with pytest.raises(gs.Error) as refused:
        scheduler.confirm(pod, decision.attempt)
    assert refused.value.code == "outdated"
    scheduler.confirm(pod, again.attempt)
    assert cluster.state_of(pod) == "bound"
    with pytest.raises(gs.Error) as refused:
        scheduler.schedule_cycle(1)
    assert refused.value.code == "time_went_back"


def test_gangs_are_whole_and_explained(cluster):
    group = cluster.add_group(gs.Group("train", min_count=5))
    for i in range(5):
        cluster.add_pod(gs.Pod(f"train-{i}", gpu=1, group=group))
    scheduler = gs.Scheduler(cluster)
    assert "bind" not in scheduler.run(0).count()
    (why,) = scheduler.explain_group(group)
    assert why.placements[0].fit == 4 and why.placements[0].wanted == 5
    assert gs.GPU in why.summary
    explanation = scheduler.explain("train-0")
    assert isinstance(explanation.summary, str) and len(explanation.nodes) == 2
    assert len(explanation.to_pandas()) == 2
    cluster.add_node(gs.Node("node-c", cpu=1, gpu=1))
    assert scheduler.run(400).count() == {"bind": 5}


def test_reasons_are_good_when_the_scheduler_has_gone_on():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8))
    cluster.add_queue(gs.Queue("q", limit={"cpu": 2}))
    cluster.add_group(gs.Group("g", min_count=2, queue="q"))
    for i in range(4):
        cluster.add_pod(gs.Pod(f"g{i}", cpu=1, group="g"))
    scheduler = gs.Scheduler(cluster, gs.Profile.with_queues())
    decisions = scheduler.run(0)
    cluster.add_pod(gs.Pod("other", cpu=1))
    scheduler.run(1)
    assert decisions.count() == {"bind": 2, "reject": 4}
    assert [one for one in decisions.reasons if one] == ["no pods were schedulable"] * 2
    assert [one.reason for one in decisions if one.reason] == ["no pods were schedulable"] * 2


def test_explanations_have_the_score_sheet(cluster):
    cluster.add_pod(gs.Pod("p", cpu=1))
    verdict = gs.Scheduler(cluster).explain("p").nodes[0]
    assert verdict.code == "success" and verdict.total == sum(one.weighted for one in verdict.scores) > 0
    cluster.add_pod(gs.Pod("q", cpu=9))
    verdict = gs.Scheduler(cluster).explain("q").nodes[0]
    assert (verdict.plugin, verdict.reasons) == ("NodeResourcesFit", ["Insufficient cpu"])


def test_profiles_are_made_of_names_weights_and_arguments(cluster):
    most = {"scoringStrategy": {"type": "MostAllocated"}}
    profile = gs.Profile().add("PrioritySort").add("NodeResourcesFit", 3, most, without=["pre_score"])
    assert profile.plugins == [("PrioritySort", 1), ("NodeResourcesFit", 3)]
    with pytest.raises(gs.Error) as refused:
        profile.add("NodeResourcesFit")
    assert refused.value.code == "duplicate"
    with pytest.raises(gs.Error) as refused:
        profile.add("NodeResourceFit")
    assert refused.value.code == "unknown"
    with pytest.raises(gs.Error):
        profile.add("TaintToleration", without=["scores"])
    with pytest.raises(gs.Error) as refused:
        gs.Scheduler(cluster, gs.Profile())
    assert refused.value.code == "malformed"
    assert "FairShare" in gs.builtin_plugins()


def test_a_configuration_is_profiles(cluster):
    text = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packs
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
    profiles = gs.Profile.of_configuration(text)
    assert [one.scheduler_name for one in profiles] == ["default-scheduler", "packs"]
    cluster.add_pod(gs.Pod("first", cpu=1, node="node-b"))
    cluster.add_pod(gs.Pod("p", cpu=1, scheduler_name="packs"))
    cluster.add_pod(gs.Pod("left-alone", scheduler_name="volcano"))
    scheduler = gs.Scheduler(cluster, profiles)
    assert {d.pod_name for d in scheduler.run(0)} == {"p"}


def test_options_are_checked(cluster):
    for wrong in ({"ties": "random"}, {"wake": "never"}, {"timers": "by_clock"}, {"max_backoff": 1e300}):
        with pytest.raises(gs.Error):
            gs.Scheduler(cluster, **wrong)


def test_equal_inputs_give_equal_decisions():
    def once():
        cluster = gs.Cluster()
        cluster.add_nodes([{"name": f"n{i}", "cpu": 16} for i in range(50)])
        cluster.add_pods([{"name": f"p{i}", "cpu": 1} for i in range(300)])
        return gs.Scheduler(cluster, seed=7).run(0).to_numpy().tobytes(), cluster.digest()

    assert once() == once()


def test_run_stops_where_it_is_told(cluster):
    for i in range(6):
        cluster.add_pod(gs.Pod(f"p{i}"))
    scheduler = gs.Scheduler(cluster)
    assert len(scheduler.run(0, most=2)) == 2
    assert scheduler.counts()["active"] == 4
    assert len(scheduler.run(0, confirm=False)) == 4
    assert cluster.pods().state.tolist() == [3, 3, 2, 2, 2, 2]
    assert scheduler.statistics()["cycles"] == 6


def test_permits_are_heard_in_run():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=1))
    cluster.add_group(gs.Group("g", min_count=2, mode="permit"))
    for name in ("a", "b"):
        cluster.add_pod(gs.Pod(name, cpu=1, group="g"))
    scheduler = gs.Scheduler(cluster)
    assert scheduler.run(0).count() == {"wait": 1, "reject": 1}
    assert scheduler.pending_plugins("a") == ["GangScheduling"]
    cluster.add_node(gs.Node("m", cpu=1))
    assert scheduler.run(20).count() == {"bind": 2}
    assert cluster.pods().state.tolist() == [3, 3]


def test_a_scheduler_keeps_its_cluster():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n"))
    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster)
    del cluster
    gc.collect()
    assert scheduler.run(0).count() == {"bind": 1}


def test_the_gil_is_released_and_other_threads_are_told_that_the_cluster_is_busy():
    seen = []
    inside, looked = threading.Event(), threading.Event()

    class Slow(gs.Plugin):
        def filter(self, pod, node):
            inside.set()
            looked.wait(10)

    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n"))
    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Slow()))

    def look():
        inside.wait(10)
        for ask in (lambda: cluster.find_node("n"), lambda: cluster.add_node(gs.Node("m")), lambda: scheduler.counts()):
            try:
                ask()
            except gs.Error as error:
                seen.append(error.code)
        looked.set()

    other = threading.Thread(target=look)
    other.start()
    assert scheduler.run(0).count() == {"bind": 1}
    other.join()
    assert seen == ["busy"] * 3
    assert cluster.find_node("n") is not None  # and not any more


def test_python_runs_while_the_library_works():
    """A thread that counts goes on while another is in one long call without hooks in Python."""
    cluster = gs.Cluster()
    cluster.add_nodes([{"name": f"n{i}", "cpu": 64, "label:host": f"n{i}"} for i in range(1000)])
    cluster.add_pods([{"name": f"p{i}", "cpu": f"{i + 1}m", "labels": {"own": str(i)}} for i in range(3000)])
    scheduler = gs.Scheduler(cluster)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            done.wait(0.0005)

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    scheduler.run(0)
    during = counted[0] - before
    done.set()
    other.join()
    assert during > 20


def test_cycles_of_references_through_plugins_are_collected():
    class Holds(gs.Plugin):
        def filter(self, pod, node):
            return None

    cluster = gs.Cluster()
    plugin = Holds()
    gone = weakref.ref(plugin)
    plugin.scheduler = gs.Scheduler(cluster, gs.Profile.default().add(plugin))
    del plugin, cluster
    gc.collect()
    assert gone() is None
