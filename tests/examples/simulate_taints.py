#!/usr/bin/env python3
"""gangsched-simulate --controllers live: taints NoExecute of nodes evict whom they should, when they should.   usage: simulate_taints.py SIMULATE"""
import json
import pathlib
import random
import sys

from simulate_controllers import workload
from simulate_inputs import node, pod, run_each

START = "2026-12-01T00:00:00Z"
LIVE = ("--controllers", "live", "--all", "--start", START)


def tainted(name, *taints, cpu=8):
    """Each taint a key, with a time if there is an @ in it."""
    all = []
    for one in taints:
        key, _, time = one.partition("@")
        all.append(f"{{key: {key}, effect: NoExecute{', timeAdded: ' + repr(time) if time else ''}}}")
    return node(name, cpu=cpu) + f"spec: {{taints: [{', '.join(all)}]}}\n---\n"


def tolerates(*tolerations):
    """Each a key, or a key and seconds; "" is any key."""
    all = []
    for one in tolerations:
        key, seconds = one if isinstance(one, tuple) else (one, None)
        all.append("{operator: Exists" + (f", key: {key}" if key else "") + (f", tolerationSeconds: {seconds}" if seconds is not None else "") + "}")
    return f"tolerations: [{', '.join(all)}]"


def running(name, tolerations="", started="", more=""):
    made = pod(name, spec=f"  nodeName: n1\n  terminationGracePeriodSeconds: 0\n  {tolerations}\n{more}")
    return made + (f"status: {{phase: Running, startTime: '{started}'}}\n" if started else "") + "---\n"


def told(simulate, *args, **files):
    done = simulate.raw(*args, "--output", "json", **files)
    assert done.returncode in (0, 1), done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["pods"]}


def owned(text, kind, name):
    """A pod, as the workload of that name has it."""
    owner = f"{{apiVersion: apps/v1, kind: {kind}, name: {name}, controller: true, uid: u}}"
    return text.replace("labels: {}", f"labels: {{a: {name}}}, ownerReferences: [{owner}]", 1)


def evicted_at(simulate, nodes, pods, live=LIVE):
    got = told(simulate, *live, a=nodes, b=pods)
    return {name: one.get("evicted_seconds") for name, one in got.items()}, got


def who_does_not_tolerate_a_taint_goes_at_once(simulate):
    pods = running("bare") + running("other", tolerates("other")) + running("for-ever", tolerates("k")) + running("any", tolerates("")) \
        + running("a-while", tolerates(("k", 90))) + running("not-at-all", tolerates(("k", 0))) + running("less", tolerates(("k", -7)))
    when, got = evicted_at(simulate, tainted("n1", "k"), pods)
    assert when == {"bare": 0, "other": 0, "for-ever": None, "any": None, "a-while": 90, "not-at-all": 0, "less": 0}, when
    assert got["bare"]["evicted_by"] == got["a-while"]["evicted_by"] == "the taint k:NoExecute of its node", got
    once = told(simulate, "--all", a=tainted("n1", "k"), b=pods)
    assert {one["status"] for one in once.values()} == {"running"}, once  # the controllers acted before the start


def a_taint_counts_from_when_it_was_there(simulate):
    minute_ago, hour_ago, in_an_hour = "2026-11-30T23:59:00Z", "2026-11-30T23:00:00Z", "2026-12-01T01:00:00Z"
    pods = running("a", tolerates(("k", 90))) + running("late", tolerates(("k", 90)), started="2026-11-30T23:59:40Z") \
        + running("early", tolerates(("k", 90)), started=hour_ago) + running("passed", tolerates(("k", 30)))
    assert evicted_at(simulate, tainted("n1", f"k@{minute_ago}"), pods)[0] == {"a": 30, "late": 70, "early": 30, "passed": 0}
    assert evicted_at(simulate, tainted("n1", f"k@{in_an_hour}"), pods)[0] == {"a": 90, "late": 90, "early": 90, "passed": 30}
    # Without --start nobody knows how long ago that was.
    assert evicted_at(simulate, tainted("n1", f"k@{minute_ago}"), pods, live=("--controllers", "live", "--all"))[0] == \
        {"a": 90, "late": 90, "early": 90, "passed": 30}


def of_several_taints_the_first_sets_the_time(simulate):
    pods = running("both", tolerates(("k", 100), ("l", 20))) + running("one", tolerates("k", ("l", 20))) + running("bare", tolerates(("k", 100)))
    assert evicted_at(simulate, tainted("n1", "k", "l"), pods)[0] == {"both": 20, "one": 20, "bare": 0}
    # The controller does not look again at whom it has a time for.
    later = tainted("n1", "k@2026-11-30T23:59:50Z", "l@2026-11-30T23:59:55Z")
    assert evicted_at(simulate, later, pods)[0] == {"both": 90, "one": 15, "bare": 0}
    # Of the tolerations of one taint the first counts.
    twice = running("first", tolerates(("k", 50), ("k", 10))) + running("any", tolerates("", ("k", 10)))
    assert evicted_at(simulate, tainted("n1", "k"), twice)[0] == {"first": 50, "any": None}


