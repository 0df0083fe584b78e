#!/usr/bin/env python3
"""gangsched-simulate says of groups what became of them: in the samples of examples/manifests that have workloads, and in small cases.
usage: simulate_workloads.py SIMULATE"""
import collections
import json
import pathlib
import subprocess
import sys

import yaml

from simulate_inputs import node, pod, run_each
from simulate_samples import MANIFESTS, check_documented

# Of each sample: the exit code, and of each group its minimum, bound and pending pods, and whether it came to its minimum.
SAMPLES = {
    "workload-tree": (1, {"small": (2, 3, 0, True), "small-prefill": (1, 1, 0, True), "small-decode": (2, 2, 0, True),
                          "large-all": (2, 0, 15, False), "large-prefill": (7, 0, 7, False), "large-decode": (8, 0, 8, False)}),
    "coscheduling": (1, {"train": (3, 3, 0, True), "later": (3, 0, 3, False)}),
    "volcano-job": (1, {"resnet": (3, 3, 1, True)}),
    "volcano-sub-groups": (1, {"pairs": (2, 4, 2, True), "pairs-pair-0": (2, 2, 0, True), "pairs-pair-1": (2, 2, 0, True),
                               "pairs-pair-2": (2, 0, 2, False)}),
    "ray-cluster": (1, {"tune": (2, 3, 1, True)}),
    "job-set": (0, {"pretrain": (5, 5, 0, True)}),
    "leader-worker-set": (1, {"llm-0": (3, 3, 0, True), "llm-1": (3, 0, 3, False)}),
    "koordinator-gang": (1, {"actor": (2, 2, 0, True), "learner": (2, 2, 0, True), "actor-group": (2, 4, 0, True),
                             "alone": (2, 0, 1, False)}),
    "kueue-topology": (0, {"allreduce": (4, 4, 0, True)}),
}
PARENTS = {"workload-tree": {"small-prefill": "small", "small-decode": "small", "large-prefill": "large-all", "large-decode": "large-all"},
           "volcano-sub-groups": {f"pairs-pair-{i}": "pairs" for i in range(3)},
           "koordinator-gang": {"actor": "actor-group", "learner": "actor-group"}}
ROLES = {"volcano-job": {"ps": (1, 1), "worker": (2, 2)}, "ray-cluster": {"head": (1, 1), "gpu": (1, 2)},
         "job-set": {"driver": (1, 1), "workers": (4, 4)}}


