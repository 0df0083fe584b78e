#!/usr/bin/env python3
"""gangsched-simulate on clusters as they might be: nodes drained and lost, nodes to add and to take away, and what is otherwise than in
another run.   usage: simulate_what_if.py SIMULATE"""
import json
import sys

from simulate_inputs import node, pod, run_each


def zone(name, where, cpu=4):
    return node(name, cpu, **{"topology.kubernetes.io/zone": where})


def owned(name, where, kind="ReplicaSet", cpu=1):
    text = pod(name, cpu, spec=f"  nodeName: {where}\n")
    return text.replace("labels: {}", f"labels: {{}}, ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: r, uid: u, controller: true}}]")


def result(simulate, *args, code=0, **files):
    done = simulate.raw(*args, "--output", "json", **files)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout), done.stderr.splitlines()


CLUSTER = "---\n".join([zone("a1", "a"), zone("a2", "a"), zone("b1", "b", 2),
                        owned("web", "a1"), owned("daemon", "a1", "DaemonSet"), pod("bare", spec="  nodeName: a1\n")])


def a_drained_node_takes_nobody_and_keeps_its_daemons(simulate):
    report, told = result(simulate, "--all", "--drain", "a1", a=CLUSTER)
    pods = {one["name"]: one for one in report["pods"]}
    assert set(pods) == {"web", "daemon"}, pods
    assert pods["web"]["status"] == "placed" and pods["web"]["node"] != "a1", pods
    assert pods["daemon"]["status"] == "running" and pods["daemon"]["node"] == "a1", pods
    assert told == ['warning: Pod default/bare: has no controller that would make it again: it is gone with node "a1"'], told
    assert report["summary"]["nodes"] == 3, report


def a_lost_zone_is_gone_with_its_daemons(simulate):
    report, _ = result(simulate, "--all", "--lose", "a", a=CLUSTER)
    assert [(one["name"], one["status"], one["node"]) for one in report["pods"]] == [("web", "placed", "b1")], report
    assert report["summary"]["nodes"] == 1, report
    report, _ = result(simulate, "--lose", "a1", "--lose", "b", a=CLUSTER)
    assert [one["node"] for one in report["pods"]] == ["a2"] and report["summary"]["nodes"] == 1, report


def a_mirror_pod_ends_with_its_node(simulate):
    """A static pod is its kubelet's: a drain ignores it, and it goes nowhere else."""
    by_owner = owned("owner", "a1", "Node").replace("apps/v1", "v1")
    by_annotation = pod("annotated", spec="  nodeName: a1\n").replace("labels: {}", 'labels: {}, annotations: {kubernetes.io/config.mirror: "x"}')
    cluster = "---\n".join([zone("a1", "a"), zone("a2", "a"), by_owner, by_annotation])
    report, told = result(simulate, "--all", "--drain", "a1", a=cluster)
    assert [(one["status"], one["node"]) for one in report["pods"]] == 2 * [("running", "a1")] and told == [], (report, told)
    report, told = result(simulate, "--all", "--lose", "a1", a=cluster + "---\n" + pod("new"))
    assert [one["name"] for one in report["pods"]] == ["new"] and told == [], (report, told)
    report, _ = result(simulate, "--scale-down", a=cluster)
    assert [one for one in report["scale_down"] if one["node"] == "a1"] == [{"node": "a1", "moves": []}], report
    # A scheduler may evict it; no controller makes another one for some node.
    low = cluster.replace("  nodeName: a1\n", "  nodeName: a1\n  priority: -1\n")
    report, _ = result(simulate, "--controllers", "live", a=low + "---\n" + pod("big", 4, "  nodeSelector: {kubernetes.io/hostname: a1}\n"))
    assert [one["status"] for one in report["pods"]] == ["evicted", "evicted", "placed"], report


VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: s, claimRef: {namespace: default, name: c}, csi: {driver: d, volumeHandle: h},
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: s, volumeName: v}
status: {phase: Bound}
"""


def who_is_put_out_goes_where_its_volume_is(simulate):
    with_claim = owned("db", "a1") + "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n"
    cluster = "---\n".join([zone("b1", "b", 16), zone("a1", "a"), zone("a2", "a", 2), VOLUME, with_claim])
    report, _ = result(simulate, "--drain", "a1", a=cluster)
    assert [one["node"] for one in report["pods"]] == ["a2"], report
    report, _ = result(simulate, "--lose", "a", code=1, a=cluster)
    assert report["pods"][0]["status"] == "unscheduled", report


def what_is_not_there_cannot_be_lost(simulate):
    for args, message in [(("--lose", "c"), 'error: --lose: no node and no zone "c"'), (("--drain", "a"), 'error: --drain: no node "a"')]:
        done = simulate.raw(*args, a=CLUSTER)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.splitlines() == [message], done


SHAPES = node("small", 4).replace("labels:", 'annotations: {gangsched.dev/price: "3", gangsched.dev/most: "1"}, labels:') + "---\n" + \
    node("large", 16).replace("labels:", 'annotations: {gangsched.dev/price: "10"}, labels:')


def nodes_are_found_for_who_is_left(simulate):
    (simulate.room / "shapes.yaml").write_text(SHAPES)
    waiting = "---\n".join([node("n1", 2)] + [pod(f"p{i}", 2) for i in range(3)] + [pod("huge", 100)])
    report, _ = result(simulate, "--scale-up", "shapes.yaml", code=1, a=waiting)
    up = report["scale_up"]
    assert up["left"] == ["default/huge"], up
    assert [one["price"] for one in up["plans"]] == sorted(one["price"] for one in up["plans"]), up
    assert up["plans"][0]["price"] == 3 and [one["shape"] for one in up["plans"][0]["nodes"]] == ["small"], up
    assert len(up["plans"][0]["nodes"][0]["pods"]) == 2, up
    text = simulate.raw("--scale-up", "shapes.yaml", a=waiting).stdout
    assert "    3  1 small       2 pods\n" in text and "No such node helps: huge\n" in text, text
    more = "---\n".join([node("n1", 2)] + [pod(f"p{i}", 4) for i in range(3)])
    report, _ = result(simulate, "--scale-up", "shapes.yaml", code=1, a=more)  # there is one small one
    assert [one["price"] for one in report["scale_up"]["plans"]][0] == 10, report
    report, _ = result(simulate, "--scale-up", "shapes.yaml", a=node("n1", 2) + "---\n" + pod("p"))
    assert report["scale_up"] == {"plans": [], "left": []}, report
    (simulate.room / "shapes.yaml").write_text(SHAPES.replace('"3"', "cheap"))
    done = simulate.raw("--scale-up", "shapes.yaml", a=waiting)
    assert done.returncode == 2 and done.stderr.splitlines() == [
        'error: Node small: metadata.annotations["gangsched.dev/price"]: "cheap" is no number from 0 on'], done


def nodes_that_are_not_needed_are_found(simulate):
    report, _ = result(simulate, "--scale-down", a="---\n".join([node("n1", 4), node("n2", 4), owned("p", "n1"), owned("q", "n2")]))
    assert report["scale_down"] == [{"node": "n1", "moves": [{"pod": "default/p", "node": "n2"}]}], report
    full = "---\n".join([node("n1", 1), node("n2", 1), owned("p", "n1"), owned("q", "n2")])
    assert result(simulate, "--scale-down", a=full)[0]["scale_down"] == []
    assert "No node can be drained.\n" in simulate.raw("--scale-down", a=full).stdout


def runs_are_compared(simulate):
    cluster = "---\n".join([node("n1", 4), node("n2", 4), pod("p", 3), pod("q", 3)])
    before = simulate.raw("--output", "json", a=cluster).stdout
    (simulate.room / "before.json").write_text(before)
    report, _ = result(simulate, "--diff", "before.json", a=cluster)
    assert report["diff"] == {"pods": [], "groups": [], "numbers": []}, report
    assert "Nothing is otherwise than before.\n" in simulate.raw("--diff", "before.json", a=cluster).stdout
    was = {one["name"]: one["node"] for one in json.loads(before)["pods"]}
    report, _ = result(simulate, "--diff", "before.json", "--lose", was["q"], code=1, a=cluster + "---\n" + pod("new"))
    changes = {one["name"]: (one.get("before"), one.get("now")) for one in report["diff"]["pods"]}
    assert changes == {"default/q": (f"placed on {was['q']}", "unscheduled"), "default/new": (None, f"placed on {was['p']}")}, report
    assert {"what": "nodes", "before": 2, "now": 1} in report["diff"]["numbers"], report
    report, _ = result(simulate, "--diff", "before.json", a="---\n".join([node("n1", 4), node("n2", 4), pod("p", 3)]))
    assert {"name": "default/q", "before": f"placed on {was['q']}"} in report["diff"]["pods"], report
    for text in ("{}", "[1]", "no json", '{"summary": {}, "pods": {}}'):
        (simulate.room / "before.json").write_text(text)
        done = simulate.raw("--diff", "before.json", a=cluster)
        assert done.returncode == 2 and done.stderr.splitlines() == [
            "error: before.json: is no result of gangsched-simulate --output json"], done
    done = simulate.raw("--diff", "nowhere.json", a=cluster)
    assert done.returncode == 2 and done.stderr.splitlines() == ["error: nowhere.json: cannot be read"], done


def pods_come_and_end_over_time(simulate):
    job = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}}
"""
    cluster = "---\n".join([node("n1", 4), pod("first", 4), pod("second", 4), pod("there", 1, spec="  nodeName: n1\n"), job])
    (simulate.room / "times.csv").write_text("name,arrival_s,duration_s\nfirst,10,60\ndefault/second,20,\ntrain,30,5\nthere,0,15\n")
    report, _ = result(simulate, "--arrivals", "times.csv", code=1, a=cluster)  # `second` stays
    pods = {one["name"].rsplit("-", 2)[0] if one["name"].startswith("train") else one["name"]: one for one in report["pods"]}
    assert (pods["first"]["arrived_seconds"], pods["first"]["placed_seconds"], pods["first"]["ended_seconds"]) == (10, 15, 75), pods
    assert (pods["second"]["arrived_seconds"], pods["second"]["placed_seconds"], pods["second"]["status"]) == (20, 75, "placed"), pods
    assert pods["there"]["ended_seconds"] == 15, pods
    (simulate.room / "times.csv").write_text("name,arrival_s,duration_s\nfirst,0,60\nsecond,0,10\ntrain,30,5\n")
    report, _ = result(simulate, "--arrivals", "times.csv", a=cluster.replace("nodeName: n1", "schedulerName: other"), code=1)
    times = [(one["arrived_seconds"], one["placed_seconds"], one["ended_seconds"]) for one in report["pods"] if one["name"].startswith("train")]
    assert times == [(30, 70, 75), (30, 70, 75)], report
    for table, message in [("name,arrival_s\nnobody,1\n", 'error: times.csv:2:1: name: "nobody" is no pod, no controller and no group'),
                           ("name\nfirst\n", None), ("name,arrival_s\nfirst,soon\n", None)]:
        (simulate.room / "times.csv").write_text(table)
        done = simulate.raw("--arrivals", "times.csv", a=cluster)
        assert done.returncode == 2 and done.stdout == "", done
        assert message is None or done.stderr.splitlines() == [message], done


