#!/usr/bin/env python3
"""gangsched-simulate --controllers live: who is evicted is made again, CronJobs run by their schedules (compared with a plain reading of them,
minute by minute), HorizontalPodAutoscalers follow the load.   usage: simulate_controllers.py SIMULATE"""
import datetime
import json
import pathlib
import random
import sys
import zoneinfo

from simulate_inputs import CLASSES, node, pod, run_each

CONTAINERS = "containers: [{name: c, image: x, resources: {requests: {cpu: %s}}}]"


def workload(kind, name, replicas, cpu=1, more="", annotations="{}"):
    replicas = "" if replicas is None else f"replicas: {replicas}, "
    return f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{replicas}selector: {{matchLabels: {{a: {name}}}}}, template: " \
           f"{{metadata: {{labels: {{a: {name}}}, annotations: {annotations}}}, spec: {{{more}{CONTAINERS % cpu}}}}}}}\n---\n"


def cron(name, schedule, more="", run_time="1s", cpu="0"):
    return f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec: {{schedule: '{schedule}', {more}jobTemplate: {{spec: {{template: " \
           f"{{metadata: {{annotations: {{gangsched.dev/run-time: {run_time}}}}}, spec: {{restartPolicy: Never, {CONTAINERS % cpu}}}}}}}}}}}\n---\n"


def autoscaler(target, load=None, kind="Deployment", least=1, most=10, more=""):
    load = "" if load is None else f", annotations: {{gangsched.dev/replicas: '{load}'}}"
    return f"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {target}{load}}}\nspec: {{scaleTargetRef: {{kind: {kind}, " \
           f"name: {target}}}, minReplicas: {least}, maxReplicas: {most}}}\n{more}---\n"


def runs(simulate, text, *args, code=0, **more):
    """Which minutes each CronJob has runs of, and when their pods came."""
    pods = simulate("--controllers", "live", *args, code=code, a=node("n1", cpu=1000), b=text, **more)
    made = {}
    for name, one in pods.items():
        job, minute, _ = name.rsplit("-", 2)
        made.setdefault(job, []).append((int(minute), one.get("arrived_seconds", 0), one))
    return {job: sorted(all, key=lambda run: run[:2]) for job, all in made.items()}


# --- a plain reading of schedules

