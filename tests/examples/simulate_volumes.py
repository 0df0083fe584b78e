#!/usr/bin/env python3
"""gangsched-simulate binds claims of volumes as their pods are placed: the sample of examples/manifests says exactly what
tests/examples/simulate/ has, and small cases.   usage: simulate_volumes.py SIMULATE"""
import json
import subprocess
import sys
import tempfile

import yaml

from simulate_samples import MANIFESTS, check_documented, same

SAMPLE = "volumes-zonal"


def run(program, *args):
    done = subprocess.run([program, f"{SAMPLE}.yaml", *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.returncode
    assert done.stderr.count("\n") == 1 and 'no persistentvolumeclaim "gone"; the pod waits for it' in done.stderr, done.stderr
    return done.stdout


def check_sample(program):
    same(run(program), f"{SAMPLE}.txt")
    report = json.loads(run(program, "--output", "json"))
    assert report == yaml.safe_load(run(program, "--output", "yaml"))
    check_documented([report])
    where = {pod["name"]: pod.get("node") for pod in report["pods"]}
    assert where["db-0"] == "node-b", where
    assert where["backup"] == where["db-1"] == "node-a", where  # in the zones of the class, and b is full
    assert {where[f"ledger-{i}"] for i in range(3)} == {"node-a", "node-c", None}, where
    # Explained as things stood: ledger-1 was told of the disk that was left.
    placed = [name for name in ("ledger-0", "ledger-1", "ledger-2") if where[name]]
    asked = json.loads(run(program, "--output", "json", "--explain", placed[-1]))["explain"]
    assert sum("scores" in each for each in asked["nodes"]) == 1, asked


def volume(name, host):
    terms = [{"matchExpressions": [{"key": "host", "operator": "In", "values": [host]}]}]
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                     "local": {"path": "/mnt"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}


LOCAL = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
         "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}


def stateful_set(name, replicas, storage_class=None, labels=None, spec=None, cpu="1"):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    if storage_class is not None:
        claim["storageClassName"] = storage_class
    labels = {"app": name, **(labels or {})}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": labels},
                                  "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **(spec or {})}},
                     "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}}


def nodes(count, cpu="4"):
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"host": f"n{i}"}},
             "status": {"allocatable": {"cpu": cpu, "pods": "110"}}} for i in range(count)]


def simulate(program, objects, *args):
    done = subprocess.run([program, "-", "-o", "json", *args], input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), done.stderr


def check_local_disks(program):
    """One disk a node: each pod gets another, though one node would do for all; the one too many is told why."""
    report, _ = simulate(program, [*nodes(3, "9"), LOCAL, *(volume(f"v{i}", f"n{i}") for i in range(3)), stateful_set("db", 4, "local")])
    assert sorted(pod["node"] for pod in report["pods"] if pod["status"] == "placed") == ["n0", "n1", "n2"], report
    late = [pod["reason"] for pod in report["pods"] if pod["status"] == "unscheduled"]
    assert late and late[0].startswith("0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind."), late


def check_many_disks(program):
    """So many pods that wait that they are not all told of each disk that is taken: the same comes of it."""
    count = 150
    objects = [*nodes(count), LOCAL, *(volume(f"v{i}", f"n{i}") for i in range(count)), stateful_set("db", count + 1, "local")]
    report, _ = simulate(program, objects)
    assert len({pod["node"] for pod in report["pods"] if pod["status"] == "placed"}) == count, report["summary"]
    late = [pod["reason"] for pod in report["pods"] if pod["status"] == "unscheduled"]
    assert late == ["0/150 nodes are available: 150 node(s) didn't find available persistent volumes to bind."], late


def check_gang(program):
    """Members of a gang that are placed at once do not get the same disk."""
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": 3}}
    made = stateful_set("db", 3, "local", labels={"scheduling.x-k8s.io/pod-group": "g"})
    report, _ = simulate(program, [*nodes(3, "9"), LOCAL, *(volume(f"v{i}", f"n{i}") for i in range(3)), group, made])
    assert sorted(pod.get("node", "") for pod in report["pods"]) == ["n0", "n1", "n2"], report


def check_presumed(program):
    """An application's manifests alone: its claims have volumes made, and one line says that this is presumed."""
    report, words = simulate(program, [*nodes(1), stateful_set("web", 2, "fast"), stateful_set("db", 1)])
    assert report["summary"]["placed"] == 3, report
    assert words.count("\n") == 1 and "no StorageClass is in the files" in words and '"fast"' in words, words


