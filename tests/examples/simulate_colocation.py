#!/usr/bin/env python3
"""gangsched-simulate lends what production does not use to pods of batch: the sample of examples/manifests says exactly what
tests/examples/simulate/ has.   usage: simulate_colocation.py SIMULATE"""
import json
import subprocess
import sys

from simulate_samples import MANIFESTS, same

SAMPLE = "koordinator-colocation"


def run(program, *args):
    done = subprocess.run([program, f"{SAMPLE}.yaml", *args], cwd=MANIFESTS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == "", (done.returncode, done.stderr)
    return done.stdout


def main():
    program = sys.argv[1]
    same(run(program), f"{SAMPLE}.txt")
    pods = json.loads(run(program, "--output", "json"))["pods"]
    borrowed = [pod for pod in pods if pod["namespace"] == "offline" and pod.get("node") == "node-a"]
    assert len(borrowed) == 2 and all(pod["priority"] == 5000 for pod in borrowed), pods


if __name__ == "__main__":
    main()
