"""What goes into a cluster, in which words, and how it is refused."""

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gangsched as gs


def test_amounts_are_kubernetes_quantities():
    cluster = gs.Cluster()
    node = cluster.add_node(gs.Node("n", cpu=1.5, memory="2Gi", gpu=np.int64(4), allocatable={"example.com/nic": "3"}))
    assert cluster.allocatable(node, "cpu") == 1500
    assert cluster.allocatable(node, "memory") == 2 << 30
    assert cluster.allocatable("n", gs.GPU) == 4
    assert cluster.allocatable("n", "example.com/nic") == 3
    assert cluster.allocatable("n", "pods") == 110
    assert cluster.allocatable("n", "nobody.com/has") == 0


def test_amounts_beside_the_spec_stay_with_the_node():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=4))
    cluster.set_allocatable("n", {"kubernetes.io/batch-cpu": 2500})
    cluster.update_node("n", gs.Node("n", cpu=8))
    assert cluster.allocatable("n", "kubernetes.io/batch-cpu") == 2500
    with pytest.raises(gs.Error) as refused:
        cluster.set_allocatable("n", {"cpu": 1})
    assert (refused.value.code, refused.value.object) == ("wrong_state", "node n")


@pytest.mark.parametrize(
    "amount, code",
    [("4x", "malformed"), (True, "malformed"), (float("nan"), "malformed"), ([1], "malformed"), (1 << 70, "out_of_range"),
     (-1, "out_of_range")],
)  # fmt: skip
def test_what_is_no_amount_is_refused_by_name(amount, code):
    cluster = gs.Cluster()
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(gs.Node("n", allocatable={"cpu": amount}))
    assert refused.value.code == code
    assert refused.value.object == "node n"
    assert "cpu" in refused.value.field
    assert cluster.find_node("n") is None


def test_errors_say_object_field_and_reason_and_can_be_pickled(cluster):
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(gs.Node("node-a"))
    assert (refused.value.code, refused.value.object) == ("duplicate", "node node-a")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.code, again.object, again.field, again.reason, str(again)) == (
        refused.value.code, refused.value.object, refused.value.field, refused.value.reason, str(refused.value))
    with pytest.raises(gs.Error, match="nobody"):
        cluster.remove_pod("nobody")
    with pytest.raises(gs.Error) as several:
        cluster.apply({"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 7}},
                      {"kind": "Pod", "metadata": {"name": "y"}, "spec": {"containers": 7}})
    again = pickle.loads(pickle.dumps(several.value))
    assert [str(one) for one in again.mistakes] == [str(one) for one in several.value.mistakes]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_not_added(cluster, phase):
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod({"metadata": {"name": "done"}, "status": {"phase": phase}})
    assert (refused.value.code, refused.value.object, refused.value.field) == ("wrong_state", "pod default/done", "status.phase")
    assert cluster.find_pod("done") is None


def test_fields_of_the_wrong_type_are_refused(cluster):
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", priority="high"))  # type: ignore[arg-type]
    assert (refused.value.object, refused.value.field) == ("Pod", "priority")
    with pytest.raises(gs.Error) as refused:
        cluster.add_group(gs.Group("g", min_count=2, mode="all at once"))
    assert "group_cycle, permit" in refused.value.reason


def test_names_do_for_ids(cluster):
    pod = cluster.add_pod(gs.Pod("web", namespace="shop", node="node-b"))
    assert cluster.node_of("shop/web") == cluster.node_of(pod) == cluster.find_node("node-b")
    assert cluster.state_of(pod) == "bound"
    assert cluster.name_of(pod) == "web"
    assert {pod: 1}[cluster.find_pod("web", "shop")] == 1
    assert pod != cluster.find_node("node-a")
    cluster.remove_pod("shop/web")
    assert cluster.state_of(pod) == "none"
    assert cluster.name_of(pod) == ""


def test_tolerations_affinity_and_spread_are_read_as_kubernetes_has_them(cluster):
    cluster.add_node(gs.Node("tainted", cpu=64, labels={"zone": "c"}, taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))
    cluster.add_pod(gs.Pod("keeps-out", cpu=32))
    cluster.add_pod(gs.Pod("tolerates", cpu=32, tolerations=[{"key": "gpu", "operator": "Exists"}]))
    in_zone_b = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}}}
    cluster.add_pod(gs.Pod("in-b", cpu=1, affinity=in_zone_b))
    cluster.add_pod(gs.Pod("selected", cpu=1, node_selector={"zone": "a"}))
    scheduler = gs.Scheduler(cluster)
    placed = {d.pod_name: d.node_name for d in scheduler.run(0) if d.kind == "bind"}
    assert placed == {"tolerates": "tainted", "in-b": "node-b", "selected": "node-a"}
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("bad", tolerations=[{"operator": "Sometimes"}]))
    assert "tolerations[0].operator" in refused.value.field


