#!/usr/bin/env python3
"""gangsched-simulate names file and line of what is wrong and then schedules nothing; configurations, several schedulers, budgets,
gates and standard input do what docs/simulate.md says.   usage: simulate_inputs.py SIMULATE"""
import json
import pathlib
import subprocess
import sys
import tempfile


def node(name, cpu=4, **labels):
    labels = {"kubernetes.io/hostname": name, **labels}
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {json.dumps(labels)}}}\n" \
           f"status: {{allocatable: {{cpu: {cpu}, memory: 16Gi, pods: 110}}}}\n"


def pod(name, cpu=1, spec="", ns="default", labels=None):
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {ns}, labels: {json.dumps(labels or {})}}}\nspec:\n" \
           f"  containers: [{{name: main, image: example.com/main:1, resources: {{requests: {{cpu: {cpu}, memory: 1Gi}}}}}}]\n{spec}"


CLASSES = "".join(f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n---\n"
                  for name, value in (("low", 1), ("high", 100)))
PACKING = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
- schedulerName: spreading
"""


class Simulate:
    def __init__(self, program, room):
        self.program, self.room = program, room

    def raw(self, *args, stdin=None, **files):
        """Runs it on files that are written under their names, with .yaml."""
        names = []
        for name, content in files.items():
            (self.room / f"{name}.yaml").write_text(content)
            if name != "config":
                names.append(f"{name}.yaml")
        return subprocess.run([self.program, *names, *args], cwd=self.room, capture_output=True, text=True, input=stdin, timeout=60)

    def __call__(self, *args, code=0, **rest):
        done = self.raw(*args, "--output", "json", **rest)
        assert done.returncode == code, (done.returncode, done.stderr)
        report = json.loads(done.stdout)
        return {each["name"]: each for each in report["pods"]}


def run_each(program, *tests):
    """Runs test(Simulate) for each, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for number, test in enumerate(tests):
            room = pathlib.Path(folder) / str(number)
            room.mkdir()
            test(Simulate(program, room))
            print("ok:", test.__name__)


BAD = [  # the second file, and the line about it
    (pod("p", cpu="1x"),
     'b.yaml:5: Pod default/p: spec.containers[0].resources.requests.cpu: "1x" is no quantity: expected a number and an optional '
     'suffix, such as 100m or 1.5Gi'),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n", "b.yaml:4: Pod default/p: spec: needs containers"),
    ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template: {spec: {containers: [{name: c, image: i}]}}\n",
     "b.yaml:5: Deployment default/d: spec: needs a selector"),
    (pod("p", spec="  tolerations: [{key: a, operator: Equals}]\n"),
     'b.yaml:6: Pod default/p: spec.tolerations[0].operator: "Equals" is not one of Equal, Exists'),
    (pod("p", spec="  terminationGracePeriodSeconds: -1\n"),
     "b.yaml:6: Pod default/p: spec.terminationGracePeriodSeconds: -1 is not in 0 to 2147483647"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: p\n", "b.yaml:4: syntax: end of map flow not found"),
    (pod("p")[:-20], None),
    ("just words\n", "b.yaml:1: document: is no object"),
    ("kind: [Pod]\n", "b.yaml:1: document: has no kind"),
    ("{\"kind\": \"Pod\"", None),
]


def bad_files(simulate):
    for content, message in BAD:
        done = simulate.raw(a=node("n1"), b=content)
        assert done.returncode == 2 and done.stdout == "", (content, done)
        line, = done.stderr.splitlines()
        assert line == f"error: {message}" if message else line.startswith("error: b.yaml:"), line
        assert line.split(":")[2].isdigit(), line


def what_is_not_there_is_waited_for(simulate):
    files = [pod("p", spec="  priorityClassName: nothing\n"), pod("away", spec="  nodeName: nowhere\n"), pod("q", cpu=1), pod("q", cpu=2)]
    done = simulate.raw("-o", "json", a=node("n1"), b="---\n".join(files))
    pods = {each["name"]: each for each in json.loads(done.stdout)["pods"]}
    assert done.returncode == 1 and set(pods) == {"p", "q"} and pods["q"]["status"] == "placed", done
    assert pods["p"]["reason"] == 'waits for what it refers to: spec.priorityClassName: no priority class "nothing"', pods
    assert done.stderr.splitlines() == [
        "warning: b.yaml:15: Pod default/q: comes again: the later one counts",
        'warning: b.yaml:1: Pod default/p: spec.priorityClassName: no priority class "nothing"; the pod waits for it',
        'warning: b.yaml:8: Pod default/away: spec.nodeName: no node "nowhere": it runs there, and is left out'], done.stderr


