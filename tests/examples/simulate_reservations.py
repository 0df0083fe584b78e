#!/usr/bin/env python3
"""gangsched-simulate holds room for the owners of a Reservation: the sample of examples/manifests says exactly what
tests/examples/simulate/ has.   usage: simulate_reservations.py SIMULATE"""
import json
import subprocess
import sys

from simulate_samples import MANIFESTS, same

SAMPLE = "koordinator-reservation"


def run(program, *args):
    done = subprocess.run([program, f"{SAMPLE}.yaml", *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == "", (done.returncode, done.stderr)
    return done.stdout


def main():
    program = sys.argv[1]
    same(run(program), f"{SAMPLE}.txt")
    pods = {pod["name"]: pod for pod in json.loads(run(program, "--output", "json"))["pods"]}
    assert pods["nightly"]["node"] == pods["nightly-0"]["node"] == pods["adhoc"]["node"] == "node-a", pods
    # The reservation holds eight, its owners have all of them: four are free.
    why = json.loads(run(program, "--output", "json", "--explain", "web"))["explain"]
    assert [node.get("plugin") for node in why["nodes"]] == ["NodeResourcesFit"] * 2, why


if __name__ == "__main__":
    main()
