"""kube-scheduler and the library side by side, workload after workload, on this machine.

usage: compare_kube.py BENCH KUBE_SCHEDULER [--json] [LABEL...]

KUBE_SCHEDULER is the program of bench/kube-scheduler; a label is one of bench/kube_workloads.cpp, with -all if kube-scheduler has to score every
node, as the library always does. Both take the processor's time of a pod, one thread, the best of a few runs."""
import argparse
import json
import re
import subprocess
import sys

import table

LABELS = ["basic-500", "basic-5000", "basic-5000-all", "node-affinity", "node-affinity-all", "spread-hard", "spread-hard-all", "spread-soft",
          "spread-soft-all", "zone-affinity", "zone-affinity-all", "anti-affinity", "anti-affinity-all", "prefer-affinity", "prefer-affinity-all",
          "prefer-anti-affinity", "prefer-anti-affinity-all", "mixed", "mixed-all"]


def benchmark_of(bench, label):
    listed = subprocess.run([bench, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^(\w+/{re.escape(label)})(?:/iterations|$)", listed, re.M)
    return found[1] if found else sys.exit(f"no benchmark has the label {label}")


def compare(bench, kube_scheduler, label):
    theirs = json.loads(subprocess.run([kube_scheduler, label], check=True, stdout=subprocess.PIPE, text=True).stdout)["us"]
    name = benchmark_of(bench, label)
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
    for label in asked.labels or LABELS:
        one = compare(asked.bench, asked.kube_scheduler, label)
        said.append(one)
        if not asked.json:
            print(f"{label:<26}{one['kube_scheduler_us']:>13,.0f} us{one['gangsched_us']:>9.2f} us{one['ratio']:>10,.0f}", flush=True)
    if asked.json:
        print(json.dumps(said, indent=1))


if __name__ == "__main__":
    main()
