#!/usr/bin/env python3
"""gangsched-simulate draws the tree of queues, and its policy holds: in the samples of examples/manifests that have queues.
usage: simulate_queues.py SIMULATE"""
import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

from simulate_samples import MANIFESTS, check_documented, same

GPU = "nvidia.com/gpu"
# Of each sample: the exit code, and of each queue what it is guaranteed of GPUs, its limit, and what it uses, borrows and waits for.
SAMPLES = {
    "queues-kueue": (1, {"cohort/research": (8, None, 6, 0, 0), "vision": (6, None, 6, 0, 0), "other/jobs": (None, None, 0, None, 1)}),
    "queues-volcano": (0, {"engineering": (None, 8, 6, None, 0), "tests": (2, 4, 2, 0, 0), "training": (6, None, 4, 0, 0)}),
    "queues-kai": (0, {"department": (8, None, 6, 0, 0), "product": (5, 6, 2, 0, 0), "research": (3, None, 4, 1, 0)}),
    "queues-koordinator": (0, {"company": (8, 8, 3, 0, 0), "team-a": (5, 8, 3, 0, 0), "team-b": (3, 8, 0, 0, 0), "web/compute": None}),
    "queues-yunikorn": (0, {"root": (None, None, 3, None, 0), "root.batch": (4, 6, 2, 0, 0), "root.teams": (None, None, 1, None, 0),
                            "root.teams.maps": (2, 4, 1, 0, 0)}),
    "queues-hived": (0, {"speech": (2, None, 4, 2, 0), "vision": (4, None, 4, 0, 0)}),
}


def run(program, sample, *args, code=None, warns=False):
    done = subprocess.run([program, f"{sample}.yaml", *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert (done.stderr != "") == warns, (sample, done.stderr)
    assert code is None or done.returncode == code, (sample, done.returncode, done.stderr)
    return done.stdout


def queues_of(report, resource=GPU):
    def of(queue):
        for each in queue["amounts"]:
            if each["resource"] == resource and "flavor" not in each:
                return each.get("guaranteed"), each.get("limit"), each["used"], each.get("borrowed"), each["waiting"]
        return None
    return {queue["name"]: of(queue) for queue in report["queues"]}


def statuses(report):
    return {f"{each['namespace']}/{each['name']}": each["status"] for each in report["pods"]}


def check_two_teams(program):
    """40 % and 60 % of ten GPUs: who borrowed gives back, and nobody else goes."""
    report = json.loads(run(program, "two-teams", "--queues", "--all", "-o", "json", code=0))
    assert report == yaml.safe_load(run(program, "two-teams", "--queues", "--all", "-o", "yaml", code=0))
    check_documented([report])
    had = queues_of(report)
    assert had == {"cohort/teams": (10, None, 10, 0, 0), "blue": (6, None, 6, 0, 0), "red": (4, None, 4, 0, 0)}, had
    found = statuses(report)
    assert all(found[f"blue/train-{i}"] == "placed" for i in range(6)), found
    assert sorted(found[f"red/sweep-{i}"] for i in range(8)) == 4 * ["evicted"] + 4 * ["running"], found
    same(run(program, "two-teams", "--queues", code=0), "two-teams.txt")
    # Without a policy nobody gives anything back, and blue gets the two GPUs that are free.
    alone = json.loads(run(program, "two-teams", "--queues", "--queues-policy", "none", "-o", "json", code=1))
    had = queues_of(alone)
    assert had == {"cohort/teams": (10, None, 10, 0, 4), "blue": (6, None, 2, 0, 4), "red": (4, None, 8, 4, 0)}, had


def check_idle_owner(program, directory):
    """Red has what blue does not use; nothing is drawn unless it is asked for."""
    text = (MANIFESTS / "two-teams.yaml").read_text(encoding="utf-8")
    red = "---\n".join(each for each in text.split("---\n") if "name: train-" not in each)
    assert red.count("kind: Pod") == 8
    path = directory / "red.yaml"
    path.write_text(red.replace("  nodeName: node-1\n", "").replace("  nodeName: node-2\n", ""), encoding="utf-8")
    report = json.loads(run(program, str(path.with_suffix("")), "--queues", "-o", "json", code=0))
    assert queues_of(report)["red"] == (4, None, 8, 4, 0), queues_of(report)
    assert queues_of(report)["blue"] == (6, None, 0, 0, 0)
    assert "queues" not in json.loads(run(program, "two-teams", "-o", "json"))


CONFIGURATION = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Kueue}]}
    queueSort: {disabled: [{name: "*"}], enabled: [{name: Kueue}]}