def bad_command_lines(simulate):
    (simulate.room / "empty").mkdir()
    for args, message in [
        (("missing.yaml",), "error: missing.yaml: file: cannot be opened"),
        (("empty",), "error: empty: has no .yaml, .yml or .json; with -R folders in it count"),
        (("empty", "-R"), "error: empty: has no .yaml, .yml or .json"),
        (("--config", "missing.yaml"), "error: missing.yaml: file: cannot be opened"),
        (("--explain", "nobody"), 'error: --explain: no pod or group "nobody"'),
        (("--explain", "we"), 'error: --explain: no pod or group "we"; similar: default/web-0, default/web-1'),
        (("--output", "xml"), None),
        (("--seed", "x"), None),
        (("--unknown",), None),
        (("-", "-"), None),
    ]:
        done = simulate.raw(*args, a=node("n1"), b=pod("web-0") + "---\n" + pod("web-1"))
        assert done.returncode == 2 and done.stdout == "", (args, done)
        assert done.stderr.splitlines()[0] == message or message is None, done.stderr
    twice = pod("web", ns="a") + "---\n" + pod("web", ns="b")
    done = simulate.raw("--explain", "web", a=node("n1"), b=twice)
    assert done.stderr == 'error: --explain: more than one pod "web"; one of: a/web, b/web\n', done.stderr
    done = simulate.raw("--explain", "b/web", a=node("n1"), b=twice)
    assert done.returncode == 0 and done.stdout.startswith("b/web went to n1 at 0 s\n")
    assert simulate.raw().returncode == 2
    assert simulate.raw("--help").returncode == 0
    assert simulate.raw("--version").stdout.startswith("gangsched-simulate ")


def bad_configurations(simulate):
    for content, part in [("kind: KubeSchedulerConfiguration\nprofiles: {}\n", "config.yaml:2:"),
                          (PACKING.replace("MostAllocated", "Most"), "config.yaml:"),
                          (PACKING.replace("pluginConfig", "plugins: {score: {enabled: [{name: Luck}]}}\n  pluginConfig"), "Luck")]:
        done = simulate.raw("--config", "config.yaml", a=node("n1"), b=pod("p"), config=content)
        assert done.returncode == 2 and done.stdout == "" and part in done.stderr, done


def warnings(simulate):
    done = simulate.raw(a=node("n1"), b=pod("p", spec="  nodeSelektor: {a: b}\n") + "---\napiVersion: example.com/v1\nkind: Thing\n"
                        + 2 * "---\napiVersion: v1\nkind: Secret\n" + "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\n")
    assert done.returncode == 0
    first, second, third = done.stderr.splitlines()
    assert first.startswith("warning: b.yaml:6: Pod default/p: spec.nodeSelektor: there is no such field"), first
    assert second.startswith("warning: b.yaml:8: Thing"), second
    assert third == "warning: ignored: 1 Ingress, 2 Secret", third


def a_configuration_changes_the_placement(simulate):
    nodes = node("busy") + "---\n" + node("idle") + "---\n" + pod("runs", cpu=2, spec="  nodeName: busy\n")
    assert simulate(a=nodes, b=pod("p"))["p"]["node"] == "idle"
    done = simulate.raw("--config", "config.yaml", a=nodes, b=pod("p"), config=PACKING)
    assert done.stderr == "", "what the defaults lack is no news"
    packed = simulate("--config", "config.yaml", a=nodes, b=pod("p"), config=PACKING)
    assert packed["p"]["node"] == "busy"
    spread = pod("p", spec="  schedulerName: spreading\n")
    assert simulate("--config", "config.yaml", a=nodes, b=spread, config=PACKING)["p"]["node"] == "idle"
    left = simulate(code=1, a=nodes, b=spread)["p"]
    assert left["reason"] == 'left to the scheduler "spreading"' and left["attempts"] == 0


def standard_input(simulate):
    done = simulate.raw("-", stdin=pod("p"), a=node("n1"))
    assert done.returncode == 0 and "placed" in done.stdout
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}]})
    assert simulate("-", stdin=items, a=node("n1"))["p"]["status"] == "placed"
    done = simulate.raw("-", stdin=pod("p", cpu="x"), a=node("n1"))
    assert done.returncode == 2 and done.stderr.startswith("error: stdin:5: Pod default/p: "), done.stderr


