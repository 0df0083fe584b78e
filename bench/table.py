"""What the benchmarks take, beside what kube-scheduler takes and what they are to take, in one table.

usage: table.py BENCH [--json] [--instructions] [--filter WORDS] [--kube MICROSECONDS]
       table.py BENCH --check | --record

--kube: what kube-scheduler takes for a pod of basic-5000-all on this machine; gates and targets are for one where that is 8,463 us.
--instructions: those of a pod from the queue to its node, counted by valgrind on a smaller shape.
--check: small shapes decide as digests.json says, and allocate no more; no time is looked at. --record writes that file anew."""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DIGESTS = pathlib.Path(__file__).with_name("digests.json")
REFERENCE = 8463.0  # us a pod of basic-5000-all, of the machine that gates are for


class Row:
    """A workload: its benchmark, the counter that says its microseconds, what it is to take, and a smaller shape."""

    def __init__(self, title, bench, gate=None, target=None, counter="us/pod", small=None):
        self.title, self.bench, self.gate, self.target, self.counter, self.small = title, bench, gate, target, counter, small

    def micros(self, run):
        if self.counter == "items_per_second":
            return 1e6 / run[self.counter]
        if self.counter == "ns/pod":
            return run[self.counter] / 1e3
        return run[self.counter]


def kube(title, test, label, gate=None, target=None, small=None):
    return Row(title, f"{test}/{label}", gate, target, small=f"{test}/{small or label + '-all'}")


def adverse(title, test, label):
    """Nodes that differ, 1,000 zones, sizes in turns, images that change (bench/kube_workloads.cpp)."""
    return Row(f"{title}, adverse", f"{test}/{label}-adverse", small=f"{test}/{label}-all-adverse")


def alike(title, bench):
    """One that is small enough for `--check`."""
    return Row(title, bench, small=bench)


def basic(title, nodes, pods, classes, gate, target, small=None):
    name = "SchedulingBasic/nodes:{}/pods:{}/classes:{}"
    return Row(title, name.format(nodes, pods, classes), gate, target, "ns/pod", small and name.format(*small))


def devices(title, bench, small=False, adverse=False):
    name = f"{bench}/adverse:{int(adverse)}"
    gate, target = (None, None) if adverse else (1.25, 1 / 3)
    return Row(title, name, gate, target, "items_per_second", name if small else None)