BOUNDS = ((0, 59, ""), (0, 23, ""), (1, 31, ""), (1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"), (0, 6, "sun mon tue wed thu fri sat"))


def numbers_of(field, low, high, names):
    names = {name: low + i for i, name in enumerate(names.split())}
    value = lambda text: names[text.lower()] if text.lower() in names else int(text)
    made = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in "*?":
            first, last = low, high
        else:
            first, last = value(first), value(last) if dash else high if step else value(first)
        made |= set(range(first, last + 1, int(step or 1)))
    return made


def is_time(schedule, at):
    fields = schedule.split()
    minute, hour, day, month, weekday = (numbers_of(field, *bounds) for field, bounds in zip(fields, BOUNDS))
    if at.minute not in minute or at.hour not in hour or at.month not in month:
        return False
    date, of_week = at.day in day, at.isoweekday() % 7 in weekday
    any_of = lambda field: any(part in ("*", "?", "*/1", "?/1") for part in field.split(","))
    return date and of_week if any_of(fields[2]) or any_of(fields[4]) else date or of_week


def minutes_of(schedule, zone, start, hours):
    first = int(datetime.datetime.fromisoformat(start).timestamp()) // 60
    return [minute for minute in range(first, first + 60 * hours)
            if is_time(schedule, datetime.datetime.fromtimestamp(60 * minute, zoneinfo.ZoneInfo(zone)))]


def schedules_are_read_as_plainly(simulate):
    dice = random.Random(11)

    def field(low, high, names):
        def one():
            kind, first, last = dice.randrange(6), *sorted((dice.randint(low, high), dice.randint(low, high)))
            if kind == 0:
                return dice.choice(("*", "*", "?"))
            if kind == 1:
                return f"*/{dice.randint(1, 9)}"
            if kind == 2:
                return f"{first}-{last}"
            if kind == 3:
                return f"{first}-{last}/{dice.randint(1, 5)}"
            if kind == 4:
                return f"{first}/{dice.randint(1, 12)}"
            return dice.choice(names.split()).upper() if names else str(first)
        return ",".join(one() for _ in range(dice.choice((1, 1, 1, 2))))

    zones = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Etc/GMT+5")
    # Over both changes of the clock in Berlin, and over the turn of a month and of a year.
    for start, hours in (("2026-03-28T20:00:00+00:00", 40), ("2026-10-24T20:00:00+00:00", 40), ("2026-12-30T22:00:00+00:00", 60)):
        wanted, text = {}, ""
        for i in range(40):
            minute = f"{dice.randrange(60)}", f"{dice.randrange(60)},{dice.randrange(60)}", f"{dice.randrange(9)}/25", f"*/{dice.randint(20, 40)}"
            others = (field(*bounds) if dice.randrange(3) else "*" for bounds in BOUNDS[1:])
            schedule, zone = " ".join((dice.choice(minute), *others)), dice.choice(zones)
            wanted[f"c{i}"] = schedule, zone, minutes_of(schedule, zone, start, hours)
            text += cron(f"c{i}", schedule, f"timeZone: {zone}, ")
        got = runs(simulate, text, "--start", start.replace("+00:00", "Z"), "--until", f"{hours}h")
        for name, (schedule, zone, minutes) in wanted.items():
            found = [minute for minute, _, _ in got.get(name, [])]
            assert found == minutes, (start, schedule, zone, found[:5], minutes[:5], len(found), len(minutes))
        assert sum(len(minutes) for _, _, minutes in wanted.values()) > 100


def shorthands_are_read(simulate):
    got = runs(simulate, cron("h", "@hourly") + cron("d", "@daily") + cron("e", "@every 90m") + cron("never", "0 0 31 2 *"), "--until", "5h")
    assert [minute for minute, _, _ in got["h"]] == [0, 60, 120, 180, 240] and [minute for minute, _, _ in got["d"]] == [0], got
    got_long = runs(simulate, cron("s", "5/4294967295 * * * *"), "--until", "2h")
    assert [minute for minute, _, _ in got_long["s"]] == [5, 65], got_long
    assert [at for _, at, _ in got["e"]] == [5400, 10800, 16200] and "never" not in got, got["e"]


def what_is_wrong_with_a_schedule_is_told(simulate):
    for schedule, more, why in (("* * * *", "", "has 4 fields, not 5"), ("60 * * * *", "", '"60" is no range within 0-59'), ("* * * * 7", "", "no range"),
                                ("5-1 * * * *", "", "no range"), ("*/0 * * * *", "", "no range"), ("a * * * *", "", '"a" is no number'),
                                ("@sometimes", "", "has 1 fields"), ("@every x", "", "is no duration"), ("* * * * *", "timeZone: Mars/Base, ", '"Mars/Base"')):
        done = simulate.raw("--controllers", "live", a=node("n1"), b=cron("c", schedule, more))
        assert done.returncode == 2 and "b.yaml:1: CronJob default/c: " in done.stderr and why in done.stderr, (schedule, done.stderr)
    for args, why in ((("--start", "noon"), '--start: "noon" is no time'), (("--until", "-1h"), '--until: "-1h" is no duration'),
                      (("--start", "infinite-future"), '--start: "infinite-future" is no time'), (("--start", "infinite-past"), "is no time"),
                      (("--start", "2300-01-01T00:00:00Z"), "is no time")):
        done = simulate.raw("--controllers", "live", *args, a=node("n1"), b=cron("c", "@daily"))
        assert done.returncode == 2 and why in done.stderr, done.stderr
    done = simulate.raw(a=node("n1"), b=cron("c", "@daily", run_time="soon"))
    assert done.returncode == 2 and 'metadata.annotations["gangsched.dev/run-time"]: "soon" is no duration' in done.stderr, done.stderr


def names_of_runs_have_room(simulate):
    """A CronJob's name leaves room for that of its Jobs: an API server refuses a longer one."""
    for args in ((), ("--controllers", "live", "--until", "3m")):
        done = simulate.raw(*args, a=node("n1"), b=cron("c" * 53, "* * * * *"))
        assert done.returncode == 2 and done.stderr == \
            f"error: b.yaml:3: CronJob default/{'c' * 53}: metadata.name: has 53 characters; of a CronJob it has 52 at most, so that names of its Jobs are none too long\n", done
    # The longest name, from when on minutes have eight digits.
    for indexed in ("", "completionMode: Indexed, completions: 2, parallelism: 2, "):
        text = cron("c" * 52, "* * * * *").replace("jobTemplate: {spec: {", "jobTemplate: {spec: {" + indexed)
        done = simulate.raw("--controllers", "live", "--until", "3m", "--start", "2026-12-01T08:00:00Z", "--output", "json", a=node("n1"), b=text)
        assert done.returncode == 0, done
        names = [one["name"] for one in json.loads(done.stdout)["pods"]]
        assert len(set(names)) == len(names) == (6 if indexed else 3) and all(len(name) == 63 for name in names), names


def runs_may_overlap_or_not(simulate):
    """Each run takes 90 s."""
    def times(more):
        got = runs(simulate, cron("c", "* * * * *", more, "90s", "1"), "--until", "5m")["c"]
        return [(minute, at) for minute, at, _ in got], got
    assert times("")[0] == [(i, 60 * i) for i in range(5)]
    assert times("concurrencyPolicy: Allow, ")[0] == [(i, 60 * i) for i in range(5)]
    # Who may not begin begins when the one before is done, if that is not too late.
    assert times("concurrencyPolicy: Forbid, ")[0] == [(0, 0), (1, 90), (2, 180), (4, 270)]
    assert times("concurrencyPolicy: Forbid, startingDeadlineSeconds: 20, ")[0] == [(0, 0), (2, 120), (4, 240)]
    found, got = times("concurrencyPolicy: Replace, ")
    assert found == [(i, 60 * i) for i in range(5)] and [one["ended_seconds"] for _, _, one in got] == [90, 150, 210, 270, 330], got
    done = simulate.raw("--controllers", "live", a=node("n1"), b=cron("c", "* * * * *", "suspend: true, ") + pod("p"))
    assert done.returncode == 0 and "c-0" not in done.stdout, done.stdout


def controllers_act_once_unless_they_are_live(simulate):
    assert len(simulate(a=node("n1"), b=cron("c", "* * * * *"))) == 1
    assert [one["status"] for one in simulate(a=node("n1"), b=workload("Deployment", "web", 2) + autoscaler("web", "{0s: 3, 1h: 4}")).values()] == 3 * ["placed"]


def who_is_evicted_is_made_again(simulate):
    low, high = "priorityClassName: low, ", pod("big", 3, "  priorityClassName: high\n")
    for kind, parallel in (("Deployment", False), ("StatefulSet", True), ("StatefulSet", False)):
        text = CLASSES + workload(kind, "web", 2, 2, low)
        if parallel:
            text = text.replace("replicas:", "podManagementPolicy: Parallel, replicas:")
        for live in (False, True):
            done = simulate.raw("--output", "json", *(("--controllers", "live") if live else ()), "--arrivals", "t.csv", a=node("n1"), b=text + high)
            assert done.returncode == 2, done  # no table yet
            (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nbig,100,600\n")
            done = simulate.raw("--output", "json", *(("--controllers", "live") if live else ()), "--arrivals", "t.csv", a=node("n1"), b=text + high)
            (simulate.room / "t.csv").unlink()
            pods = [one for one in json.loads(done.stdout)["pods"] if one["name"] != "big"]
            evicted = [one for one in pods if one["status"] == "evicted"]
            assert len(evicted) == 2 and len(pods) == (4 if live else 2), (kind, live, pods)
            again = [one for one in pods if one["status"] == "placed"]
            assert len(again) == (2 if live else 0) and all(one["placed_seconds"] > 600 for one in again), again
            if live and kind == "StatefulSet":
                assert {one["name"]: one["arrived_seconds"] for one in again} == {"web-0": 130, "web-1": 130 if parallel else 730}, again
            elif live:
                assert sorted(one["name"] for one in again) == sorted(one["name"] + "-2" for one in evicted), again
                assert all(one["arrived_seconds"] == 100 for one in again), again


def the_load_says_how_many_there_are(simulate):
    """2, then 5 (9 is above what may be), 1, 3."""
    load = "{0s: 2, 10m: 9, 20m: 0, 30m: 3}"
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        done = simulate.raw("--controllers", "live", "--timeline", "--output", "json", a=node("n1", 8), b=workload(kind, "web", None) +
                            autoscaler("web", load, kind, most=5))
        assert done.returncode == 0, done.stderr
        pods = json.loads(done.stdout)["pods"]
        stays = [(stay["from_seconds"], stay.get("until_seconds", 10 ** 9)) for one in pods for stay in one.get("stays", ())]
        at = lambda time: sum(begin <= time < end for begin, end in stays)
        assert [at(time) for time in (300, 900, 1500, 2100)] == [2, 5, 1, 3], (kind, pods)
        assert at(1215) == 5, "who goes has its grace period"
        if kind == "StatefulSet":
            assert [one["name"] for one in pods if one["status"] == "placed"] == ["web-0", "web-1", "web-2"], pods
        else:
            assert len(pods) == 7 and sum(one["status"] == "ended" for one in pods) == 4, pods


def without_a_load_there_are_as_many_as_the_workload_says(simulate):
    deployed = workload("Deployment", "web", 7)
    assert len(simulate(a=node("n1", 16), b=deployed + autoscaler("web", least=2))) == 7
    assert len(simulate(a=node("n1", 16), b=deployed + autoscaler("web", least=2, most=5))) == 5
    assert len(simulate(a=node("n1", 16), b=deployed + autoscaler("web", least=9))) == 9
    assert len(simulate(a=node("n1", 16), b=deployed + autoscaler("web", least=2, more="status: {desiredReplicas: 4}\n"))) == 4
    assert len(simulate(a=node("n1", 16), b=deployed + autoscaler("other"))) == 7
    done = simulate.raw(a=node("n1"), b=deployed + autoscaler("web", kind="Thing"))
    assert "how many pods a Thing has is not followed" in done.stderr, done.stderr
    done = simulate.raw(a=node("n1"), b=deployed + autoscaler("web", "{soon: 2}"))
    assert done.returncode == 2 and '"soon" is no duration' in done.stderr, done.stderr


def stays_of(simulate, text, *args, nodes=None, code=0):
    """Name, status, when it came and when it was gone, of all pods."""
    done = simulate.raw("--controllers", "live", "--all", "--output", "json", *args, a=nodes or node("n1", 80), b=text)
    assert done.returncode == code, (done.returncode, done.stderr)
    return [(one["name"], one["status"], one.get("arrived_seconds", 0), one.get("gone_seconds", one.get("ended_seconds")))
            for one in json.loads(done.stdout)["pods"]]


def names_of(pods, status="placed"):
    return sorted(name for name, is_, _, _ in pods if is_ == status)


def owned(name, kind, owner, where=""):
    api = "batch/v1" if kind == "Job" else "apps/v1"
    where = f"nodeName: {where}, " if where else ""
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{a: web}}, ownerReferences: [{{apiVersion: {api}, kind: {kind}, name: {owner}, " \
           f"controller: true}}]}}\nspec: {{{where}{CONTAINERS % 0}}}\nstatus: {{phase: {'Running' if where else 'Pending'}}}\n---\n"