def run(program, sample, *args):
    code = SAMPLES[sample][0]
    done = subprocess.run([program, f"{sample}.yaml", *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == code, (sample, done.returncode, done.stderr)
    return done.stdout


def check_sample(program, sample):
    report = json.loads(run(program, sample, "--output", "json"))
    assert report == yaml.safe_load(run(program, sample, "--output", "yaml"))
    check_documented([report])
    groups = {each["name"]: each for each in report["groups"]}
    found = {name: (each["minimum"], each["bound"], each["pending"], each["condition"]["status"] == "True")
             for name, each in groups.items()}
    assert found == SAMPLES[sample][1], found
    members = collections.Counter(each["group"] for each in report["pods"] if each["status"] == "placed")
    for name, each in groups.items():
        assert each["composite"] == (name in PARENTS.get(sample, {}).values())
        assert each.get("parent") == PARENTS.get(sample, {}).get(name)
        assert each["composite"] or members[name] == each["bound"]
        assert each["condition"]["type"] == ("Composite" if each["composite"] else "") + "PodGroupInitiallyScheduled"
        assert each["condition"]["reason"] == ("Scheduled" if found[name][3] else "Unschedulable")
        assert ("since_seconds" in each["condition"]) == found[name][3] != ("message" in each["condition"])
    for role, counts in ROLES.get(sample, {}).items():
        one = next(each for each in report["groups"][0]["roles"] if each["role"] == role)
        assert (one["minimum"], one["bound"]) == counts, one
    table = run(program, sample)
    lines = {line.split()[0]: line for line in table.split("\n\n")[1].splitlines()}
    assert set(lines) == {"GROUP", *groups}, lines
    assert all(("True" in lines[name]) == found[name][3] for name in groups)
    for each in (report["pods"][0], report["pods"][-1]):
        assert run(program, sample, "--explain", each["name"]).startswith(f"default/{each['name']} ")
    return report


def check_samples(program):
    for sample in SAMPLES:
        report = check_sample(program, sample)
        if sample == "kueue-topology":  # four of them only fit into r2
            assert report["groups"][0].get("domain", "r2") == "r2"
        if sample == "volcano-sub-groups":
            racks = [each["node"][:5] for each in report["pods"] if each["status"] == "placed"]
            assert racks[0] == racks[1] != racks[2] == racks[3], racks
        if sample == "volcano-job":
            assert [each["name"] for each in report["pods"]] == ["resnet-ps-0"] + [f"resnet-worker-{i}" for i in range(3)]
        print("ok:", sample)


def group(name, least, more=""):
    return f"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {{name: {name}}}\n" \
           f"spec: {{schedulingPolicy: {{gang: {{minCount: {least}}}}}{more}}}\n---\n"


def groups_of(simulate, *args, code=0, **files):
    done = simulate.raw("--output", "json", *args, **files)
    assert done.returncode == code, done
    return {each["name"]: each for each in json.loads(done.stdout)["groups"]}


MEMBER = "  schedulingGroup: {podGroupName: g}\n"


def the_condition_stays_true(simulate):
    """As in Kubernetes, though the members have gone."""
    short = MEMBER + "  activeDeadlineSeconds: 60\n"
    made = groups_of(simulate, a=node("n1"), b=group("g", 2) + pod("m0", spec=short) + "---\n" + pod("m1", spec=short))["g"]
    assert (made["bound"], made["pending"]) == (0, 0)
    assert made["condition"]["status"] == "True" and made["condition"]["since_seconds"] == 0


def members_that_run_count(simulate):
    made = groups_of(simulate, a=node("n1"), b=group("g", 2) + pod("m0", spec=MEMBER + "  nodeName: n1\n") + "---\n" + pod("m1", spec=MEMBER))
    assert made["g"]["bound"] == 2 and made["g"]["condition"]["status"] == "True"


def domains_are_shown(simulate):
    nodes = node("n1", rack="r1") + "---\n" + node("n2", rack="r1") + "---\n" + node("n3", rack="r2")
    with_key = group("g", 2, ", schedulingConstraints: {topology: [{key: rack}]}")
    for second, domain in (("n2", "r1"), ("n3", None)):
        pods = pod("m0", spec=MEMBER + "  nodeName: n1\n") + "---\n" + pod("m1", spec=MEMBER + f"  nodeName: {second}\n")
        made = groups_of(simulate, a=nodes, b=with_key + pods)["g"]
        assert made.get("domain") == domain and made.get("domain_key") == (domain and "rack"), made
        text = simulate.raw(a=nodes, b=with_key + pods).stdout
        assert ("rack=r1" in text) == (domain is not None), text


def groups_that_nobody_describes(simulate):
    done = simulate.raw("--output", "json", a=node("n1"), b=pod("m0", spec=MEMBER))
    assert done.stderr == 'warning: b.yaml:1: Pod default/m0: no pod group "g": its members wait for it\n', done.stderr
    made, = json.loads(done.stdout)["groups"]
    assert made["name"] == "g" and "condition" not in made and "minimum" not in made, made
    assert made["message"] == "is in no file: its members wait for it"


def a_group_without_pods(simulate):
    made = groups_of(simulate, a=node("n1"), b=group("g", 2))["g"]
    assert made["condition"]["status"] == "False" and made["condition"]["message"] == "has no pods"


def a_job_after_another_one_is_done(simulate):
    """The first ends with its deadline; whoever waits for it runs in the end."""
    jobs = "".join(f"""  - name: {name}
    {more}
    template: {{spec: {{template: {{spec: {{activeDeadlineSeconds: 60, containers: [{{name: c, resources: {{requests: {{cpu: 4}}}}}}]}}}}}}}}
""" for name, more in (("first", "replicas: 1"), ("second", "dependsOn: [{name: first, status: Complete}]")))
    jobs = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n" + jobs
    made = groups_of(simulate, a=node("n1", cpu=4), b=jobs)
    assert list(made) == ["s-first", "s-second"]
    assert made["s-first"]["condition"]["since_seconds"] == 0 and made["s-second"]["condition"]["since_seconds"] >= 60, made


def a_job_after_a_job_with_partitions_is_done(simulate):
    """What Volcano splits into sub-groups is done when the last of them is."""
    pods = "template: {spec: {activeDeadlineSeconds: %d, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}"
    parts = "{name: t, replicas: 2, partitionPolicy: {totalPartitions: 2, partitionSize: 1}, " + pods + "}"
    for tasks, done_at in ((parts % 60, 60), (parts % 90 + ", {name: other, " + pods % 60 + "}", 90), (parts % 60 + ", {name: other, " + pods % 90 + "}", 90)):
        flow = "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f}\n" \
               "spec: {flows: [{name: a}, {name: b, dependsOn: {targets: [a]}}]}\n---\n"
        flow += "".join(f"apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata: {{name: {name}}}\nspec: {{tasks: [{its}]}}\n---\n"
                        for name, its in (("a", tasks), ("b", "{name: t, " + pods % 60 + "}")))
        made = groups_of(simulate, a=node("n1", cpu=4), b=flow)
        assert made["f-b"]["condition"].get("since_seconds") == done_at, made


def wrong_groups(simulate):
    two = pod("p", spec=MEMBER, labels={"scheduling.x-k8s.io/pod-group": "other"})
    done = simulate.raw(a=node("n1"), b=two)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("error: b.yaml:1: Pod default/p: metadata.labels") and "a member of two groups" in done.stderr
    done = simulate.raw(a=node("n1"), b=group("g", 2) + group("g", 3))
    assert done.returncode == 0 and done.stderr == "warning: b.yaml:1: PodGroup default/g: comes again: the later one counts\n", done


def main(program):
    check_samples(program)
    run_each(program, the_condition_stays_true, members_that_run_count, domains_are_shown, groups_that_nobody_describes,
             a_group_without_pods, a_job_after_another_one_is_done, a_job_after_a_job_with_partitions_is_done, wrong_groups)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
