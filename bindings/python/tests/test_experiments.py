"""simulate, openb and replay return what their programs print."""

import os

import numpy as np
import pytest

import gangsched as gs


@pytest.fixture(scope="module")
def small():
    """A part of the generated openb trace: 40 nodes with GPUs."""
    nodes, pods = gs.openb_trace(seed=3)
    return nodes[nodes["gpu"] > 0].head(40), pods.head(2000)


class Emptiest(gs.Plugin):
    def score_nodes(self, pod, nodes):
        free = nodes.gpu_free_milli()
        return 100 * np.maximum(free, 0).sum(axis=1) // max(1000 * free.shape[1], 1)


def test_simulate_says_who_goes_where(manifests):
    made = gs.simulate(manifests / "preemption-cluster.yaml", manifests / "preemption-workload.yaml")
    assert made.summary["placed"] == 1 and made.summary["evicted"] == 1 and made.summary["unscheduled"] == 1
    pods = made.pods.set_index("name")
    assert pods.loc["checkout", "node"] == "node-a" and pods.loc["nightly-report", "status"] == "evicted"
    assert pods.loc["video-3", "reason"].startswith("0/2 nodes are available")
    assert made.warnings == [] and made.groups.empty and made.queues.empty


def test_simulate_reads_queues_groups_and_a_configuration(manifests):
    made = gs.simulate(manifests / "two-teams.yaml")
    used = made.queues.set_index(["name", "resource"])["used"]
    assert used["blue", "nvidia.com/gpu"] == 6 and used["red", "nvidia.com/gpu"] == 4
    assert gs.simulate(manifests / "two-teams.yaml", queues_policy="none").summary["evicted"] == 0
    gangs = gs.simulate(manifests / "gang-cluster.yaml", manifests / "gang-workload.yaml")
    assert len(gangs.groups) == 2
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    assert gs.simulate(manifests / "two-teams.yaml", config=config).data == made.data
    explained = gs.simulate(manifests / "preemption-cluster.yaml", manifests / "preemption-workload.yaml", explain="video-3")
    assert explained.data["explain"]["pod"] == "default/video-3"
    with pytest.raises(gs.Error):
        gs.simulate("kind: Pod\nmetadata: {name: x}\nspec: {containers: 7}\n")
    with pytest.raises(gs.Error):
        gs.simulate(manifests / "two-teams.yaml", queues_policy="Nobody")


def test_simulate_has_the_options_of_its_program(manifests):
    sample = manifests / "over-time.yaml"
    live = gs.simulate(sample, controllers="live", start="2026-11-27T06:00:00Z", until="8h", timeline=True)
    assert live.summary["placed"] == 1 and live.summary["ended"] == 6  # as docs/simulate.md has it
    assert live.data["pods"][0]["stays"]
    assert gs.simulate(sample).summary["ended"] < 6
    spread = manifests / "spread-cluster.yaml", manifests / "spread-workload.yaml"
    drained = gs.simulate(*spread, drain=["b-1"], scale_down=True, compare_with=live)
    assert drained.data["diff"]["pods"] and "scale_down" in drained.data
    with pytest.raises(gs.Error, match="controllers"):
        gs.simulate(sample, controllers="always")
    node = "kind: Node\napiVersion: v1\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 1, pods: 9}}\n"
    pod = "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n"
    times = gs.simulate(node, pod, arrivals=[("p", 5, 2.5)])
    assert times.summary["ended"] == 1 and times.summary["end_seconds"] == 7.5
    assert gs.simulate(node, pod, arrivals=[("p", 5, None)]).summary["placed"] == 1
    with pytest.raises(gs.Error, match="is no pod"):
        gs.simulate(node, pod, arrivals=[("q", 0, None)])


def test_simulate_tells_all_mistakes():
    bad = "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: 7}\n"
    with pytest.raises(gs.Error) as wrong:
        gs.simulate(bad, bad.replace("name: x", "name: z"))
    assert [one.field for one in wrong.value.mistakes] == ["spec.containers"] * 2
    assert [one.object for one in wrong.value.mistakes] == ["text:4: Pod default/x", "(2) text:4: Pod default/z"]
    node = "kind: Node\napiVersion: v1\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: 1, pods: 9}}\n"
    good = bad.replace("name: x", "name: good").replace("containers: 7", "schedulerName: other, containers: [{name: c}]")
    kept = gs.simulate(node, good, bad, keep_going=True, all_schedulers=True, namespace="mine")
    assert list(kept.pods["node"]) == ["node-1"] and list(kept.pods["namespace"]) == ["mine"] and len(kept.warnings) == 1