def who_ends_is_not_made_again(simulate):
    minute = "{gangsched.dev/run-time: 60s}"
    for kind in ("StatefulSet", "Deployment"):
        pods = stays_of(simulate, workload(kind, "web", None, annotations=minute) + autoscaler("web", "{0s: 2, 10m: 2, 20m: 3}", kind))
        assert [(came, gone) for _, _, came, gone in pods] == [(0, 60), (0, 60), (1200, 1260)], (kind, pods)
        # Fewer are wanted, then more: those are others.
        pods = stays_of(simulate, workload(kind, "web", None, annotations=minute) + autoscaler("web", "{0s: 2, 10m: 1, 20m: 2}", kind))
        assert [(came, gone) for _, _, came, gone in pods] == [(0, 60), (0, 60), (1200, 1260)], (kind, pods)


def who_ends_before_it_comes_does_not_come(simulate):
    for kind in ("StatefulSet", "Deployment"):
        text = workload(kind, "web", None) + autoscaler("web", "{0s: 3, 10m: 1, 20m: 3}", kind)
        (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nweb,3600,\n")
        if kind == "Deployment":
            first = [name for name, *_ in stays_of(simulate, text)][:3]
            (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\n" + "".join(f"{name},3600,100\n" for name in first))
        pods = stays_of(simulate, text, "--arrivals", "t.csv")
        assert sorted(gone for _, status, _, gone in pods if status == "ended")[:2] == [600, 600], pods
        assert len(names_of(pods)) + len(names_of(pods, "ended")) == len(pods) == 5, pods
        assert all(came <= gone for _, _, came, gone in pods if gone is not None), pods


def who_is_there_keeps_its_name(simulate):
    """A ReplicaSet whose third pod runs: it is the one that stays, and the others come later."""
    text = workload("ReplicaSet", "web", 3) + owned("p1", "ReplicaSet", "web") + owned("p2", "ReplicaSet", "web") + owned("p3", "ReplicaSet", "web", "n1")
    pods = stays_of(simulate, text + autoscaler("web", "{0s: 1, 1h: 3, 2h: 5}", "ReplicaSet"))
    assert len(pods) == len({name for name, *_ in pods}) == 5, pods
    assert [(name, came) for name, _, came, _ in pods[:3]] == [("p3", 0), ("p1", 3600), ("p2", 3600)], pods


def a_stateful_set_goes_by_numbers(simulate):
    def text(numbers, load):
        return workload("StatefulSet", "web", len(numbers)) + "".join(owned(f"web-{i}", "StatefulSet", "web", "n1") for i in numbers) + \
            autoscaler("web", load, "StatefulSet", most=20)
    for numbers in (sorted(range(12), key=str), (2, 0, 1)):
        pods = stays_of(simulate, text(numbers, f"{{0s: {len(numbers)}, 1h: 1}}"))
        assert [name for name, status, *_ in pods if status == "running"] == ["web-0"], pods
    # As numbers go and come.
    pods = stays_of(simulate, text((2, 0, 1), "{0s: 3, 1h: 1, 2h: 3}"))
    assert [name for name, _, came, _ in pods if came > 0] == ["web-1", "web-2"], pods
    # Numbers are made good that lack, though there are enough pods.
    pods = stays_of(simulate, text((5, 3), "{0s: 2}"))
    assert {name: gone for name, _, _, gone in pods} == {"web-5": 30, "web-3": 30, "web-0": None, "web-1": None}, pods
    assert {came for _, _, came, _ in pods} == {0}, "what goes for good is not waited for"


def budgets_count_who_is_there(simulate):
    """One web pod is left of three: nobody more of it has to go than with one from the start."""
    nodes = node("n1", 3, kind="a") + "---\n" + node("n2", 3, kind="b")
    for load in ("{0s: 3, 1h: 1}", "{0s: 1}"):
        text = CLASSES + "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mid}\nvalue: 50\n---\n"
        text += workload("Deployment", "web", None, more="nodeSelector: {kind: a}, ") + autoscaler("web", load)
        text += "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {maxUnavailable: 1, selector: {matchLabels: {a: web}}}\n---\n"
        text += pod("other", 1, "  nodeSelector: {kind: b}\n  priorityClassName: mid\n") + "---\n" + pod("big", 3, "  priorityClassName: high\n")
        (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nbig,7200,600\n")
        pods = stays_of(simulate, text, "--arrivals", "t.csv", nodes=nodes)
        assert [name for name in names_of(pods, "evicted") if name == "other"] == [], (load, pods)
        assert len(names_of(pods, "evicted")) == 1, (load, pods)


def a_budget_recovers_with_the_pods_that_come_instead(simulate):
    """What an evicted pod used up of a budget comes back with the pod that is made instead, also of a number that the files say."""
    def kept(name, priority):
        owner = ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, controller: true}]"
        spec = f"  nodeName: {name}\n  priority: {priority}\n  terminationGracePeriodSeconds: 0\n  tolerations: [{{key: spare, operator: Exists}}]\n"
        return pod(name, 4, spec, labels={"app": "free" if name == "other" else "kept"}).replace("}\nspec", owner + "}\nspec", 1) + "---\n"
    spare = node("spare").replace("\nstatus", "\nspec: {taints: [{key: spare, effect: NoSchedule}]}\nstatus")
    nodes = "---\n".join([*(node(name) for name in ("k0", "k1", "other")), spare])
    for status in ("", "status: {disruptionsAllowed: 1}\n"):
        text = CLASSES + "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\n" \
            f"spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: kept}}}}}}\n{status}---\n"
        text += kept("k0", 1) + kept("k1", 1) + kept("other", 5) + "".join(pod(f"big{i}", 4, "  priorityClassName: high\n") + "---\n" for i in range(2))
        for second, spared in ((0, False), (100, True)):
            (simulate.room / "t.csv").write_text(f"name,arrival_s,duration_s\nbig1,{second},1000\n")
            evicted = names_of(stays_of(simulate, text, "--arrivals", "t.csv", nodes=nodes), "evicted")
            assert len(evicted) == 2 and ("other" not in evicted) == spared, (status, second, evicted)


def a_stateful_set_makes_one_pod_after_the_other(simulate):
    """The next pod comes when all that are there run, unless the policy is Parallel or they are a gang."""
    text = workload("StatefulSet", "web", 4, 2)
    parallel = text.replace("replicas:", "podManagementPolicy: Parallel, replicas:")
    waits = "waits for others of its StatefulSet, which makes one pod after the other"
    for manifests, live, late in ((text, True, 1), (parallel, True, 0), (text, False, 0)):
        pods = simulate(*(("--controllers", "live") if live else ()), code=1, a=node("n1", 4), b=manifests)
        assert [one["status"] for one in pods.values()] == 2 * ["placed"] + 2 * ["unscheduled"], pods
        assert sum(one["reason"] == waits for one in pods.values() if "reason" in one) == late, pods
    # A smaller one that would fit does not overtake, and comes once there is room.
    there = owned("web-1", "StatefulSet", "web", "n1")
    pods = simulate("--controllers", "live", code=1, a=node("n1", 1), b=text + there)
    assert [name for name, one in pods.items() if one.get("reason") == waits] == ["web-2", "web-3"], pods
    blocker = pod("blocker", 2, "  activeDeadlineSeconds: 60\n  nodeName: n1\n")
    pods = stays_of(simulate, text + blocker, nodes=node("n1", 8))
    assert [(name, came) for name, _, came, _ in pods if name != "blocker"] == [("web-0", 0), ("web-1", 0), ("web-2", 0), ("web-3", 0)], pods
    pods = stays_of(simulate, text + blocker, "--no-grace", nodes=node("n1", 4), code=1)
    assert [(name, came) for name, _, came, _ in pods if name != "blocker"] == [("web-0", 0), ("web-1", 0), ("web-2", 60), ("web-3", 0)], pods
    # One with a lower number comes again, whatever a later one waits for.
    text = CLASSES + workload("StatefulSet", "web", 3, 2) + pod("big", 1, "  priorityClassName: high\n  nodeSelector: {kind: b}\n")
    nodes = node("n1", 2, kind="a") + "---\n" + node("n2", 2, kind="b")
    (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nbig,100,600\n")
    pods = stays_of(simulate, text, "--arrivals", "t.csv", nodes=nodes, code=1)
    assert [came for name, _, came, _ in pods if name == "web-1"] == [0, 130], pods


def a_stateful_sets_pod_comes_again_when_it_is_gone(simulate):
    """One that was being deleted as the files were written, if its number is still wanted."""
    leaving = [owned(f"web-{i}", "StatefulSet", "web", "n1").replace("metadata: {name", "metadata: {deletionTimestamp: '2026-12-01T08:00:00Z', name")
               for i in (0, 2)]
    pods = stays_of(simulate, workload("StatefulSet", "web", 2) + "".join(leaving))
    assert [(name, status, came) for name, status, came, _ in pods] == [
        ("web-0", "ended", 0), ("web-2", "ended", 0), ("web-1", "placed", 30), ("web-0", "placed", 30)], pods


def budgets_count_only_what_changes(simulate):
    """Took minutes, in proportion to the pods and to the times that one ends."""
    count, text = 20000, "".join("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b%d}\n"
                                 "spec: {maxUnavailable: 10%%, selector: {matchLabels: {app: a%d}}}\n---\n" % (i, i) for i in range(100))
    text += "---\n".join(pod(f"p{i}", "100m", labels={"app": f"a{i % 100}"})
                         .replace(", labels", f", annotations: {{gangsched.dev/run-time: {i + 1}s}}, labels") for i in range(count))
    nodes = "---\n".join(node(f"n{i}", 64).replace("16Gi", "1Ti") for i in range(count // 100))
    report = json.loads(simulate.raw("--output", "json", a=nodes, b=text).stdout)
    assert report["summary"]["ended"] == count and report["summary"]["end_seconds"] == count, report["summary"]


TAINTED = node("n1", 8).replace("\nstatus", "\nspec: {taints: [{key: k, effect: NoExecute}]}\nstatus")


def job(name, more, seconds=None, cpu=1, meta=""):
    """@p seconds: how long its pods tolerate the taint of the node."""
    tolerates = "" if seconds is None else f"tolerations: [{{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: {seconds}}}], "
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}{meta}}}\nspec: {{{more}template: {{spec: {{restartPolicy: Never, {tolerates}{CONTAINERS % cpu}}}}}}}\n---\n"


def a_job_ends_with_its_deadline(simulate):
    """It counts from the Job's start, and pods without a node end, too."""
    of = lambda pods: sorted((came, gone) for _, _, came, gone in pods)
    text = job("j", "activeDeadlineSeconds: 60, parallelism: 2, completions: 2, ")
    assert of(stays_of(simulate, text, nodes=node("n1", 1))) == [(0, 60), (0, 90)]
    assert [one["status"] for one in simulate(a=node("n1", 2), b=text).values()] == 2 * ["placed"], "no controller acts later"
    started = "status: {startTime: '2026-12-01T08:00:00Z'}\n---\n"
    stored = stays_of(simulate, text.replace("---\n", started), "--start", "2026-12-01T08:00:40Z", nodes=node("n1", 2))
    assert of(stored) == [(0, 50), (0, 50)], stored
    late = [text.replace("---\n", started) + owned("old", "Job", "j", "n1"), "--start", "2026-12-01T08:02:00Z"]
    assert stays_of(simulate, *late) == [("old", "ended", 0, 30)], "no other one comes, and takes room, after the deadline"
    runs_of = cron("c", "* * * * *", run_time="10m").replace("jobTemplate: {spec: {", "jobTemplate: {spec: {activeDeadlineSeconds: 20, ")
    pods = stays_of(simulate, runs_of, "--until", "3m")
    assert of(pods) == [(0, 50), (60, 110), (120, 170)], pods
    # What is made instead of an evicted pod ends with the Job.
    pods = stays_of(simulate, job("j", "activeDeadlineSeconds: 25, ", 10), nodes=TAINTED)
    assert of(pods) == [(0, 40), (10, 50), (20, 55)], pods
    # Nothing is made instead of one that is gone only after that.
    pods = stays_of(simulate, job("j", "activeDeadlineSeconds: 25, podReplacementPolicy: Failed, ", 10), nodes=TAINTED)
    assert of(pods) == [(0, 40)], pods


def what_waits_for_a_job_starts_only_when_it_is_complete(simulate):
    """It is not when its deadline ends it, nor while it makes a pod again."""
    spec = "{spec: {template: {spec: {restartPolicy: Never, " + CONTAINERS % 1 + "}}}}"
    jobs = f"{{name: a, template: {spec}}}, {{name: b, dependsOn: [{{name: a, status: Complete}}], template: {spec}}}"
    text = f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: js}}\nspec: {{replicatedJobs: [{jobs}]}}\n---\n"
    owner = ", ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: js, controller: true}]"
    text += job("js-a-0", "activeDeadlineSeconds: 60, ", meta=owner)
    for seconds, started in ((50, True), (70, False)):
        meta = f"labels: {{jobset.sigs.k8s.io/jobset-name: js, jobset.sigs.k8s.io/replicatedjob-name: a}}, annotations: {{gangsched.dev/run-time: {seconds}s}}"
        ends = text.replace("template: {spec: {restartPolicy", f"template: {{metadata: {{{meta}}}, spec: {{restartPolicy")
        pods = stays_of(simulate, ends, "--no-grace", code=0 if started else 1)
        assert [status for _, status, _, _ in pods] == ["ended", "ended" if started else "unscheduled"], pods
    # A pod that is deleted, and made again, has not done its work.
    old = owned("old", "Job", "js-a-0", "n1").replace("metadata: {name", "metadata: {deletionTimestamp: '2026-12-01T08:00:00Z', name") \
        .replace("labels: {a: web}", "labels: {jobset.sigs.k8s.io/jobset-name: js, jobset.sigs.k8s.io/replicatedjob-name: a}")
    pods = stays_of(simulate, text.replace("activeDeadlineSeconds: 60", "podReplacementPolicy: Failed") + old, code=1)
    assert [(status, came) for _, status, came, _ in pods] == [("ended", 0), ("unscheduled", 0), ("placed", 30)], pods