def test_a_pod_goes_where_the_features_are_that_it_requires():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("without", declared_features=["Y"]))
    cluster.add_node(gs.Node("with", declared_features=["Y", "X", "Y"]))
    cluster.add_pod(gs.Pod("picky", required_features=["X", "Y"]))
    cluster.add_pod({"metadata": {"name": "restarts"}, "spec": {"containers": [
        {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}})  # fmt: skip
    scheduler = gs.Scheduler(cluster)
    assert {d.pod_name: d.node_name for d in scheduler.run(0) if d.kind == "bind"} == {"picky": "with"}
    cluster.add_node({"metadata": {"name": "restarter"}, "status": {
        "allocatable": {"pods": "10"}, "declaredFeatures": ["RestartAllContainersOnContainerExits"]}})  # fmt: skip
    assert [d.node_name for d in scheduler.run(60)] == ["restarter"]
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(gs.Node("bad", declared_features=["X", ""]))
    assert refused.value.field == "declared_features[1]"


def test_a_dict_of_kubernetes_shape_is_a_node_or_a_pod(cluster):
    cluster.add_node({"metadata": {"name": "from-dict", "labels": {"zone": "z"}}, "status": {"allocatable": {"cpu": "3", "pods": "10"}}})
    assert cluster.allocatable("from-dict", "cpu") == 3000
    pod = cluster.add_pod({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"nodeSelector": {"zone": "z"}, "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
    })  # fmt: skip
    assert [d.node_name for d in gs.Scheduler(cluster).run(0)] == ["from-dict"]
    assert cluster.state_of(pod) == "bound"
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod({"kind": "Node", "metadata": {"name": "x"}})
    assert refused.value.code == "malformed"


def test_manifests_are_applied_as_a_whole_or_not_at_all(cluster, manifests, tmp_path):
    before = cluster.digest()
    with pytest.raises(gs.Error) as refused:
        cluster.apply("kind: Node\napiVersion: v1\nmetadata: {name: fresh}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: node-a}\n")
    assert refused.value.code == "duplicate"
    assert cluster.digest() == before

    assert cluster.apply(manifests / "two-teams.yaml") == []
    assert {cluster.name_of(queue) for queue in cluster.queues()} == {"cohort/teams", "blue", "red"}
    pods = [{"kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {"containers": [{"name": "c"}]}} for i in range(3)]
    written = tmp_path / "pods.json"
    written.write_text(json.dumps({"kind": "List", "items": [pods.pop()]}))
    cluster.apply(pods, str(written))
    assert all(cluster.find_pod(f"p{i}") is not None for i in range(3))


def test_what_manifests_say_and_nobody_reads_is_a_warning(cluster):
    warnings = cluster.apply({"kind": "Node", "metadata": {"name": "n"}, "spec": {"colour": "blue"}})
    assert len(warnings) == 1 and "spec.colour" in warnings[0]


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas, lambda frame: frame.to_dict("records")])
def test_tables_are_nodes_and_pods_a_row_each(make):
    cluster = gs.Cluster()
    nodes = pd.DataFrame({"name": ["a", "b"], "cpu": [4, 8], "memory": ["8Gi", "16Gi"], "gpu": [None, 2], "label:zone": ["x", "y"],
                          "example.com/nic": [1, float("nan")]})
    assert cluster.add_nodes(make(nodes)) == [cluster.find_node("a"), cluster.find_node("b")]
    assert cluster.nodes(["cpu", gs.GPU, "example.com/nic"]).allocatable.tolist() == [[4000, 0, 1], [8000, 2, 0]]
    pods = pd.DataFrame({"name": ["p", "q"], "cpu": ["500m", "1"], "gpu": [1, 0], "priority": [float("nan"), 7],
                         "load_cpu_percent": [85, float("nan")], "load_memory_percent": [float("nan"), 70]})
    cluster.add_pods(make(pods))
    assert cluster.pods().priority.tolist() == [0, 7]
    assert {d.pod_name: d.node_name for d in gs.Scheduler(cluster).run(0)}["p"] == "b"


def test_a_table_with_a_bad_row_adds_nobody(cluster):
    before = cluster.digest()
    with pytest.raises(gs.Error):
        cluster.add_nodes([{"name": "fine"}, {"name": "node-a"}])
    assert cluster.digest() == before
    with pytest.raises(gs.Error):
        cluster.add_pods([{"name": "fine"}, {"name": "bad", "cpu": "much"}])
    assert len(cluster.pods()) == 0


def test_tables_of_nodes_are_vectors_and_snapshots(cluster):
    cluster.add_pod(gs.Pod("p", cpu=3, gpu=1, node="node-b"))
    table = cluster.nodes()
    assert table.names == ["node-a", "node-b"]
    assert table.resources == ["cpu", "memory", "pods", gs.GPU]
    assert table.requested[:, 0].tolist() == [0, 3000]
    assert np.array_equal(table.free, table.allocatable - table.requested)
    free = table.free
    assert free.base is not None  # a view
    cluster.remove_pod("p")
    assert free[1, 0] == 5000 and cluster.nodes().free[1, 0] == 8000
    del table
    assert free.sum() > 0  # it keeps what it looks into
    frame = cluster.nodes(["cpu"]).to_pandas()
    assert frame["free_cpu"].tolist() == [8000, 8000]
    assert cluster.nodes().to_arrow().column("node").to_pylist() == ["node-a", "node-b"]


def test_tables_of_pods_say_where_they_are(cluster):
    cluster.add_queue(gs.Queue("team", namespaces=["default"]))
    cluster.add_pod(gs.Pod("runs", node="node-b", priority=5, cookie=77))
    cluster.add_pod(gs.Pod("waits"))
    table = cluster.pods()
    assert table.state.tolist() == [3, 1]
    assert table.node.tolist() == [cluster.find_node("node-b").row, 0xFFFFFFFF]
    assert table.cookie.tolist() == [77, 0]
    frame = table.to_pandas()
    assert frame["state"].tolist() == ["bound", "pending"]
    assert frame["queue"].tolist() == ["team", "team"]
    assert frame["node"].tolist() == ["node-b", ""]
    assert table.to_arrow().num_rows == len(table) == 2


def test_a_trial_is_undone_bit_for_bit_unless_it_is_committed(cluster):
    scheduler = gs.Scheduler(cluster)
    waits = cluster.add_pod(gs.Pod("big", cpu=12))
    assert scheduler.run(0).count() == {"reject": 1}
    before = cluster.digest()
    with cluster.trial():
        big = cluster.add_node(gs.Node("big-node", cpu=16))
        assert [v.name for v in scheduler.explain(waits).nodes if v.code == "success"] == ["big-node"]
        with pytest.raises(gs.Error) as refused:
            scheduler.run(1)
        assert refused.value.code == "busy"
    assert cluster.digest() == before
    assert cluster.name_of(big) == "" and cluster.find_node("big-node") is None
    with pytest.raises(KeyError), cluster.trial():
        cluster.add_node(gs.Node("big-node", cpu=16))
        raise KeyError
    assert cluster.digest() == before
    with cluster.trial() as trial:
        cluster.add_node(gs.Node("big-node", cpu=16))
        trial.commit()
    assert [d.node_name for d in scheduler.run(1)] == ["big-node"]


def test_trials_end_from_the_inside(cluster):
    before = cluster.digest()
    outer, inner = cluster.trial(), cluster.trial()
    with outer:
        cluster.add_node(gs.Node("outer"))
        with inner:
            cluster.add_node(gs.Node("inner"))
            for end in (outer.commit, lambda: outer.__exit__(None, None, None), inner.__enter__):
                with pytest.raises(gs.Error) as refused:
                    end()
                assert refused.value.code == "wrong_state"
            inner.commit()
        assert cluster.find_node("inner") is not None
        with pytest.raises(gs.Error):
            inner.commit()
    assert cluster.digest() == before and cluster.find_node("inner") is None


def test_devices_are_shared_in_thousandths():
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8, gpu_devices=2, gpu_model="T4"))
    for i in range(3):
        cluster.add_pod(gs.Pod(f"p{i}", gpu_devices=1, gpu_milli=600))
    decisions = gs.Scheduler(cluster, gs.Profile.default()).run(0)
    assert decisions.count() == {"bind": 2, "reject": 1}
    assert sorted(d.devices for d in decisions if d.kind == "bind") == [["0"], ["1"]]
    assert cluster.gpu_free_milli("n").tolist() == [400, 400]


