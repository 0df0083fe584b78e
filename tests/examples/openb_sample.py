#!/usr/bin/env python3
"""gangsched-openb on a small cluster of the data's shape: every policy runs, numbers are plausible and the same each time, and bad input
is refused with its place.

usage: openb_sample.py PROGRAM
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
POLICIES = ["random", "dotprod", "clustering", "packing", "bestfit", "fgd", "pricing"]


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def sample(folder):
    dice = random.Random(1)
    nodes, pods = folder / "nodes.csv", folder / "openb_pod_list_small.csv"
    rows = [f"n{i:03},{cpu},{256 << 10},{gpus},{model}"
            for i, (cpu, gpus, model) in enumerate([(96000, 8, "G2")] * 12 + [(104000, 2, "T4")] * 12 + [(16000, 2, "P100")] * 6)]
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "\n".join(rows) + "\nno-gpu,64000,1000,0,\n")
    lines = []
    for i in range(260):
        gpus, milli = dice.choice([(0, 0), (1, 1000), (1, 1000), (1, 810), (1, 470), (1, 230), (1, 650), (4, 1000)])
        spec = dice.choice(["", "", "", "T4", "T4|P100"]) if gpus == 1 else ""
        lines.append(f"p{i},{dice.choice([2000, 4000, 8000])},{8 << 10},{gpus},{milli},{spec},LS,Running,{i},,")
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
                    + "\n".join(lines) + "\n")
    return nodes, pods


with tempfile.TemporaryDirectory() as name:
    nodes, pods = sample(pathlib.Path(name))
    text = run(nodes, pods, "--seeds", "1-3").stdout
    table = {line.split()[1]: line.split() for line in text.splitlines() if line.startswith("small") and "±" not in line}
    assert list(table) == POLICIES, text
    allocated = {policy: float(words[2]) for policy, words in table.items()}
    assert all(50 < value <= 100 for value in allocated.values()), allocated
    assert allocated["fgd"] > allocated["random"] and allocated["pricing"] > allocated["random"], allocated
    assert text.count("±") == 6 * 3 + 3, text

    first, again = (json.loads(run(nodes, pods, "--seeds", "1-2", "--policy", "fgd,pricing", "--train", "earlier-half", "--json").stdout)
                    for _ in range(2))
    for one in first + again:
        for each in one["runs"]:
            del each["us_per_pod"]
    assert first == again and [one["policy"] for one in first] == ["fgd", "pricing"] and len(first[0]["runs"]) == 2, first

    called = json.loads(run(nodes, pods, "--policy", "FGD,GpuPacking", "--json").stdout)
    assert [one["policy"] for one in called] == ["fgd", "packing"], called
    run(nodes, pods, "--policy", "nonsense", code=105)
    assert "--seeds" in run(nodes, pods, "--seeds", "5-1", code=2).stderr
    bad = pathlib.Path(name) / "bad.csv"
    bad.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n")
    assert "bad.csv:2:" in run(nodes, bad, code=2).stderr
    # what a node cannot have, and what would take for ever
    many = pathlib.Path(name) / "many.csv"
    many.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,96000,393216,17,V100M32\n")
    assert run(many, pods, code=2).stderr == f"{many}:2:17: gpu: 17 is more than 16\n"
    bad.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,1000,17,1000\n")
    assert run(nodes, bad, code=2).stderr == f"{bad}:2:14: num_gpu: 17 is more than 16\n"
    many.write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},96000,393216,16,V100M32\n" for i in range(300)))
    bad.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,1000,1,1\n")
    assert "bad.csv:1:1: 6240000 pods like these would arrive" in run(many, bad, code=2).stderr
    # thinning out a list that asks for more than 130 % of the GPUs
    few = pathlib.Path(name) / "few.csv"
    few.write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,96000,393216,8,G2\n")
    assert run(few, pods, "--policy", "bestfit", "--seeds", "7-7", "--json").stdout.count('"alloc_100"') == 1
print("gangsched-openb does what its page says")