def grace_periods(simulate):
    running = node("n1") + "---\n" + CLASSES + pod("quick", cpu=2, spec="  nodeName: n1\n  priorityClassName: low\n"
                                                  "  terminationGracePeriodSeconds: 5\n")
    running += "---\n" + pod("slow", cpu=2, spec="  nodeName: n1\n  priorityClassName: low\n")
    wanted = pod("big", cpu=4, spec="  priorityClassName: high\n")
    pods = simulate(a=running, b=wanted)
    assert (pods["quick"]["gone_seconds"], pods["slow"]["gone_seconds"], pods["big"]["placed_seconds"]) == (5, 30, 30)
    assert sorted(pods["big"]["evicts"]) == ["default/quick", "default/slow"]
    assert pods["slow"]["evicted_by"] == "default/big" and pods["slow"]["evicted_seconds"] == 0
    pods = simulate("--no-grace", a=running, b=wanted)
    assert pods["slow"]["gone_seconds"] == pods["big"]["placed_seconds"] == 0
    polite = running.replace("value: 100\n", "value: 100\npreemptionPolicy: Never\n")
    pods = simulate(code=1, a=polite, b=wanted)
    assert pods["big"]["reason"] == "0/1 nodes are available: 1 Insufficient cpu." and list(pods) == ["big"]


def budgets(simulate):
    """Two equal victims, one under a budget that allows nothing: the other one goes."""
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\n" \
             "spec: {minAvailable: 1, selector: {matchLabels: {app: kept}}}\n---\n"
    for kept, spared in (("one", "two"), ("two", "one")):
        cluster = CLASSES + budget + "---\n".join(
            node(f"n-{name}") + "---\n" + pod(name, cpu=4, labels={"app": "kept" if name == kept else "other"},
                                              spec=f"  nodeName: n-{name}\n  priorityClassName: low\n")
            for name in ("one", "two"))
        pods = simulate(a=cluster, b=pod("big", cpu=4, spec="  priorityClassName: high\n"))
        assert spared in pods and kept not in pods, (kept, pods)


def written_budgets(simulate):
    """A status that allows one disruption allows one: the second preemptor takes a more important pod instead."""
    cluster = CLASSES + "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\n" \
        "spec: {minAvailable: 1, selector: {matchLabels: {app: kept}}}\nstatus: {disruptionsAllowed: 1}\n---\n"
    cluster += "---\n".join(node(f"n-{name}") + "---\n" + pod(name, cpu=4, labels={"app": app}, spec=f"  nodeName: n-{name}\n  priority: {level}\n")
                            for name, app, level in (("k1", "kept", 1), ("k2", "kept", 1), ("other", "free", 5)))
    big = "---\n".join(pod(f"big{i}", cpu=4, spec="  priorityClassName: high\n") for i in range(2))
    pods = simulate(a=cluster, b=big)
    assert "other" in pods and len({"k1", "k2"} & set(pods)) == 1, pods


def late_preemption(simulate):
    """Room that others leave wakes who can preempt the rest, at once and not after five minutes."""
    cluster = node("n1") + "---\n" + pod("blocker", cpu=3, spec="  nodeName: n1\n  priority: 5000\n  activeDeadlineSeconds: 10\n") \
        + "---\n" + pod("lo", spec="  nodeName: n1\n  priority: 1\n")
    pods = simulate(a=cluster, b=pod("hi", cpu=4, spec="  priority: 100\n"))
    assert pods["lo"]["evicted_seconds"] == 10 and pods["hi"]["placed_seconds"] == 40, pods


def gates_and_deadlines(simulate):
    pods = simulate(code=1, a=node("n1", cpu=1), b=pod("gated", spec="  schedulingGates: [{name: example.com/wait}]\n") + "---\n"
                    + pod("first", spec="  activeDeadlineSeconds: 60\n") + "---\n" + pod("second") + "---\n" + pod("third"))
    assert pods["gated"]["attempts"] == 0 and pods["gated"]["status"] == "unscheduled" and pods["gated"]["reason"]
    assert pods["first"]["status"] == "ended" and pods["first"]["ended_seconds"] == 60
    assert pods["second"]["placed_seconds"] == 60
    assert pods["third"]["reason"] == "0/1 nodes are available: 1 Insufficient cpu."


def an_incomplete_gang(simulate):
    group = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g}\n" \
            "spec: {schedulingPolicy: {gang: {minCount: 3}}}\n---\n"
    members = "---\n".join(pod(f"m{i}", spec="  schedulingGroup: {podGroupName: g}\n") for i in range(2))
    pods = simulate(code=1, a=node("n1"), b=group + members)
    assert all(each["status"] == "unscheduled" and each["group"] == "g" and each["reason"] for each in pods.values()), pods


