#!/usr/bin/env python3
"""gangsched-simulate says which devices pods get: in the samples of examples/manifests that have some, and in small cases.
usage: simulate_devices.py SIMULATE"""
import json
import pathlib
import subprocess
import sys

import yaml

from simulate_inputs import node, pod, run_each
from simulate_samples import MANIFESTS, check_documented

# Of each sample: the files, the exit code, and what of the table's DEVICES is certain.
SAMPLES = {
    "devices": (("devices-cluster", "devices-workload"), 1, {
        "train": "GPU-0, GPU-1, GPU-2, GPU-3", "hami": "GPU-0 300/1000 6000 MiB", "kai": "GPU-1 250/1000 3840 MiB",
        "koordinator": "GPU-2 500/1000 7680 MiB", "thousandths": "GPU-3 810/1000", "mig-four": "GPU-0 4g.20gb@0", "two-whole": ""}),
    "dra": (("dra-cluster", "dra-workload"), 1, {"train": "gpu-0, gpu-1, nic-0", "serve-0": "gpu-0-low", "serve-1": "gpu-2",
                                                 "serve-2": "gpu-0-high", "whole": ""}),
    "shared-claims": (("shared-claims-cluster", "shared-claims-workload"), 1, {
        "near": "gpu-2, nic-0", "near-too": "", "ring-0": "gpu-0, gpu-1", "ring-2": "gpu-0, gpu-1", "writer": "gpu-0", "reader": "gpu-0"}),
    "shared-capacity": (("shared-capacity",), 1, {"fast": "nic-0 bandwidth 4000000000", "small": "nic-0 bandwidth 1000000000", "late": ""}),
    "koordinator": (("koordinator-devices",), 0, {"pair": "GPU-c, GPU-d", "near": "GPU-a 500/1000 40960 MiB, mlx5_0",
                                                  "half": "GPU-a 500/1000 40960 MiB"}),
    "numa": (("numa-cluster", "numa-workload"), 1, {"train": "GPU-0, GPU-1, memory 8Gi@0, cpu 1-6", "serve": "GPU-2, memory 4Gi@1, cpu 9-12",
                                                    "batch": "", "wide": ""}),
    "koordinator-numa": (("koordinator-numa",), 1, {"cores": "cpu 0,4", "threads": "cpu 2-3", "strict": ""}),
}