def a_job_fails_with_too_many_pods(simulate):
    """Evicted pods count as failed, unless a policy passes over disruptions; then it ends its other pods and makes none."""
    def count(more, meta="", status=""):
        text = job("j", more, 10, meta=meta).replace("---\n", status + "---\n")
        pods = stays_of(simulate, text, nodes=TAINTED)
        return len(names_of(pods, "evicted")), len(names_of(pods, "ended"))
    assert count("") == (7, 0)
    assert count("backoffLimit: 2, ") == (3, 0)
    assert count("backoffLimit: 2, ", status="status: {failed: 1}\n") == (2, 0)
    # The first of three that is one too many ends the others, which are about to go for the same reason.
    assert count("backoffLimit: 0, parallelism: 3, completions: 3, ") == (1, 2)
    assert count("backoffLimitPerIndex: 1, completionMode: Indexed, parallelism: 2, completions: 2, ") == (4, 0)
    ignoring = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}, backoffLimit: 0, "
    assert count(ignoring)[0] > 50


def a_job_may_wait_until_the_old_pod_is_gone(simulate):
    came = lambda more: sorted(came for _, _, came, _ in stays_of(simulate, job("j", "backoffLimit: 1, " + more, 10), nodes=TAINTED))
    assert came("") == [0, 10] and came("podReplacementPolicy: Failed, ") == [0, 40], came("podReplacementPolicy: Failed, ")
    assert came("podFailurePolicy: {rules: []}, ") == [0, 40]
    # One that is gone at once has failed by then.
    text = job("j", "backoffLimit: 0, podReplacementPolicy: Failed, ", 10)
    pods = stays_of(simulate, text.replace("restartPolicy", "terminationGracePeriodSeconds: 0, restartPolicy"), nodes=TAINTED)
    assert [(status, came, gone) for _, status, came, gone in pods] == [("evicted", 0, 10)], pods