def check_once(program):
    """A ReadWriteOncePod claim has one user; the second one goes where the first was, when that has ended."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "one"},
             "spec": {"accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1Gi"}}}}

    def pod(name):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"activeDeadlineSeconds": 60, "containers": [{"name": "c", "image": "i"}],
                         "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "one"}}]}}

    report, _ = simulate(program, [*nodes(2), claim, pod("first"), pod("second")])
    assert [each["placed_seconds"] for each in report["pods"]] == [0, 60], report


def check_arrivals(program):
    """Who comes later binds what is left then; what somebody leaves who ends stays bound, and whose it is finds it where it is."""

    def claim(name, mode="ReadWriteOnce", storage="local"):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                "spec": {"accessModes": [mode], "storageClassName": storage, "resources": {"requests": {"storage": "1Gi"}}}}

    def pod(name, of, cpu="1"):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
                         "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": of}}]}}

    def run(table, count, cpu, *objects):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write("name,arrival_s,duration_s\n" + table)
            file.flush()
            disks = [volume(f"v{i}", f"n{i}") for i in range(count)]
            report, _ = simulate(program, [*nodes(count, cpu), LOCAL, *disks, *objects], "--arrivals", file.name)
        return {each["name"]: (each.get("node"), each.get("placed_seconds"), each.get("ended_seconds")) for each in report["pods"]}

    three = [claim("a"), claim("b"), claim("c"), pod("p", "a"), pod("q", "b"), pod("r", "c")]
    got = run("p,0,10\nq,5,10\nr,20,\n", 2, "4", *three)
    assert sorted(got[name][0] for name in "pq") == ["n0", "n1"] and got["r"] == (None, None, None), got
    got = run("p,0,10\nlate,30,\nfiller,15,\n", 2, "4", claim("a"), claim("b"), pod("p", "a"), pod("late", "a"), pod("filler", "b", "3"))
    assert got["late"] == (got["p"][0], 30, None) and got["filler"][0] != got["p"][0], got
    got = run("first,50,\n", 1, "4", claim("a"), claim("b"), pod("first", "a"), pod("now", "b"))
    assert got == {"first": (None, None, None), "now": ("n0", 0, None)}, got  # who is not there yet keeps no disk
    got = run("p,0,40\nq,5,10\n", 2, "1", claim("a"), pod("p", "a"), pod("q", "a"))
    assert got["q"] == (got["p"][0], 40, 50), got  # the other node is empty all the time


def check_capacity(program):
    """As many volumes are made on each node as its driver has room for."""
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lvm"}, "provisioner": "lvm.io",
               "volumeBindingMode": "WaitForFirstConsumer"}
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "lvm.io"}, "spec": {"storageCapacity": True}}
    rooms = [{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": host, "namespace": "lvm"},
              "nodeTopology": {"matchLabels": {"host": host}}, "storageClassName": "lvm", "capacity": size}
             for host, size in (("n0", "12Gi"), ("n1", "5Gi"), ("n2", "4Gi"))]
    report, words = simulate(program, [*nodes(3, "9"), storage, driver, *rooms, stateful_set("db", 4, "lvm")])
    assert words == "" and sorted(pod["node"] for pod in report["pods"] if pod["status"] == "placed") == ["n0", "n0", "n1"], (words, report)
    report, _ = simulate(program, [*nodes(3, "9"), storage, *rooms, stateful_set("db", 4, "lvm")])
    assert report["summary"]["placed"] == 4, "a driver that says nothing has room everywhere"


def check_later_pods(program):
    """Pods that are made while time passes have claims of their own, of the templates of their ephemeral volumes."""
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lvm"}, "provisioner": "lvm.io",
               "volumeBindingMode": "WaitForFirstConsumer"}
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "lvm.io"}, "spec": {"storageCapacity": True}}
    room = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "n0", "namespace": "lvm"},
            "nodeTopology": {"matchLabels": {"host": "n0"}}, "storageClassName": "lvm", "capacity": "10Gi"}
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "lvm", "resources": {"requests": {"storage": "4Gi"}}}}
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": claim}}]}
    runs = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": spec}}}}}
    report, words = simulate(program, [*nodes(1, "9"), storage, driver, room, runs], "--controllers", "live", "--until", "4m")
    assert words == "" and [pod["status"] for pod in report["pods"]] == 2 * ["placed"] + 2 * ["unscheduled"], (words, report)
    assert "didn't find available persistent volumes to bind" in report["pods"][2]["reason"], report["pods"][2]


def check_ephemeral_claims_go_with_their_pod(program):
    """What a drain moves leaves the volume of its node behind, and so does a pod of the same name that is made again."""
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lvm"}, "provisioner": "lvm.io",
               "volumeBindingMode": "WaitForFirstConsumer"}
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "lvm", "resources": {"requests": {"storage": "4Gi"}}}}
    disk = volume("v", "n0")
    disk["spec"] |= {"storageClassName": "lvm", "claimRef": {"namespace": "default", "name": "db-0-scratch", "uid": "u"}}
    disk["status"] = {"phase": "Bound"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "db-0-scratch", "uid": "u", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "db-0", "controller": True}]},
             "spec": {**template["spec"], "volumeName": "v"}, "status": {"phase": "Bound"}}
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "db-0", "labels": {"app": "db"},
                        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}]},
           "spec": {"nodeName": "n0", "priority": 0, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}],
                    "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}, "status": {"phase": "Running"}}
    cluster = [*nodes(2), storage, disk, claim, pod]
    report, words = simulate(program, cluster, "--drain", "n0")
    assert words == "" and [one["node"] for one in report["pods"]] == ["n1"], (words, report)
    big = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
           "spec": {"priority": 5, "nodeSelector": {"host": "n0"}, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}}
    report, words = simulate(program, [*cluster, big], "--controllers", "live")
    assert {(one["name"], one["status"], one["node"]) for one in report["pods"]} == {
        ("db-0", "evicted", "n0"), ("db-0", "placed", "n1"), ("big", "placed", "n0")}, (words, report)


def main(program):
    for check in (check_sample, check_local_disks, check_many_disks, check_gang, check_presumed, check_once, check_arrivals, check_capacity, check_later_pods,
                  check_ephemeral_claims_go_with_their_pod):
        check(program)
        print("ok:", check.__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