def test_simulate_takes_a_plugin_of_python():
    node = {"kind": "Node", "apiVersion": "v1", "status": {"allocatable": {"cpu": "8", "pods": "100"}}}
    world = [{**node, "metadata": {"name": f"n{i}"}} for i in range(4)]
    world += [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": f"p{i}"}, "spec": {"containers": [{"name": "c"}]}} for i in range(8)]

    class LikesN3(gs.Plugin):
        def score(self, pod, node):
            return 100 if node.name == "n3" else 0

    assert set(gs.simulate(world).pods["node"]) != {"n3"}
    assert set(gs.simulate(world, plugins=[(LikesN3(), 100)]).pods["node"]) == {"n3"}

    class Fails(gs.Plugin):
        def filter(self, pod, node):
            raise OSError("no")

    with pytest.raises(gs.Error) as ended:
        gs.simulate(world, plugins=[Fails()])
    assert isinstance(ended.value.__cause__, OSError)


def test_openb_runs_policies_and_plugins_on_the_same_arrivals(small):
    nodes, pods = small
    runs = gs.openb(nodes, pods, policies=["random", "fgd", Emptiest()], seeds=[1, 2])
    assert list(runs["policy"]) == ["random", "fgd", "Emptiest"] * 2 and list(runs["seed"]) == [1, 1, 1, 2, 2, 2]
    assert ((runs["alloc_100"] > 50) & (runs["alloc_100"] <= 100) & (runs["alloc_130"] >= runs["alloc_90"])).all()
    assert all(len(curve) == 131 for curve in runs["allocated"])
    mean = runs.groupby("policy")["alloc_100"].mean()
    assert mean["fgd"] > mean["Emptiest"]  # to spread is the worst thing to do
    again = gs.openb(nodes, pods, policies=["random", "fgd", Emptiest()], seeds=[1, 2])
    assert runs.drop(columns="us_per_pod").equals(again.drop(columns="us_per_pod"))


def test_openb_refuses_what_it_cannot_run(small):
    nodes, pods = small
    columns = pods.drop(columns="num_gpu")
    for wrong in ({"policies": ["fdg"]}, {"train": "later"}, {"pods": None}, {"nodes": nodes.head(0)}, {"pods": columns}):
        with pytest.raises(gs.Error):
            gs.openb(**{"nodes": nodes, "pods": pods, "seeds": [1], **wrong})

    class Fails(gs.Plugin):
        def score(self, pod, node):
            return 1 // 0

    with pytest.raises(gs.Error) as ended:
        gs.openb(nodes, pods, policies=[Fails()], seeds=[1])
    assert isinstance(ended.value.__cause__, ZeroDivisionError)


@pytest.mark.skipif("GANGSCHED_OPENB" not in os.environ, reason="GANGSCHED_OPENB names a folder with the lists of openb")
def test_openb_comes_to_the_published_figures():
    folder = os.environ["GANGSCHED_OPENB"]
    runs = gs.openb(f"{folder}/openb_node_list_gpu_node.csv", f"{folder}/openb_pod_list_default.csv", policies=["fgd"], seeds=range(42, 45))
    assert abs(runs["alloc_100"].mean() - 95.3) < 0.4


@pytest.fixture(scope="module")
def gangs():
    import pandas as pd

    rng = np.random.default_rng(11)
    return pd.DataFrame({"job": [f"j{i}" for i in range(120)], "vc": rng.choice(["x", "y"], 120),
                         "arrival_s": np.sort(rng.integers(0, 3000, 120)),
                         "workers": rng.choice([1, 2, 4, 8], 120), "duration_s": rng.integers(100, 3000, 120)})


def test_replay_says_how_long_who_waited_and_what_was_in_use(gangs):
    made = gs.replay(gangs=gangs, gpus=64)
    assert made.gpus == 64 and made.about["nodes"] == 8
    assert made.figures["jobs"]["arrived"] == 120 == made.figures["jobs"]["finished"]
    assert len(made.waits) == 120 and (made.waits["seconds"] >= 0).all()
    usage = made.usage
    assert (usage["computing"] <= 64).all() and usage["seconds"].is_monotonic_increasing
    seconds = usage["seconds"].diff().shift(-1).fillna(0)
    demand = (gangs["workers"] * gangs["duration_s"]).sum()
    assert (usage["computing"] * seconds).sum() == pytest.approx(demand)
    assert made.usage["idle"].max() == 0  # gangs that are placed whole hold nothing in vain
    assert gs.replay(gangs=gangs, gpus=64, handling="pod_by_pod").usage["idle"].max() > 0


def test_replay_by_tenants(gangs):
    made = gs.replay(gangs=gangs, gpus=64, queue_policy="FairShare", by_age=True)
    assert list(made.tenants["tenant"]) == ["x", "y"] or list(made.tenants["tenant"]) == ["y", "x"]
    assert made.tenants["arrived"].sum() == 120


def test_replay_of_openb_and_what_is_refused(small, gangs):
    nodes, pods = small
    made = gs.replay(nodes=nodes, pods=pods, stay=True)
    assert made.about["gpus"] == nodes["gpu"].sum() and made.figures["pods"]["arrived"] == 2000
    for wrong in ({"handling": "whole"}, {"profile": "stack"}, {"gangs": gangs, "nodes": nodes}, {"trace": "borg"}, {"speed": 0},
                  {"gangs": gangs.drop(columns="workers")}, {"gangs": "no-such-file.csv"}, {"gangs": gangs, "queue_policy": "Nobody"}):
        with pytest.raises(gs.Error):
            gs.replay(**wrong)
