#!/usr/bin/env python3
"""The figures of gangsched-replay add up, are the same for the same seed, and show what gang scheduling is for.
usage: replay_figures.py REPLAY"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile


class Replay:
    def __init__(self, program, room):
        self.program, self.room = program, room

    def __call__(self, *args, **files):
        for name, content in files.items():
            path = self.room / f"{name}.csv"
            path.write_text(content)
            args += (f"--{name}", str(path))
        done = subprocess.run([self.program, "--json", *args], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", "no progress bar in a pipe"
        return json.loads(done.stdout)


def outcomes(report):
    for name, chapter in report.items():
        if isinstance(chapter, dict):
            for key, outcome in chapter.items():
                if isinstance(outcome, dict):
                    yield f"{name} {key}", outcome


def check_sums(report):
    for name, outcome in outcomes(report):
        for what in ("pods", "jobs", "gangs"):
            f = outcome[what]
            ends = f["finished"] + f["running"] + f["holding"] + f["waiting"] + f["left"]
            assert f["arrived"] == ends, (name, what, f)
            assert f["placed"] == f["finished"] + f["running"] + f["holding"], (name, what, f)
        started = sum(row["count"] for row in outcome["waiting_seconds"].values())
        assert started == outcome["jobs"]["finished"] + outcome["jobs"]["running"], name
        ended = sum(row["count"] for row in outcome["completion_seconds"].values())
        assert ended in (0, outcome["jobs"]["finished"]), name
        assert sum(outcome["still_waiting"].values()) == outcome["pods"]["waiting"], name
        assert outcome["rejected_attempts"] >= sum(outcome["first_rejections"].values()), name
        assert 0 <= outcome["load"]["computing"] + outcome["load"]["idle"] <= 1 + 1e-9, name


def without_times(report):
    report.pop("peak_memory_mib")
    for _, outcome in outcomes(report):
        speed = outcome["speed"]
        outcome["speed"] = {key: speed[key] for key in ("calls", "decisions")}
    return report


def names_that_look_alike(replay):
    """A job may be called as a worker of another one is."""
    jobs = "job,arrival_s,workers,duration_s\n" + "a,0,2,60\na-0,0,1,60\nb-1,0,1,60\nb,0,2,60\n"
    for _, outcome in outcomes(replay("--gpus", "8", gangs=jobs)):
        assert outcome["pods"]["arrived"] == outcome["pods"]["placed"] == 6, outcome["pods"]


def generated(replay):
    first, again = replay(), replay()
    for report in (first, again):
        check_sums(report)
        without_times(report)
        group_cycle, pod_by_pod = report["philly"]["group_cycle"], report["philly"]["pod_by_pod"]
        assert group_cycle["partial"] == {key: 0 for key in group_cycle["partial"]}
        assert group_cycle["jobs"]["finished"] == group_cycle["jobs"]["arrived"]
        assert pod_by_pod["partial"]["deadlock_seconds"] > 0
        assert pod_by_pod["partial"]["idle_gpu_hours"] > 0
    assert first == again
    queues = "--queues", "--policies", "FIFO"  # the one policy that is quick
    assert replay(*queues)["FIFO"]["tenants"] != replay(*queues, "--seed", "2")["FIFO"]["tenants"]


def two_gangs_and_room_for_one(replay):
    """Two gangs of 8 come at the same time to 8 GPUs: without gang scheduling each takes some, and both wait for ever."""
    report = replay("--gpus", "8", gangs="job,arrival_s,workers,duration_s\na,0,8,3600\nb,0,8,3600\n")
    check_sums(report)
    together, apart = report["philly"]["group_cycle"], report["philly"]["pod_by_pod"]
    assert together["gangs"]["finished"] == 2
    ends, slow = (together[what]["8 workers"] for what in ("completion_seconds", "slowdown"))
    assert ends["count"] == 2 and 3600 <= ends["p50"] < 3660 and 7140 <= ends["max"] <= 7260, ends
    assert abs(slow["max"] - ends["max"] / 3600) < 1e-6 and abs(slow["mean"] - ends["mean"] / 3600) < 1e-6, slow
    assert apart["completion_seconds"] == {}
    assert together["partial"]["ever"] == 0 and together["partial"]["deadlock_seconds"] == 0
    assert apart["gangs"]["finished"] == 0 and apart["gangs"]["holding"] == 2
    assert apart["pods"]["holding"] == 8 and apart["pods"]["waiting"] == 8
    assert report["philly"]["permit"]["gangs"]["finished"] == 2


def shares_and_models(replay):
    """GPUs are held in thousandths, whole ones also as such; models are kept apart; who is deleted before it is placed is counted."""
    report = replay(
        nodes="sn,cpu_milli,memory_mib,gpu,model\nn1,8000,8192,1,T4\nn2,8000,8192,2,A10\n",
        pods="name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
             "whole,1000,1024,1,1000,T4,0,100\n"          # takes n1
             "part,1000,1024,1,100,T4,10,50\n"            # leaves before n1 has room
             "late,1000,1024,1,500,T4|T4,20,400\n"        # waits for 80 s
             "pair,1000,1024,2,1000,A10|T4,30,400\n"      # takes n2
             "cpu,1000,1024,0,0,,40,\n"                   # stays for ever
             "none,1000,1024,1,1000,H100,45,\n")          # no node has the model
    check_sums(report)
    result = report["openb"]["result"]
    assert result["pods"] == {"arrived": 6, "placed": 4, "finished": 3, "running": 1, "holding": 0, "waiting": 1, "left": 1}
    assert result["waiting_seconds"]["part of a GPU"] == {"count": 1, "mean": 80, "p50": 80, "p90": 80, "p99": 80, "max": 80}
    assert result["completion_seconds"] == {} and result["slowdown"] == {}  # when they go is the trace's word
    assert list(result["still_waiting"]) == ["node(s) didn't match Pod's node affinity/selector"]


def pods_without_times(replay):
    """They come one second apart and stay: as many GPUs are in use as fit."""
    report = replay("--profile", "spread", nodes="sn,cpu_milli,memory_mib,gpu,model\nn1,8000,8192,2,T4\n",
                    pods="name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(f"p{i},100,64,1,1000\n" for i in range(5)))
    check_sums(report)
    result = report["openb"]["result"]
    assert (result["pods"]["running"], result["pods"]["waiting"]) == (2, 3)
    assert result["end_seconds"] == 4


def two_tenants(replay):
    """Each has a node. The first fills both; the second gets his own back when he comes, and nobody waits longer than in a cluster of his own."""
    report = replay("--queues", "--gpus", "16", "--spread", "0",
                    gangs="job,vc,arrival_s,workers,duration_s\n"
                          "a1,a,0,8,3600\na2,a,1,8,3600\na3,a,2,8,3600\na4,a,3,8,3600\nb1,b,100,8,3600\nb2,b,20000,8,60\n")
    fifo, fair, cells, alone = report["FIFO"], report["FairShare"], report["HiveD"], report["alone"]
    assert [alone[t]["gpus"] for t in "ab"] == [8, 8]
    waits = {name: [one[t]["waiting_seconds"]["mean"] for t in "ab"]
             for name, one in (("fifo", fifo["tenants"]), ("fair", fair["tenants"]), ("alone", alone))}
    assert waits["alone"] == [(3599 + 7198 + 10797) / 4, 0], waits
    assert waits["fifo"][1] == (7100 + 0) / 2 or waits["fifo"][1] == (3500 + 0) / 2, waits
    assert waits["fair"][1] == 0 and waits["fair"][0] <= waits["alone"][0], waits
    assert [cells["tenants"][t]["waiting_seconds"]["mean"] for t in "ab"] == waits["alone"], cells["tenants"]
    assert fifo["tenants_worse_than_alone"] == 1 and cells["tenants_worse_than_alone"] == 0 and fair["tenants_worse_than_alone"] == 0
    assert fifo["most_seconds_worse"] > 0 and fair["most_seconds_worse"] == 0
    assert (fifo["tenants"]["a"]["evicted"], fair["tenants"]["a"]["evicted"], fair["tenants"]["b"]["evicted"]) == (0, 1, 0)
    for name in ("FIFO", "FairShare", "Kai", "HiveD"):
        of = report[name]
        assert of["jobs"]["finished"] == of["jobs"]["arrived"] == 6
        assert sum(t["completion_seconds"]["count"] for t in of["tenants"].values()) == 6
        used = sum(t["gpu_seconds"] for t in of["tenants"].values())
        assert abs(used - 8 * (5 * 3600)) < 1e-6, used  # what is done before the last job comes
        assert 0.5 <= of["jain_index"] <= 1


def many_jobs_of_tenants(replay):
    """Under each policy every job ends, and what the tenants used is what the cluster did; with FairShare nobody is worse off than alone."""
    chance = random.Random(1)
    lines = [f"j{i},{chance.choice('aabc')},{chance.randrange(13_000)},{chance.choice((1, 1, 2, 4, 8))},{chance.randrange(60, 2000)}\n"
             for i in range(260)]
    report = replay("--queues", "--gpus", "32", "--spread", "5", gangs="job,vc,arrival_s,workers,duration_s\n" + "".join(lines))
    for name in ("FIFO", "FairShare", "Kai", "HiveD"):
        of = report[name]
        assert of["jobs"]["finished"] == of["jobs"]["arrived"] == 260
        assert sum(t["arrived"] for t in of["tenants"].values()) == 260
        assert of["partial"]["deadlock_seconds"] == 0
        used = sum(t["gpu_seconds"] for t in of["tenants"].values())
        assert abs(used / (32 * 13_000) - of["load"]["computing"]) < 0.02, (used, of["load"])
        assert all(t["waiting_seconds"]["mean"] >= 0 for t in of["tenants"].values())
    assert report["FairShare"]["tenants_worse_than_alone"] == 0
    assert sum(t["evicted"] for t in report["FairShare"]["tenants"].values()) > 0
    assert all(t["evicted"] == 0 for name in ("FIFO", "HiveD") for t in report[name]["tenants"].values())


def main():
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(sys.argv[1], pathlib.Path(folder))
        for test in (two_gangs_and_room_for_one, shares_and_models, pods_without_times, two_tenants, many_jobs_of_tenants, names_that_look_alike, generated):
            test(replay)
            print("ok:", test.__name__)


if __name__ == "__main__":
    main()