def equal_seeds_give_equal_draws(simulate):
    nodes = "---\n".join(node(f"n{i}") for i in range(20))
    pods = "---\n".join(pod(f"p{i}") for i in range(10))
    draws = [json.dumps(simulate("--seed", str(seed), a=nodes, b=pods)) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def names_that_look_like_something_else(simulate):
    import yaml
    done = simulate.raw("--output", "yaml", a=node("n1"), b=pod('"yes"') + "---\n" + pod('"0x1"'))
    names = [each["name"] for each in yaml.safe_load(done.stdout)["pods"]]
    assert names == ["yes", "0x1"], done


def all_mistakes_are_told(simulate):
    good = pod("good")
    files = {"a": node("n1") + "---\n" + pod("p", cpu="1x"), "b": "kind: Pod\n  bad: [\n", "c": good + "---\n" + pod("q", cpu="2y") + "---\n" + BAD[2][0]}
    done = simulate.raw(**files)
    assert done.returncode == 2 and done.stdout == "", done
    told = done.stderr.splitlines()
    assert len(told) == 4 and all(one.startswith("error: ") for one in told), told
    assert [one.split(":")[1].strip() for one in told] == ["b.yaml", "a.yaml", "c.yaml", "c.yaml"], told
    assert "Deployment default/d: spec: needs a selector" in told[3], told
    done = simulate.raw("--keep-going", "-o", "json", **files)
    assert done.returncode == 0, done
    assert [one["name"] for one in json.loads(done.stdout)["pods"]] == ["good"], done
    left_out = done.stderr.splitlines()
    assert len(left_out) == 4 and all(one.startswith("warning: ") and one.endswith("; it is left out") for one in left_out), left_out
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}} for name, cpu in (("p", "1x"), ("q", 1), ("r", "2y"))]}, indent=1)
    done = simulate.raw("-", "--keep-going", "-o", "json", stdin=listed, a=node("n1"))
    assert [one["name"] for one in json.loads(done.stdout)["pods"]] == ["q"] and len(done.stderr.splitlines()) == 2, done


def folders(simulate):
    below = simulate.room / "all" / "below"
    below.mkdir(parents=True)
    (simulate.room / "all" / "b.yml").write_text(pod("b"))
    (simulate.room / "all" / "a.yaml").write_text(node("n1"))
    (simulate.room / "all" / "notes.txt").write_text("no manifest")
    (below / "c.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"},
                                              "spec": {"containers": [{"name": "c", "image": "i"}]}}))
    assert set(simulate("all")) == {"b"}
    assert set(simulate("-f", "all", "-R")) == {"b", "c"}
    assert set(simulate("-f", "all/a.yaml", "-f", "all/below")) == {"c"}


def a_namespace_of_those_that_name_none(simulate):
    files = pod("p").replace(", namespace: default", "") + "---\n" + pod("q", ns="own")
    done = simulate.raw("-n", "team", "-o", "json", a=node("n1"), b=files)
    assert [(one["namespace"], one["name"]) for one in json.loads(done.stdout)["pods"]] == [("team", "p"), ("own", "q")], done


def nothing_to_schedule(simulate):
    for files in ({"a": node("n1")}, {"a": "---\n"}, {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}):
        done = simulate.raw(**files)
        assert done.returncode == 2 and done.stdout == "", done
        assert done.stderr.splitlines()[-1] == "error: there is nothing to schedule: no pods, and nothing that makes some", done


def nodes_alike_are_one_line(simulate):
    nodes = "---\n".join([node(f"n{i:02}", 1) for i in range(12)] + [node(f"t{i}", 8, kind="other") for i in range(3)])
    asked = pod("p", 4, spec="  nodeSelector: {kind: none}\n")
    text = simulate.raw("--explain", "p", a=nodes, b=asked).stdout
    assert "   15  NodeAffinity  node(s) didn't match Pod's node affinity/selector  n00, n01, n02, …\n" in text, text
    text = simulate.raw("--explain", "p", "--top", "20", a=nodes, b=asked).stdout
    assert len([line for line in text.splitlines() if "NodeAffinity" in line]) == 15, text
    text = simulate.raw("--explain", "p", "--top", "2", a=nodes, b=pod("p", 1)).stdout
    assert text.count(" total ") == 2 and "… and 13 more nodes that fit, with " in text and "chosen" in text, text


def main(program):
    run_each(program, bad_files, all_mistakes_are_told, folders, a_namespace_of_those_that_name_none, nothing_to_schedule,
             nodes_alike_are_one_line, what_is_not_there_is_waited_for, bad_command_lines, bad_configurations, warnings, a_configuration_changes_the_placement, standard_input,
             grace_periods, budgets, written_budgets, late_preemption, gates_and_deadlines, an_incomplete_gang,
             equal_seeds_give_equal_draws, names_that_look_like_something_else)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
