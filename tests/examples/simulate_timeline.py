#!/usr/bin/env python3
"""gangsched-simulate --timeline says who had which node when, and why pods waited; it changes nothing else. --report is a page of that, where
the build has one.   usage: simulate_timeline.py SIMULATE"""
import json
import pathlib
import re
import subprocess
import sys

from simulate_inputs import node, pod, run_each
from simulate_samples import MANIFESTS

SAMPLES = ["two-teams", "volcano-job", "kueue-topology", "queues-kai", "queues-kueue", "shared-capacity", "koordinator-devices",
           *[(f"{name}-cluster", f"{name}-workload") for name in ("preemption", "gang", "jobs", "gpu", "spread", "devices", "dra", "shared-claims")]]


def report_of(program, sample, *args):
    files = [f"{name}.yaml" for name in ([sample] if isinstance(sample, str) else sample)]
    done = subprocess.run([program, *files, "--all", "--gpus", "--queues", "--output", "json", *args], cwd=MANIFESTS, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode in (0, 1), (sample, done.stderr)
    return json.loads(done.stdout)


def without_timeline(report):
    made = {key: value for key, value in report.items() if key != "nodes"}
    made["pods"] = []
    for each in report["pods"]:
        each = {key: value for key, value in each.items() if key not in ("requests", "queue", "stays", "rejections")}
        if "devices" in each:
            each["devices"] = [{key: value for key, value in one.items() if key != "taken_milli"} for one in each["devices"]]
        made["pods"].append(each)
    return made


def at(report, time):
    """What each node's pods request at a time."""
    used = {one["name"]: {} for one in report["nodes"]}
    for each in report["pods"]:
        for stay in each.get("stays", []):
            if stay["from_seconds"] <= time < stay.get("until_seconds", float("inf")):
                for resource, amount in each["requests"].items():
                    used[stay["node"]][resource] = used[stay["node"]].get(resource, 0) + amount
    return used


def samples_add_up(simulate):
    """Nothing is otherwise than without; nodes never have more than they can; in the end queues and GPUs use what those tables say."""
    for sample in SAMPLES:
        report = report_of(simulate.program, sample, "--timeline")
        assert without_timeline(report) == report_of(simulate.program, sample), sample
        there = {one["name"]: one["allocatable"] for one in report["nodes"]}
        times = {stay["from_seconds"] for each in report["pods"] for stay in each.get("stays", [])}
        for time in times:
            for name, used in at(report, time).items():
                for resource, amount in used.items():
                    assert amount <= there[name].get(resource, 0), (sample, time, name, resource, amount)
        for each in report["pods"]:
            stays = each.get("stays", [])
            if each["status"] in ("placed", "running"):
                assert stays[-1]["node"] == each["node"] and "until_seconds" not in stays[-1], (sample, each)
                assert stays[-1]["from_seconds"] == each.get("placed_seconds", 0), (sample, each)
            if each["status"] in ("evicted", "ended"):
                assert stays[-1]["until_seconds"] == each.get("gone_seconds", each.get("ended_seconds")), (sample, each)
            if each["status"] == "unscheduled":
                assert all("until_seconds" in one for one in stays), (sample, each)
            for stay, after in zip(stays, stays[1:], strict=False):
                assert stay["until_seconds"] <= after["from_seconds"], (sample, each)
        check_queues(sample, report)
        check_gpus(sample, report)


def check_queues(sample, report):
    parents = {queue["name"]: queue.get("parent") for queue in report.get("queues", [])}
    used = {}
    for each in report["pods"]:
        if "until_seconds" in (each.get("stays") or [{"until_seconds": 0}])[-1]:
            continue
        queue = each.get("queue")
        while queue:
            for resource, amount in each["requests"].items():
                used[queue, resource] = used.get((queue, resource), 0) + amount
            queue = parents.get(queue)
    for queue in report.get("queues", []):
        for amount in queue["amounts"]:
            if "flavor" not in amount:
                assert amount["used"] == used.get((queue["name"], amount["resource"]), 0), (sample, queue, used)


def check_gpus(sample, report):
    for one in report.get("node_gpus", []):
        for gpu in one["gpus"]:
            milli, memory, claims = 0, 0, set()
            for each in report["pods"]:
                if each.get("node") != one["node"] or each["status"] not in ("placed", "running", "waiting"):
                    continue
                for device in each.get("devices", []):
                    if device["name"] != gpu["name"] or device.get("claim") in claims:
                        continue
                    claims.update([device["claim"]] if "claim" in device else [])
                    milli += device["taken_milli"]
                    memory += device.get("memory_mib", 0)
            if "used_slices" not in gpu:
                whole = one.get("gpu_memory_mib", 0)
                assert max(milli, 1000 * memory // whole if whole else 0) == gpu["used_milli"], (sample, one["node"], gpu, milli, memory)
            elif gpu["used_slices"]:
                assert milli > 0, (sample, one["node"], gpu)


def why_somebody_waited_is_kept(simulate):
    cluster = node("n1", 4) + "---\n" + pod("first", 3) + "---\n" + pod("second", 3)
    (simulate.room / "times.csv").write_text("name,arrival_s,duration_s\nfirst,0,60\nsecond,10,60\n")
    done = simulate.raw("--timeline", "--output", "json", "--arrivals", "times.csv", a=cluster)
    first, second = json.loads(done.stdout)["pods"]
    assert "rejections" not in first, first
    nobody = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert second["rejections"] == [{"at_seconds": 10, "reason": "0/1 nodes are available: 1 Insufficient cpu. " + nobody}], second
    assert second["stays"] == [{"node": "n1", "from_seconds": 60, "until_seconds": 120}], second
    assert second["requests"]["cpu"] == 3000, second
    assert "stays" not in simulate("--arrivals", "times.csv", a=cluster)["first"]


def the_page_has_the_json(simulate):
    cluster = node("n1", 4) + "---\n" + pod("first", 3, labels={"a": "b"}) + "---\n" + pod("second", 3)
    page = simulate.room / "page.html"
    done = simulate.raw("--report", "page.html", "--output", "json", "--all", "--gpus", "--queues", "--timeline", a=cluster)
    if done.returncode == 2:
        assert done.stderr == "error: this build has no page for --report: run scripts/report-page and build again\n", done.stderr
        assert done.stdout == "" and not page.exists()
        return
    assert done.returncode == 1, done
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert data["tool"] == "gangsched-simulate" and data["title"] == "a.yaml", data
    assert [run["result"] for run in data["runs"]] == [json.loads(done.stdout)]
    assert not re.search(r'(src|href)="', text), "it is one file"
    assert simulate.raw("--report", "none/page.html", a=cluster).stderr == "error: none/page.html: cannot be written\n"


if __name__ == "__main__":
    run_each(sys.argv[1], samples_add_up, why_somebody_waited_is_kept, the_page_has_the_json)