def run(program, sample, *args):
    files, code, _ = SAMPLES[sample]
    done = subprocess.run([program, *(f"{name}.yaml" for name in files), *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode == code, (sample, done.returncode, done.stderr)
    return done.stdout


def text_of(device):
    """As in the table."""
    if "units" in device:
        return device["name"] + "".join(f" {one['name'].split('/')[1]} {one['amount']}" for one in device.get("capacities", ()))
    if "cpus" in device:
        return f"cpu {device['cpus']}"
    if "cells" in device:
        return f"{device['name']} {device['bytes'] >> 30}Gi@{','.join(map(str, device['cells']))}"
    if "mig_profile" in device:
        return f"{device['name']} {device['mig_profile']}@{device['mig_start']}"
    whole = device.get("milli") == 1000 and "memory_mib" not in device
    milli = f" {device['milli']}/1000" if "milli" in device and not whole else ""
    return device["name"] + milli + (f" {device['memory_mib']} MiB" if "memory_mib" in device else "")


def check_sample(program, sample):
    report = json.loads(run(program, sample, "--gpus", "--output", "json"))
    assert report == yaml.safe_load(run(program, sample, "--gpus", "--output", "yaml"))
    check_documented([report])
    assert "node_gpus" not in json.loads(run(program, sample, "--output", "json"))
    found = {each["name"]: ", ".join(text_of(one) for one in each.get("devices", ())) for each in report["pods"]}
    for name, wanted in SAMPLES[sample][2].items():
        assert found[name] == wanted, (name, found[name])
    table = run(program, sample)
    for name, text in found.items():
        line, = (line for line in table.splitlines() if line.startswith(name + " "))
        assert text in line, line
    check_sums(report)


def check_sums(report):
    """What pods have is what is used."""
    used = {}
    for each in report["pods"]:
        for one in each.get("devices", ()):
            key = each["node"], one["name"]
            used[key] = used.get(key, 0) + one.get("milli", 0)
    for each in report["node_gpus"]:
        for gpu in each["gpus"]:
            assert gpu["used_milli"] >= used.get((each["node"], gpu["name"]), 0), (each["node"], gpu)
            assert 0 <= gpu["used_milli"] <= 1000 and gpu["healthy"] == (gpu["name"] != "GPU-b")


def the_map(program):
    text = run(program, "devices", "--gpus", "--ascii")
    rows = {line.split()[0]: line.split()[2:] for line in text.split("\n\n")[1].splitlines()[1:-1]}
    assert rows["dgx-1"] == 6 * ["########"] + 2 * ["........"], rows
    assert rows["mig-fixed"][0] == "........" and rows["mig-fixed"][1].count("m") + rows["mig-fixed"][1].count("o") == 8, rows
    assert rows["mig-dynamic"] == ["mmmm..m.", "........"], rows
    assert "xxxxxxxx" in run(program, "koordinator", "--gpus") and "unhealthy" in run(program, "koordinator", "--gpus")
    assert run(program, "dra", "--gpus") == run(program, "dra")  # nobody tells of GPUs there


T4 = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": "15360"}
HALF = "metadata: {{name: {}, annotations: {{gpu-fraction: \"0.5\"}}}}\nspec: {{containers: [{{name: c}}]{}}}\n---\n"


def half(name, more=""):
    return "apiVersion: v1\nkind: Pod\n" + HALF.format(name, more)


def numa_cells_can_be_too_small(simulate):
    cluster, workload = ((MANIFESTS / f"numa-{each}.yaml").read_text() for each in ("cluster", "workload"))
    done = simulate.raw("--all", "--output", "json", a=cluster, b=workload)
    pods = {each["name"]: each for each in json.loads(done.stdout)["pods"]}
    assert "TopologyAffinityError" in pods["wide"]["reason"] and pods["batch"]["status"] == "placed", pods


def shares_fill_a_gpu(simulate):
    pods = simulate(code=1, a=node("n1", **T4), b=half("a") + half("b") + half("c"))
    assert [pods[name]["status"] for name in "abc"] == ["placed", "placed", "unscheduled"]
    assert "didn't have enough free GPUs" in pods["c"]["reason"], pods["c"]


def a_share_needs_a_node_that_tells(simulate):
    pods = simulate(code=1, a=node("n1"), b=half("a"))
    assert "node(s) didn't have devices" in pods["a"]["reason"], pods["a"]


def pods_that_run_hold_devices(simulate):
    done = simulate.raw("--all", "--output", "json", a=node("n1", **T4), b=half("a", ", nodeName: n1") + half("b") + half("c"))
    pods = {each["name"]: each for each in json.loads(done.stdout)["pods"]}
    assert done.returncode == 1 and pods["a"]["status"] == "running" and pods["a"]["devices"][0]["name"] == "GPU-0", pods
    assert [pods[name]["status"] for name in "bc"] == ["placed", "unscheduled"]


def room_comes_free(simulate):
    """A deadline ends the pod, and another gets its half."""
    pods = simulate(a=node("n1", **T4), b=half("a", ", activeDeadlineSeconds: 60") + half("b") + half("c"))
    assert pods["c"]["placed_seconds"] >= 60 and pods["c"]["devices"] == pods["a"]["devices"], pods


def what_is_wrong_is_told(simulate):
    mig = {**T4, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/mig-8g.1gb.count": "1"}
    for first, second, message in (
            (node("n1", **mig), pod("p"), 'a.yaml:3: Node n1: metadata.labels["nvidia.com/mig-8g.1gb.count"]: A100-40GB has no MIG profile "8g.1gb"'),
            (node("n1", **{**T4, "nvidia.com/gpu.memory": "lots"}), pod("p"),
             'a.yaml:3: Node n1: metadata.labels["nvidia.com/gpu.memory"]: "lots" is no whole number in 0 to 1073741824')):
        done = simulate.raw(a=first, b=second)
        assert done.returncode == 2 and done.stdout == "" and done.stderr == f"error: {message}\n", done.stderr
    done = simulate.raw("--ascii", a=node("n1"))
    assert done.returncode == 2 and "--ascii requires --gpus" in done.stderr, done.stderr


def a_claim_of_a_class_that_is_not_there_waits(simulate):
    claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\nspec: {devices: {requests: [{name: r, exactly: " \
            "{deviceClassName: nothing}}]}}\n---\n"
    done = simulate.raw(a=node("n1"), b=claim + pod("p", spec="  resourceClaims: [{name: mine, resourceClaimName: x}]\n") + "---\n" + pod("q"))
    why = 'b.yaml:1: ResourceClaim default/x: spec.devices.requests[0].deviceClassName: there is no DeviceClass "nothing"'
    assert done.returncode == 1 and f"waits for what it refers to: {why}" in done.stdout and "1 placed, 1 unscheduled" in done.stdout, done
    assert done.stderr == f"warning: b.yaml:6: Pod default/p: {why}; the pod waits for it\n", done.stderr


def who_has_a_tainted_device_goes(simulate):
    """At once, or when the claim tolerates it no longer; who tolerates it gets it."""
    slices = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.io, nodeName: n1, pool: {name: n1}, " \
             "devices: [{name: a}, {name: b}]}\n---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {selectors: " \
             "[{cel: {expression: 'device.driver == \"d.io\"'}}]}\n---\napiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\n" \
             "metadata: {name: r}\nspec: {deviceSelector: {driver: d.io}, taint: {key: ill, effect: NoExecute}}\n---\n"
    claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {0}}}\nspec: {{devices: {{requests: [{{name: r, exactly: " \
            "{{deviceClassName: c{1}}}}}]}}}}\n{2}---\n"
    has = "status: {{allocation: {{devices: {{results: [{{request: r, driver: d.io, pool: n1, device: {}, tolerations: [{}]}}]}}}}}}\n"
    a_while = "{key: ill, operator: Exists, effect: NoExecute, tolerationSeconds: 60}"
    uses = "  nodeName: n1\n  resourceClaims: [{{name: mine, resourceClaimName: {}}}]\n".format
    text = slices + claim.format("first", "", has.format("a", "")) + claim.format("second", "", has.format("b", a_while)) \
        + claim.format("third", ", tolerations: [{operator: Exists}]", "") + claim.format("none", "", "")
    pods = [pod("p", spec=uses("first")), pod("q", spec=uses("second")), pod("r", spec=uses("third").replace("  nodeName: n1\n", "")),
            pod("s", spec=uses("none").replace("  nodeName: n1\n", ""))]
    got = simulate("--all", code=1, a=node("n1"), b=text + "---\n".join(pods))
    assert got["p"]["status"] == got["q"]["status"] == "evicted" and got["p"]["evicted_by"] == "the taint ill:NoExecute of a device", got
    assert (got["p"]["evicted_seconds"], got["p"]["gone_seconds"], got["q"]["evicted_seconds"]) == (0, 30, 60), got
    assert got["r"]["devices"] == [{"claim": "third", "name": "a", "units": 1}] and got["r"]["placed_seconds"] == 30, got
    assert got["s"]["status"] == "unscheduled", got


def main(program):
    for sample in SAMPLES:
        check_sample(program, sample)
        print("ok:", sample)
    the_map(program)
    print("ok: the map")
    run_each(program, numa_cells_can_be_too_small, shares_fill_a_gpu, a_share_needs_a_node_that_tells, pods_that_run_hold_devices,
             room_comes_free, what_is_wrong_is_told, who_has_a_tainted_device_goes, a_claim_of_a_class_that_is_not_there_waits)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