def test_groups_and_queues_can_be_changed_and_removed(cluster):
    group = cluster.add_group(gs.Group("g", min_count=3))
    cluster.update_group(group, gs.Group("g", min_count=2))
    for i in range(2):
        cluster.add_pod(gs.Pod(f"p{i}", group="g"))
    assert gs.Scheduler(cluster).run(0).count() == {"bind": 2}
    queue = cluster.add_queue(gs.Queue("q", guaranteed={"cpu": 2}))
    cluster.update_queue("q", gs.Queue("q", guaranteed={"cpu": 3}, state="hold"))
    cluster.remove_queue(queue)
    assert cluster.find_queue("q") is None
    with pytest.raises(gs.Error):
        cluster.add_queue(gs.Queue("r", state="ajar"))
    removed = cluster.remove_node("node-a")
    assert {pod.name for pod in removed} <= {"p0", "p1"} and all(pod.namespace == "default" for pod in removed)


def test_specs_are_replaced_by_dicts(cluster):
    cluster.add_node({"metadata": {"name": "late"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}})
    cluster.update_node("late", {"metadata": {"name": "late"}, "spec": {"unschedulable": True}, "status": {"allocatable": {"cpu": "6", "pods": "10"}}})
    assert cluster.allocatable("late", "cpu") == 6000
    cluster.add_pod({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})
    cluster.update_pod("p", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "nodeName": "late"}})
    assert cluster.state_of("p") == "bound"
    before = cluster.digest()
    for spec in ({"metadata": {"name": "other"}}, {"metadata": {"name": "late"}, "status": {"allocatable": {"cpu": "many"}}}):
        with pytest.raises(gs.Error):
            cluster.update_node("late", spec)
    assert cluster.digest() == before


def test_who_is_refused_leaves_no_group_that_is_expected(cluster):
    before = cluster.digest()
    for spec in (gs.Pod("p", group="new", priority_class="none-such"), gs.Pod("p", group="new", cpu=-1)):
        with pytest.raises(gs.Error):
            cluster.add_pod(spec)
    assert cluster.find_group("new") is None and cluster.digest() == before