def many_jobs_fail_in_a_short_time(simulate):
    """Took minutes: for each of them all pods were looked at."""
    count = 30000
    text = "".join(job(f"j{i}", "backoffLimit: 0, ", 10, "1m") for i in range(count))
    nodes = "---\n".join(TAINTED.replace("n1", f"n{i}").replace("16Gi", "1Ti") for i in range(count // 100))
    report = json.loads(simulate.raw("--controllers", "live", "--output", "json", a=nodes, b=text).stdout)
    assert report["summary"]["evicted"] == count, report["summary"]


def pods_that_are_being_deleted_are_not_their_controllers(simulate):
    def leaving(name, kind, more=""):
        return owned(name, kind, "x", "n1").replace("metadata: {name", "metadata: {deletionTimestamp: '2026-12-01T08:00:00Z', name") \
            .replace("labels: {a: web}", f"labels: {{a: x{more}}}")
    made = lambda text: sorted(name.rsplit("-", 1)[0] for name in simulate(a=node("n1", 8), b=text) if name != "old")
    assert made(workload("ReplicaSet", "x", 2) + leaving("old", "ReplicaSet")) == ["x", "x"]
    assert made(job("x", "") + leaving("old", "Job")) == ["x"]
    index = ", batch.kubernetes.io/job-completion-index: '0'"
    indexed = "completionMode: Indexed, completions: 1, "
    assert made(job("x", indexed) + leaving("old", "Job", index)) == ["x-0"]
    for more, old in (("", leaving("old", "Job")), (indexed, leaving("old", "Job", index))):
        text = job("x", more + "podReplacementPolicy: Failed, ")
        assert made(text + old) == []
        # It comes when the old one is gone, unless that is one too many that has failed.
        came = lambda text: sorted((came, gone) for _, _, came, gone in stays_of(simulate, text, nodes=node("n1", 8)))
        assert came(text + old) == [(0, 30), (30, None)] == came(text + old + old.replace("name: old", "name: older"))[1:]
        assert came(text.replace("podReplacement", "backoffLimit: 0, podReplacement") + old) == [(0, 30)]


def the_cost_of_a_deletion_counts(simulate):
    """Of pods that are alike but for that the one that costs least goes, wherever it is and whenever it came."""
    text = "".join(owned(f"p{i}", "ReplicaSet", "web", f"n{i}").replace("{name: p", f"{{annotations: {{controller.kubernetes.io/pod-deletion-cost: '{cost}'}}, name: p")
                   for i, cost in enumerate((5, -1, 7)))
    text += workload("ReplicaSet", "web", 3) + autoscaler("web", "{0s: 3, 1h: 2, 2h: 1}", "ReplicaSet")
    pods = stays_of(simulate, text, nodes="---\n".join(node(f"n{i}", 8) for i in range(3)))
    assert {name: gone for name, _, _, gone in pods} == {"p1": 3630, "p0": 7230, "p2": None}, pods


def a_run_that_is_there_is_not_made_twice(simulate):
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: c-0, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: c, controller: true}]}\n" \
          f"spec: {{template: {{spec: {{restartPolicy: Never, {CONTAINERS % 0}}}}}}}\n---\n"
    for more in ("", owned("c-0-aaaaa", "Job", "c-0", "n1")):
        got = runs(simulate, cron("c", "*/10 * * * *") + job + more, "--until", "25m", "--all")
        assert [(minute, at) for minute, at, _ in got["c"]] == [(0, 0), (10, 600), (20, 1200)], got