ROWS = [
    basic("one class, 5,000 nodes", 5000, 50000, 1, 0.25, 0.125, (1000, 20000, 1)),
    basic("ten classes in turns", 5000, 50000, 10, 0.5, 0.2),
    basic("1,000 classes in turns", 5000, 20000, 1000, 5, 1.5),
    basic("all pods differ, 5,000 nodes", 5000, 1000, 1000, 20, 3, (5000, 1000, 1000)),
    Row("they differ in everything, 5,000 nodes", "PodsThatDiffer/nodes:5000/pods:1000", 60, 15, "ns/pod",
        "PodsThatDiffer/nodes:1000/pods:200"),
    basic("all pods differ, 100,000 nodes", 100000, 1000, 1000, 400, 60),
    basic("one class, 100,000 nodes, 1 M pods", 100000, 1000000, 1, 0.6, 0.25),
    basic("one class, 1 M nodes, 1 M pods", 1000000, 1000000, 1, 2, 0.7),
    Row("as kube-scheduler does them: 500 nodes", "SchedulingBasic/basic-500", small="SchedulingBasic/basic-500-all"),
    kube("5,000 nodes", "SchedulingBasic", "basic-5000"),
    kube("node affinity", "SchedulingNodeAffinity", "node-affinity"),
    kube("spread, required", "TopologySpreading", "spread-hard", 0.5, 0.3),
    kube("spread, preferred", "PreferredTopologySpreading", "spread-soft", 0.5, 0.3),
    kube("affinity, required", "SchedulingPodAffinity", "zone-affinity", 0.5, 0.3),
    kube("anti-affinity, required", "SchedulingPodAntiAffinity", "anti-affinity", 0.5, 0.3),
    kube("affinity, preferred", "SchedulingPreferredPodAffinity", "prefer-affinity", 0.5, 0.3),
    kube("anti-affinity, preferred", "SchedulingPreferredPodAntiAffinity", "prefer-anti-affinity", 0.5, 0.3),
    kube("mixed, eight classes", "MixedSchedulingBasePod", "mixed", 1.0, 0.5),
    kube("a full node each time", "ResourceSaturation", "one-per-node-default", small="one-per-node-all-signable"),
    adverse("500 nodes", "SchedulingBasic", "basic-500"),
    adverse("5,000 nodes", "SchedulingBasic", "basic-5000"),
    adverse("node affinity", "SchedulingNodeAffinity", "node-affinity"),
    adverse("spread, required", "TopologySpreading", "spread-hard"),
    adverse("spread, preferred", "PreferredTopologySpreading", "spread-soft"),
    adverse("affinity, required", "SchedulingPodAffinity", "zone-affinity"),
    adverse("anti-affinity, required", "SchedulingPodAntiAffinity", "anti-affinity"),
    adverse("affinity, preferred", "SchedulingPreferredPodAffinity", "prefer-affinity"),
    adverse("anti-affinity, preferred", "SchedulingPreferredPodAntiAffinity", "prefer-anti-affinity"),
    adverse("mixed", "MixedSchedulingBasePod", "mixed"),
    Row("hopeless pods beside", "Unschedulable/running:20000", 0.3, 0.05, small="Unschedulable/running:100"),
    Row("nodes and services come and go", "SchedulingWithMixedChurn", small="SchedulingWithMixedChurn"),
    Row("preempt and place", "PreemptionBasic/preempt-and-place", 10, 4, small="PreemptionBasic/preempt-and-place"),
    alike("no room for anybody, adverse", "Unschedulable/unfit-adverse"),
    alike("preempt and place, adverse", "PreemptionBasic/preempt-and-place-adverse"),
    alike("gangs of 64, a member", "GangScheduling/gang-64"),
    alike("gangs of 64 in a rack, a member", "GangScheduling/gang-64-rack"),
    alike("gangs of 64, a member, adverse", "GangScheduling/gang-64-adverse"),
    alike("gangs of 1,024, a member, adverse", "GangScheduling/gang-1024-adverse"),
    alike("gangs of 64 in a rack, a member, adverse", "GangScheduling/gang-64-rack-adverse"),
    Row("gang of 64 in a rack, 10,000 nodes, p99", "Gang64x1000/required_rack/10000nodes", 40, 10, "p99_us"),
    Row("gang of 1,024 x 8 GPUs, 10,000 nodes, p99", "Gang1024/8gpu/10000nodes", 400, 100, "p99_us"),
    Row("the same, 100,000 nodes", "Gang1024/8gpu/100000nodes", 800, 200, "p99_us"),
    Row("gangs of 4 in a rack, p99", "TopologyAwareScheduling/750x4/5000nodes", None, None, "p99_us",
        "TopologyAwareScheduling/750x4/5000nodes"),
    Row("trees of two gangs, p99", "CPGTopologyAware/1500x2x4/5000nodes", None, None, "p99_us", "CPGTopologyAware/1500x2x4/5000nodes"),
    Row("gang of 100 that evicts 1,000", "GangPreemption/1x100/evict:1000", 400, 100, "cycle_us"),
    devices("MIG, 1,000 nodes", "MIGMix/nodes:1000", True),
    devices("MIG, 10,000 nodes", "MIGMix/nodes:10000"),
    devices("NVLink, 1,000 nodes", "NVLinkPack/nodes:1000", True),
    devices("NVLink, 10,000 nodes", "NVLinkPack/nodes:10000"),
    devices("device claims", "DRASteadyState/claims:2500", True),
    devices("MIG, 1,000 nodes, adverse", "MIGMix/nodes:1000", True, True),
    devices("NVLink, 1,000 nodes, adverse", "NVLinkPack/nodes:1000", True, True),
    devices("device claims, adverse", "DRASteadyState/claims:2500", True, True),
    Row("open loop, 0.5 M pods/s, 5,000 nodes, p99.9", "OpenLoop/nodes:5000/rate:500000", None, None, "p99.9_us"),
    Row("0.1 M pods/s, 100,000 nodes, p99.9", "OpenLoop/nodes:100000/rate:100000", None, None, "p99.9_us"),
    Row("the longest pause there", "OpenLoop/nodes:100000/rate:100000", 1000, 1000, "longest_us"),
]