CHANGES = """apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: x}}
spec: {taints: [{key: dedicated, value: ml, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {zone: w}}
status: {allocatable: {cpu: "4", memory: 32Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: c}
spec: {unschedulable: true}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "10"}}
---
"""


def what_would_make_a_pod_fit_is_told(simulate):
    taint, cordon = "if it tolerated the taint dedicated=ml:NoSchedule", "if nodes were not cordoned"
    label = "without the node selector gpu=a100, a label that is on no node"
    anti = "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}\n"
    cases = [  # the pod, and what helps on how many nodes
        (pod("p", 6), [("if b had 2 cpu more", 1), (taint, 1), (cordon, 1)]),
        (pod("p", 2, spec="  nodeSelector: {gpu: a100}\n"), [(label, 1)]),
        (pod("p", 12, spec="  nodeSelector: {zone: x}\n"), [(f"if a had 4 cpu more and {taint}", 1)]),
        (pod("p", 2, spec="  nodeSelector: {zone: x}\n  tolerations: [{key: dedicated, operator: Exists}]\n"), None),
        (pod("p", 4) + "---\n" + pod("q", 4, spec="  nodeName: b\n"), [("if b had 4 cpu more", 1), (taint, 1), (cordon, 1)]),
        (pod("p", 2, spec=anti) + "---\n" + pod("q", 1, spec="  nodeName: b\n"), [(cordon, 1), (taint, 1), ("without its required anti-affinity to pods", 1)]),
    ]
    for asked, expected in cases:
        done = simulate.raw("--explain", "p", "--output", "json", a=CHANGES, b=asked)
        found = json.loads(done.stdout)["explain"].get("changes")
        told = found and [(one["change"], one["nodes"]) for one in found]
        assert (told and sorted(told)) == (expected and sorted(expected)), (asked, told)
        text = simulate.raw("--explain", "p", a=CHANGES, b=asked).stdout
        assert ("It would fit:\n" in text) == (expected is not None), text
        for change, nodes in expected or []:
            assert f"  {change} ({nodes} node{'' if nodes == 1 else 's'})\n" in text, text


def what_helps_is_no_guess(simulate):
    """Whoever does what is told has a pod that fits."""
    gpus = node("g", 8).replace("allocatable: {", 'allocatable: {nvidia.com/gpu: "2", ')
    asked = pod("p", 1).replace("requests: {", 'requests: {nvidia.com/gpu: "3", ')
    found = json.loads(simulate.raw("--explain", "p", "--output", "json", a=gpus, b=asked).stdout)
    assert [one["change"] for one in found["explain"]["changes"]] == ["if g had 1 nvidia.com/gpu more"], found
    assert simulate(a=gpus.replace('gpu: "2"', 'gpu: "3"'), b=asked)["p"]["status"] == "placed"


if __name__ == "__main__":
    run_each(sys.argv[1], a_drained_node_takes_nobody_and_keeps_its_daemons, a_mirror_pod_ends_with_its_node, a_lost_zone_is_gone_with_its_daemons,
             who_is_put_out_goes_where_its_volume_is,
             what_is_not_there_cannot_be_lost, nodes_are_found_for_who_is_left, nodes_that_are_not_needed_are_found, runs_are_compared,
             pods_come_and_end_over_time, what_would_make_a_pod_fit_is_told, what_helps_is_no_guess)