def other_workloads_are_not_scaled(simulate):
    lws = f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: l}}\nspec: {{replicas: 1, leaderWorkerTemplate: {{size: 2, " \
          f"workerTemplate: {{spec: {{{CONTAINERS % 1}}}}}}}}}\n---\n"
    pods = stays_of(simulate, lws + autoscaler("l", "{0s: 1, 1h: 3}", "LeaderWorkerSet"))
    assert [came for _, _, came, _ in pods] == [0, 0], pods
    # Its names are kept: a worker's name with -2 would be another worker's.
    (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nbig,100,600\n")
    pods = stays_of(simulate, CLASSES + lws + pod("big", 2, "  priorityClassName: high\n"), "--arrivals", "t.csv", nodes=node("n1", 2))
    assert names_of(pods) == ["l-0", "l-0-1"] and names_of(pods, "evicted") == ["l-0", "l-0-1"], pods


def many_scale_ups_do_not_use_up_evictions(simulate):
    load = "{" + ", ".join(f"{i}m: {1 + i % 2}" for i in range(500)) + "}"
    (simulate.room / "t.csv").write_text("name,arrival_s,duration_s\nbig,40000,600\n")
    text = CLASSES + workload("Deployment", "web", None, 1, "priorityClassName: low, ") + autoscaler("web", load) + pod("big", 3, "  priorityClassName: high\n")
    pods = stays_of(simulate, text, "--arrivals", "t.csv", nodes=node("n1", 3))
    assert len(names_of(pods, "evicted")) == 2 and len([p for p in pods if p[1] == "placed"]) == 2, pods[-6:]


def nodes_are_never_too_full(simulate):
    """Workloads at random, with priorities, gangs, loads and runs that overlap: no node has more than it can hold, and each load has its pods."""
    dice = random.Random(3)
    for _ in range(25):
        text, loads = CLASSES, {}
        for i in range(dice.randint(1, 4)):
            kind, steps = dice.choice(("Deployment", "StatefulSet")), sorted(dice.sample(range(60, 3000, 60), dice.randint(1, 4)))
            loads[f"w{i}"] = [(0, dice.randint(0, 3)), *((at, dice.randint(0, 6)) for at in steps)]
            gang = f"{{gang.scheduling.koordinator.sh/name: k{i}, gang.scheduling.koordinator.sh/min-available: '{dice.randint(1, 4)}', " \
                   "gang.scheduling.koordinator.sh/mode: NonStrict, gang.scheduling.koordinator.sh/waiting-time: 200s}"
            text += workload(kind, f"w{i}", None, dice.choice(("500m", "1", "2")), dice.choice(("", "priorityClassName: low, ", "priorityClassName: high, ")),
                             gang if dice.randrange(3) == 0 else "{}")
            text += autoscaler(f"w{i}", "{" + ", ".join(f"{at}s: {count}" for at, count in loads[f"w{i}"]) + "}", kind, least=0, most=5)
        for i in range(dice.randint(0, 3)):
            policy = dice.choice(("Allow", "Forbid", "Replace"))
            text += cron(f"c{i}", f"*/{dice.randint(1, 9)} * * * *", f"concurrencyPolicy: {policy}, ", f"{dice.randint(1, 900)}s", dice.choice(("1", "3")))
        if dice.randrange(2):
            text += "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 2}\n---\n"
            text += "".join(pod(f"g{i}", 2, "  priorityClassName: low\n", labels={"scheduling.x-k8s.io/pod-group": "g"}) + "---\n" for i in range(2))
        nodes = "---\n".join(node(f"n{i}", dice.randint(3, 6)) for i in range(dice.randint(1, 3)))
        done = simulate.raw("--controllers", "live", "--until", "40m", "--timeline", "--output", "json", a=nodes, b=text)
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(done.stdout)
        most = {one["name"]: one["allocatable"]["cpu"] for one in report["nodes"]}
        changes = []
        for one in report["pods"]:
            for stay in one.get("stays", ()):
                begin, end = stay["from_seconds"], stay.get("until_seconds", float("inf"))
                assert begin <= end, one
                changes += [(begin, 1, stay["node"], one["requests"].get("cpu", 0)), (end, 0, stay["node"], -one["requests"].get("cpu", 0))]
        used = dict.fromkeys(most, 0)
        for at, _, name, amount in sorted(changes):
            used[name] += amount
            assert used[name] <= most[name], (at, name, text)
        for name, load in loads.items():
            # Those that are wanted in the end, with a node or without.
            left = [one for one in report["pods"] if one["name"].startswith(name + "-") and one["status"] in ("placed", "waiting", "unscheduled")]
            assert len(left) == min(load[-1][1], 5), (name, load, left, text)


def an_explanation_is_of_the_same_run(simulate):
    text = CLASSES + workload("Deployment", "web", 1, 2, "priorityClassName: low, ") + pod("big", 3, "  priorityClassName: high\n  activeDeadlineSeconds: 60\n")
    done = simulate.raw("--controllers", "live", "--explain", "big", "--output", "json", a=node("n1"), b=text)
    assert json.loads(done.stdout)["explain"]["nodes"][0]["chosen"], done.stdout


def main(program):
    run_each(program, schedules_are_read_as_plainly, shorthands_are_read, what_is_wrong_with_a_schedule_is_told, names_of_runs_have_room, runs_may_overlap_or_not,
             controllers_act_once_unless_they_are_live, who_is_evicted_is_made_again, the_load_says_how_many_there_are,
             without_a_load_there_are_as_many_as_the_workload_says, who_ends_is_not_made_again, who_ends_before_it_comes_does_not_come,
             who_is_there_keeps_its_name, a_stateful_set_goes_by_numbers, budgets_count_who_is_there, a_budget_recovers_with_the_pods_that_come_instead, a_stateful_set_makes_one_pod_after_the_other,
             a_stateful_sets_pod_comes_again_when_it_is_gone, budgets_count_only_what_changes, a_job_ends_with_its_deadline,
             what_waits_for_a_job_starts_only_when_it_is_complete,
             a_job_fails_with_too_many_pods, a_job_may_wait_until_the_old_pod_is_gone, pods_that_are_being_deleted_are_not_their_controllers,
             many_jobs_fail_in_a_short_time, the_cost_of_a_deletion_counts, a_run_that_is_there_is_not_made_twice,
             other_workloads_are_not_scaled, many_scale_ups_do_not_use_up_evictions, nodes_are_never_too_full, an_explanation_is_of_the_same_run)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