def run(bench, names, *arguments, tool=()):
    """What Google Benchmark says of each of @p names, by name."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        wanted = "|".join(names)  # letters, digits, and what means nothing in an expression
        command = [*tool, bench, f"--benchmark_filter=^({wanted})(/iterations:|/manual_time|$)", f"--benchmark_out={out.name}", *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{done.stderr}{bench} failed")
        runs = json.load(open(out.name))["benchmarks"]
    made = {re.sub(r"/(iterations:\d+|manual_time).*", "", one["name"]): one for one in runs}
    wrong = [f"{name}: {made[name]['error_message'] if name in made else 'there is no such benchmark'}"
             for name in names if name not in made or made[name].get("error_occurred")]
    if wrong:
        sys.exit("\n".join(wrong))
    return made


def instructions(bench, name):
    """Of a pod, in `bench::drain`; nothing where a benchmark has a clock of its own."""
    with tempfile.NamedTemporaryFile() as profile:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}", "--collect-atstart=no",
                "--toggle-collect=bench::drain*"]
        made = run(bench, [name], "--benchmark_min_time=0.001", tool=tool)[name]
        totals = re.search(r"^(?:totals|summary): (\d+)", pathlib.Path(profile.name).read_text(), re.M)
    return int(totals[1]) / made["drained"] if made.get("drained") and totals and int(totals[1]) else None


def figures(row, made, scale, bench, count):
    one = made[row.bench]
    micros = row.micros(one)
    said = {"workload": row.title, "benchmark": row.bench, "us": micros}
    if "kube_us" in one:
        said |= {"kube_us": one["kube_us"], "ratio": one["kube_us"] / micros}
    if row.gate:
        said |= {"gate_us": row.gate * scale, "target_us": row.target * scale, "kept": micros <= row.gate * scale}
    if "allocations/pod" in one:
        said["allocations"] = one["allocations/pod"]
    if one.get("label"):
        said["digest"] = one["label"]
    if count and row.small and (counted := instructions(bench, row.small)):
        said |= {"instructions": counted, "counted_on": row.small}
    return said


def show(all_rows, counted):
    def number(value):
        return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    columns = [("us", "us"), ("kube_us", "kube"), ("ratio", "ratio"), ("gate_us", "gate"), ("target_us", "target"), ("allocations", "allocations")]
    if counted:
        columns.append(("instructions", "instructions"))
    print("  ".join([f"{'workload':<44}", *(f"{title:>{max(7, len(title))}}" for _, title in columns), f"{'':<6}", "digest"]))
    for row in all_rows:
        word = "" if "kept" not in row else "kept" if row["kept"] else "MISSED"
        cells = (f"{number(row.get(key)):>{max(7, len(title))}}" for key, title in columns)
        print("  ".join([f"{row['workload']:<44}", *cells, f"{word:<6}", row.get("digest", "")]))


def small_shapes(bench):
    names = [row.small for row in ROWS if row.small]
    made = run(bench, names, "--benchmark_min_time=0.001")
    said = {name: {"digest": made[name]["label"]} for name in names}
    for name, one in made.items():
        if "/iterations:" in one["name"]:  # how often the others run, and so what is spread over the pods, is a matter of time
            said[name]["allocations"] = round(one.get("allocations/pod", 0), 2)
    return said


def check(bench):
    known, now = json.loads(DIGESTS.read_text()), small_shapes(bench)
    wrong = [f"{name}: it is only in one of the lists, digests.json and table.py" for name in sorted(known.keys() ^ now.keys())]
    for name in sorted(known.keys() & now.keys()):
        if known[name]["digest"] != now[name]["digest"]:
            wrong.append(f"{name}: decisions are {now[name]['digest']}, they were {known[name]['digest']}")
        if now[name].get("allocations", 0) > known[name].get("allocations", 0) + 0.05:
            wrong.append(f"{name}: {now[name]['allocations']} allocations a pod, there were {known[name]['allocations']}")
    print("\n".join(wrong) if wrong else f"{len(now)} workloads decide as they did and allocate no more")
    return 1 if wrong else 0


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("bench")
    for flag in ("--json", "--instructions", "--check", "--record"):
        words.add_argument(flag, action="store_true")
    words.add_argument("--filter", default="", help="only workloads whose title or benchmark has this")
    words.add_argument("--kube", type=float, default=REFERENCE)
    asked = words.parse_args()
    if asked.check:
        return check(asked.bench)
    if asked.record:
        DIGESTS.write_text(json.dumps(small_shapes(asked.bench), indent=1) + "\n")
        return 0
    if asked.instructions and not shutil.which("valgrind"):
        sys.exit("--instructions needs valgrind")
    rows = [row for row in ROWS if asked.filter in row.title or asked.filter in row.bench]
    if not rows:
        sys.exit(f'no workload has "{asked.filter}" in its name')
    made = run(asked.bench, [row.bench for row in rows])
    said = [figures(row, made, asked.kube / REFERENCE, asked.bench, asked.instructions) for row in rows]
    if asked.json:
        print(json.dumps(said, indent=1))
    else:
        show(said, asked.instructions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