"""


def check_kueue(program, directory):
    """Kueue's policy by name and by a configuration: flavors in the queue's order, a gang in one of them; and who borrowed gives back."""
    path = directory / "kueue.yaml"
    path.write_text(CONFIGURATION, encoding="utf-8")
    for how in (["--queues-policy", "Kueue"], ["--config", str(path)]):
        report = json.loads(run(program, "queues-kueue", *how, "--queues", "--all", "-o", "json", code=1, warns=True))
        assert queues_of(report) == SAMPLES["queues-kueue"][1], queues_of(report)
        nodes = {each["name"].rsplit("-", 1)[0]: each.get("node") for each in report["pods"]}
        assert nodes["train"] == "spot-1" and nodes["sweep"] == "reserved-1", nodes
        report = json.loads(run(program, "two-teams", *how, "--queues", "--all", "-o", "json"))
        found = statuses(report)
        assert all(found[f"blue/train-{i}"] == "placed" for i in range(6)), found
        assert sorted(found[f"red/sweep-{i}"] for i in range(8)) == 4 * ["evicted"] + 4 * ["running"], found


def check_lowered_maximum(program, directory):
    """YuniKorn's queue gives back what it has above its maximum after its delay, and not before; nobody else gives anything."""
    policy = ["--queues-policy", "YuniKorn", "--queues", "--all", "-o", "json"]
    report = json.loads(run(program, "lowered-maximum", *policy, code=0))
    check_documented([report])
    assert queues_of(report)["root.research"] == (2, 4, 4, 2, 0), queues_of(report)
    gone = {each["name"]: (each["evicted_by"], each["evicted_seconds"], each["gone_seconds"]) for each in report["pods"] if "evicted_by" in each}
    assert gone == {name: ("its queue's maximum", 90, 120) for name in ("sweep-4", "sweep-5")}, gone
    placed = {each["name"]: each["placed_seconds"] for each in report["pods"] if each["name"].startswith("server")}
    assert sorted(placed.values()) == [0, 0, 120], placed
    same(run(program, "lowered-maximum", "--queues-policy", "YuniKorn", "--queues", code=0), "lowered-maximum.txt")
    # Without the policy, or where the partition does not enable it, nobody goes. Where seven are to be freed by twos one stays too many,
    # and the run ends all the same.
    text = (MANIFESTS / "lowered-maximum.yaml").read_text(encoding="utf-8")
    twos = text.replace("nvidia.com/gpu: 1}", "nvidia.com/gpu: 2}").replace("nvidia.com/gpu: 4}", "nvidia.com/gpu: 5}")
    for changed, how, expected in ((text, ["--queues-policy", "none", "-o", "json"], 0), (text.replace("enabled: true", "enabled: false"), policy, 0), (twos, policy, 3)):
        path = directory / "changed.yaml"
        path.write_text(changed, encoding="utf-8")
        report = json.loads(run(program, str(path.with_suffix("")), *how, code=1))
        assert len([each for each in report["pods"] if each["status"] == "evicted"]) == expected, report["pods"]


def check_samples(program):
    for sample, (code, expected) in SAMPLES.items():
        report = json.loads(run(program, sample, "--queues", "-o", "json", code=code, warns=sample == "queues-kueue"))
        check_documented([report])
        assert queues_of(report) == expected, (sample, queues_of(report))


def check_refused(program):
    command = [program, "two-teams.yaml", "--queues-policy", "Nobody"]
    done = subprocess.run(command, cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == 'error: --queues-policy: no plugin "Nobody"\n', done.stderr


def main(program):
    check_two_teams(program)
    with tempfile.TemporaryDirectory() as directory:
        check_idle_owner(program, pathlib.Path(directory))
        check_kueue(program, pathlib.Path(directory))
        check_lowered_maximum(program, pathlib.Path(directory))
    check_samples(program)
    check_refused(program)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
