"""kube-scheduler and the library side by side, workload after workload, on this machine.

usage: compare_kube.py BENCH KUBE_SCHEDULER [--json] [LABEL...]

KUBE_SCHEDULER is the program of bench/kube-scheduler; a label is one of its workloads, which are those of bench/kube_workloads.cpp but one-per-node-*signable*; with -all
kube-scheduler has to score every node, as the library always does. Both take the processor's time of a pod, one thread, the best of a few runs."""
import argparse
import json
import re
import subprocess
import sys

import table

LABELS = ["basic-500", "basic-5000", "basic-5000-all", "node-affinity", "node-affinity-all", "spread-hard", "spread-hard-all", "spread-soft",
          "spread-soft-all", "zone-affinity", "zone-affinity-all", "anti-affinity", "anti-affinity-all", "prefer-affinity", "prefer-affinity-all",
          "prefer-anti-affinity", "prefer-anti-affinity-all", "mixed", "mixed-all"]


def benchmarks(bench, labels):
    """The name of each, by its label."""
    listed = subprocess.run([bench, "--benchmark_list_tests"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {label: re.search(rf"^(\w+/{re.escape(label)})(?:/iterations|$)", listed, re.M) for label in labels}
    if missing := [label for label in labels if not found[label]]:
        sys.exit(f"no benchmark has the label {', '.join(missing)}")
    return {label: found[label][1] for label in labels}


def compare(bench, kube_scheduler, label, name):
    said = subprocess.run([kube_scheduler, label], stdout=subprocess.PIPE, text=True)
    if said.returncode != 0:
        sys.exit(said.returncode)  # it said why
    theirs = json.loads(said.stdout)["us"]
    ours = table.run(bench, [name])[name]["us/pod"]
    return {"label": label, "kube_scheduler_us": theirs, "gangsched_us": ours, "ratio": theirs / ours}


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("bench")
    words.add_argument("kube_scheduler")
    words.add_argument("--json", action="store_true")
    words.add_argument("labels", nargs="*", metavar="LABEL")
    asked = words.parse_args()
    said = []
    if not asked.json:
        print(f"{'workload':<26}{'kube-scheduler':>16}{'gangsched':>12}{'ratio':>10}", flush=True)
    for label, name in benchmarks(asked.bench, asked.labels or LABELS).items():
        one = compare(asked.bench, asked.kube_scheduler, label, name)
        said.append(one)
        if not asked.json:
            print(f"{label:<26}{one['kube_scheduler_us']:>13,.0f} us{one['gangsched_us']:>9.2f} us{one['ratio']:>10,.0f}", flush=True)
    if asked.json:
        print(json.dumps(said, indent=1))


if __name__ == "__main__":
    main()