def nodes_that_are_not_ready_are_tolerated_for_a_while(simulate):
    key = "node.kubernetes.io/unreachable"
    pods = running("bare") + running("own", tolerates((key, 10))) + running("never", tolerates(key)) + running("no-schedule", f"tolerations: [{{key: {key}, operator: Exists, effect: NoSchedule}}]")
    assert evicted_at(simulate, tainted("n1", key), pods)[0] == {"bare": 300, "own": 10, "never": None, "no-schedule": 300}
    assert evicted_at(simulate, tainted("n1", key, "k"), running("bare"))[0] == {"bare": 0}


def who_has_a_controller_comes_again_elsewhere(simulate):
    text = workload("ReplicaSet", "web", 1) + owned(running("web-1"), "ReplicaSet", "web")
    when, got = evicted_at(simulate, tainted("n1", "k") + node("n2"), text)
    again = got.pop("web-1-2")
    assert list(got) == ["web-1"] and when["web-1"] == 0 and got["web-1"]["gone_seconds"] == 0, got
    assert again["node"] == "n2" and again["status"] == "placed" and again["placed_seconds"] == 0, again
    # Placed on the tainted node, a pod has its sixty seconds from then on, a hundred times.
    a_while = tolerates(("k", 60)) + ", terminationGracePeriodSeconds: 5, "
    alone = told(simulate, *LIVE, a=tainted("n1", "k"), b=workload("ReplicaSet", "web", 1, 1, a_while))
    assert [one["evicted_seconds"] for one in alone.values()] == [60 * (i + 1) for i in range(101)], alone
    assert [one["placed_seconds"] for one in alone.values()] == [60 * i for i in range(101)], alone
    assert all(one["gone_seconds"] == one["evicted_seconds"] + 5 for one in alone.values()), alone


def a_daemon_set_makes_no_pod_where_it_may_not_be(simulate):
    text = workload("DaemonSet", "agent", None) + owned(running("agent-1"), "DaemonSet", "agent")
    when, got = evicted_at(simulate, tainted("n1", "k") + node("n2"), text)
    assert when.pop("agent-1") == 0 and len(got) == 2, got
    other = got[next(iter(when))]
    assert other["node"] == "n2" and other["status"] == "placed", got


def times_are_as_a_plain_reading_has_them(simulate):
    """Random taints and tolerations: the controller as a loop over the seconds at which it hears of taints."""
    dice = random.Random(7)
    keys = ["a", "b", "c"]
    for _ in range(40):
        taints = {key: dice.choice([0, 10, 10, 25, 40]) for key in keys if dice.random() < 0.6} or {"a": 5}  # seconds before the start
        tolerations = [(dice.choice([*keys, ""]), dice.choice([None, 0, 15, 30, 45, 60])) for _ in range(dice.randrange(4))]
        age = dice.choice([None, 5, 10, 30, 60])
        listed = list(taints.items())
        dice.shuffle(listed)
        time = lambda before: "2026-12-01T00:00:00Z" if before == 0 else f"2026-11-30T23:59:{60 - before:02}Z"
        nodes = tainted("n1", *(f"{key}@{time(before)}" for key, before in listed))
        pods = running("p", tolerates(*tolerations) if tolerations else "", started="" if age is None else
                       ("2026-11-30T23:59:00Z" if age == 60 else time(age)))
        due = None
        for now in sorted({max(-before, -(age if age is not None else 1000)) for _, before in listed}):
            seen = [key for key, before in listed if -before <= now]
            used = [next((seconds for key, seconds in tolerations if key in ("", one)), "none") for one in seen]
            if "none" in used:
                due = now
                break
            finite = [max(0, seconds) for seconds in used if seconds is not None]
            if finite and due is None:
                due = now + min(finite)
        wanted = None if due is None else max(0, due)
        when = evicted_at(simulate, nodes, pods)[0]
        assert when == {"p": wanted}, (nodes, pods, when, wanted)


def main(program):
    run_each(program, who_does_not_tolerate_a_taint_goes_at_once, a_taint_counts_from_when_it_was_there, of_several_taints_the_first_sets_the_time,
             nodes_that_are_not_ready_are_tolerated_for_a_while, who_has_a_controller_comes_again_elsewhere, a_daemon_set_makes_no_pod_where_it_may_not_be,
             times_are_as_a_plain_reading_has_them)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
