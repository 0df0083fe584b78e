#!/usr/bin/env python3
"""gangsched-simulate says exactly what tests/examples/simulate/ has of the samples in examples/manifests; its formats agree, and the
score sheets add up to the scores in the table.   usage: simulate_samples.py SIMULATE"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
MANIFESTS = HERE.parents[1] / "examples" / "manifests"
EXIT_CODES = {"preemption": 1, "gpu": 1, "spread": 1, "gang": 1, "jobs": 0}
EXPLAINED = {"preemption": "checkout", "gpu": "inference", "spread": "shop/front-8", "gang": "bert-3", "jobs": "hotfix"}


def run(program, sample, *args):
    done = subprocess.run([program, f"{sample}-cluster.yaml", f"{sample}-workload.yaml", *args],
                          cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.stderr == "", done.stderr
    assert done.returncode == EXIT_CODES[sample], (sample, done.returncode)
    return done.stdout


def same(found, name):
    expected = (HERE / "simulate" / name).read_text(encoding="utf-8")
    assert found == expected, f"{name}: found:\n{found}"


def check_table(program, sample):
    text = run(program, sample)
    same(text, f"{sample}.txt")
    assert text == run(program, sample, "--seed", "0")


def check_formats(program, sample):
    report = json.loads(run(program, sample, "--output", "json"))
    assert report == yaml.safe_load(run(program, sample, "--output", "yaml"))
    statuses = [pod["status"] for pod in report["pods"]]
    for status in ("placed", "ended", "evicted", "unscheduled"):
        assert report["summary"][status] == statuses.count(status), status
    table = run(program, sample).splitlines()
    for pod, line in zip(report["pods"], table[1:], strict=False):
        words = line.split()
        assert pod["name"] in words and pod["status"] in words and pod.get("node", "-") in words, line
    running = [pod for pod in json.loads(run(program, sample, "--output", "json", "--all"))["pods"] if pod["status"] == "running"]
    assert len(running) == {"preemption": 2, "spread": 1}.get(sample, 0)
    return report


def check_score_sheets(program, sample, report):
    for pod in report["pods"]:
        asked = json.loads(run(program, sample, "--output", "json", "--explain", f"{pod['namespace']}/{pod['name']}"))
        assert {key: asked[key] for key in report} == report
        why = asked["explain"]
        if "attempts" not in pod:  # it ran before and is gone: nobody was asked
            assert not why["nodes"]
            continue
        assert len(why["nodes"]) == report["summary"]["nodes"]
        check_documented([asked])
        for node in why["nodes"]:
            assert ("reasons" in node) != ("scores" in node), node
            if "scores" in node:
                assert node["total"] == sum(score["score"] for score in node["scores"])
                assert all(score["score"] == score["normalized"] * score["weight"] for score in node["scores"])
        if "score" not in pod:
            continue
        assert why["at_seconds"] == pod["placed_seconds"]
        totals = [node["total"] for node in why["nodes"] if "total" in node]
        chosen = [node for node in why["nodes"] if node.get("chosen")]
        assert [node["name"] for node in chosen] == [pod["node"]]
        if pod.get("group"):
            continue  # ranked members change nodes among themselves when all have one
        assert chosen[0]["total"] == pod["score"] == max(totals), (pod, totals)


def check_explained_group(program):
    """A group that waits says how many of its members find a node, and what the next one lacks."""
    text = run(program, "gang", "--explain", "llama")
    same(text, "gang-group-explained.txt")
    report = json.loads(run(program, "gang", "--explain", "default/llama", "--output", "json"))["explain"]["groups"]
    assert len(report) == 1 and report[0]["name"] == "llama", report
    assert report[0]["placements"] == [{"name": "", "fit": 1, "needed": 4, "feasible": False, "missing": report[0]["placements"][0]["missing"]}], report
    assert "nvidia.com/gpu short on" in report[0]["summary"] and report[0]["change"].startswith("free or add 1 nvidia.com/gpu on ")


def keys_of(tree):
    for key, value in tree.items() if isinstance(tree, dict) else ():
        yield key
        yield from keys_of(value)
    for item in tree if isinstance(tree, list) else ():
        yield from keys_of(item)


def check_documented(trees):
    page = (HERE.parents[1] / "docs" / "simulate.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"[\w]+", " ".join(re.findall(r"`([^`]*)`", page))))
    missing = {key for tree in trees for key in keys_of(tree)} - documented
    assert not missing, f"docs/simulate.md does not say what these are: {missing}"


def check_explanation(program, sample, report):
    wanted = EXPLAINED[sample]
    full = next(name for name in (f"{pod['namespace']}/{pod['name']}" for pod in report["pods"]) if wanted in name)
    same(run(program, sample, "--explain", full), f"{sample}-explained.txt")


def check_observed(program):
    """Metrics and a trace are of the same run, which they do not change."""
    with tempfile.TemporaryDirectory() as folder:
        metrics, trace = pathlib.Path(folder, "metrics"), pathlib.Path(folder, "trace.json")
        same(run(program, "preemption", "--metrics", str(metrics), "--trace", str(trace)), "preemption.txt")
        text = metrics.read_text(encoding="utf-8")
        assert re.search(r'^scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} [1-9]', text, re.MULTILINE), text
        assert re.search(r"^scheduler_preemption_victims_count [1-9]", text, re.MULTILINE), text
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        assert {"schedule_cycle", "attempt", "evict"} <= {event["name"] for event in events}, events[:20]


def main(program):
    for sample in EXIT_CODES:
        check_table(program, sample)
        report = check_formats(program, sample)
        check_score_sheets(program, sample, report)
        check_explanation(program, sample, report)
        print("ok:", sample)
    check_observed(program)
    print("ok: metrics and a trace")
    check_explained_group(program)
    print("ok: a group explained")


if __name__ == "__main__":
    main(*sys.argv[1:])
