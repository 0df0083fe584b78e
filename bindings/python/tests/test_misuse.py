"""What a careless program hands over: it is refused in Python's way, and neither ends the process nor leaves the cluster half done."""

import gc
import threading
import weakref

import numpy as np
import pandas as pd
import pytest

import gangsched as gs


class Broken:
    """A number whose methods raise."""

    def __init__(self, method):
        self.__class__ = type("Broken", (Broken,), {method: self.fails})

    def fails(self, *arguments):
        raise KeyError("no number")


def in_itself():
    made = []
    made.append(made)
    return made


def wide(levels=60):
    """A list of two lists that are one, and so on: 2^levels of them, if one counts."""
    made = ["x"]
    for _ in range(levels):
        made = [made, made]
    return made


@pytest.mark.parametrize("what", [in_itself(), {"a": in_itself()}, wide()])
def test_what_is_in_itself_or_has_no_end_is_refused(cluster, what):
    before = cluster.digest()
    with pytest.raises(gs.Error) as refused:
        cluster.update_node("node-a", {"metadata": {"name": "node-a"}, "spec": what})
    assert (refused.value.code, refused.value.object) == ("out_of_range", "node")
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", tolerations=[what]))
    assert (refused.value.code, refused.value.object) == ("out_of_range", "pod default/p")
    with pytest.raises(gs.Error) as refused:
        gs.Profile().add("NodeResourcesFit", args=what)
    assert (refused.value.code, refused.value.object, refused.value.field) == ("out_of_range", "plugin NodeResourcesFit", "args")
    assert cluster.digest() == before


def test_what_is_nested_as_deeply_as_files_may_be_is_read(cluster):
    deep = "leaf"
    for _ in range(90):
        deep = [deep]
    cluster.update_node("node-a", {"metadata": {"name": "node-a"}, "status": {"deep": deep}})


@pytest.mark.parametrize("method", ["__index__", "__float__"])
def test_an_amount_whose_methods_raise_raises_that(cluster, method):
    with pytest.raises(KeyError, match="no number"):
        cluster.add_node(gs.Node("n", cpu=Broken(method)))
    assert cluster.find_node("n") is None


@pytest.mark.parametrize("hook", ["score", "queue_of"])
def test_a_hook_that_returns_a_number_that_raises_ends_the_cycle(cluster, hook):
    hooks = {hook: lambda self, *arguments: Broken("__index__")}
    if hook == "queue_of":
        hooks["queue_before"] = lambda self, a, b: False
    cluster.add_pod(gs.Pod("p"))
    with pytest.raises(gs.Error) as ended:
        gs.Scheduler(cluster, gs.Profile.default().add(type("Numbers", (), hooks)())).run(0)
    assert ended.value.code == "contract" and isinstance(ended.value.__cause__, KeyError)


@pytest.mark.parametrize("number", [1 << 64, -(1 << 80)])
def test_a_hook_that_returns_a_number_beyond_64_bits_is_told_so(cluster, number):
    class Huge(gs.Plugin):
        def score(self, pod, node):
            return number

    cluster.add_pod(gs.Pod("p"))
    with pytest.raises(gs.Error) as ended:
        gs.Scheduler(cluster, gs.Profile.default().add(Huge())).run(0)
    assert "64 bits" in str(ended.value.__cause__)


def test_what_a_hook_raises_may_have_a_class_without_a_name(cluster):
    class Nameless(type):
        @property
        def __name__(cls):
            raise ValueError("nameless")

    class Odd(Exception, metaclass=Nameless):
        pass

    class Raises(gs.Plugin):
        def filter(self, pod, node):
            raise Odd

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Raises()))
    with pytest.raises(gs.Error) as ended:
        scheduler.run(0)
    assert ended.value.code == "contract" and isinstance(ended.value.__cause__, Odd)


def test_an_interrupt_in_a_hook_has_the_decisions_that_stand(cluster):
    class Interrupted(gs.Plugin):
        def score(self, pod, node):
            if pod.name == "third":
                raise KeyboardInterrupt
            return 1

    cluster.add_pods([{"name": name} for name in ("first", "second", "third", "fourth")])
    with pytest.raises(KeyboardInterrupt) as ended:
        gs.Scheduler(cluster, gs.Profile.default().add(Interrupted())).run(0)
    assert [d.pod_name for d in ended.value.decisions if d.kind == "bind"] == ["first", "second"]
    assert cluster.state_of("second") == "bound" and cluster.state_of("third") == "pending"


@pytest.mark.parametrize(
    "field, value",
    [("gpus", -1), ("gpus", 1 << 62), ("speed", 0.0), ("speed", float("nan")), ("speed", 1e-300), ("spread", -1), ("spread", 1 << 62)],
)
def test_a_replay_has_the_bounds_of_the_program(field, value):
    with pytest.raises(gs.Error) as refused:
        gs.replay(**{"gpus": 64, field: value})
    assert (refused.value.code, refused.value.object, refused.value.field) == ("out_of_range", "replay", field)


@pytest.mark.parametrize("option, value", [("seed", -1), ("most_made_pods", -1), ("seed", 1 << 64), ("namespace", 5), ("drain", [5])])
def test_options_of_a_simulation_that_do_not_fit_are_named(option, value):
    with pytest.raises(gs.Error) as refused:
        gs.simulate({"kind": "Node", "metadata": {"name": "n"}}, **{option: value})
    assert (refused.value.code, refused.value.object, refused.value.field) == ("malformed", "simulate", option)


@pytest.mark.parametrize("time", [1 << 64, -(1 << 64), 10**30, float("nan"), float("inf"), 1e300])
def test_times_that_no_clock_has_are_out_of_range(cluster, time):
    scheduler = gs.Scheduler(cluster)
    for call in (
        lambda: scheduler.run(time),
        lambda: scheduler.permit(time),
        lambda: scheduler.demand([], time),
        lambda: gs.Scheduler(cluster, max_backoff=time),
        lambda: cluster.add_pod(gs.Pod("p", expected_run_time=time)),
    ):
        with pytest.raises(gs.Error) as refused:
            call()
        assert (refused.value.code, refused.value.object) == ("out_of_range", "time")


def test_numbers_beyond_64_bits_and_texts_of_half_a_letter_are_refused_by_name(cluster):
    half = "\ud800"
    scheduler = gs.Scheduler(cluster)
    for call, code, of, field in (
        (lambda: gs.Profile().add("NodeResourcesFit", args={"a": 1 << 64}), "out_of_range", "plugin NodeResourcesFit", "args"),
        (lambda: scheduler.demand([gs.NodeShape(gs.Node("n"), price=1 << 64)], 0), "malformed", "NodeShape", "price"),
        (lambda: scheduler.demand([gs.NodeShape(gs.Node("n"), most=-1)], 0), "malformed", "NodeShape", "most"),
        (lambda: cluster.add_group(gs.Group("g", min_count=1, roles={"a": 1 << 40})), "malformed", "group default/g", "roles[a]"),
        (lambda: cluster.add_node(gs.Node("n", labels={"zone": half})), "malformed", "node n", "labels[zone]"),
        (lambda: cluster.add_node(gs.Node("n", labels={half: "a"})), "malformed", "node n", "labels"),
        (lambda: cluster.add_node(gs.Node("n", cpu=half)), "malformed", "node n", "allocatable[cpu]"),
        (lambda: cluster.update_node("node-a", {"metadata": {"name": half}}), "malformed", "node", ""),
        (lambda: gs.Profile().add(type("P", (), {"filter": None, "columns": 5})()), "malformed", "plugin P", "columns"),
        (lambda: gs.Profile().add(type("P", (), {"filter": None, "reads": [1]})()), "malformed", "plugin P", "reads"),
        (lambda: gs.Profile().add(type("P", (), {"filter": None, "name": half})()), "malformed", "plugin", "name"),
    ):  # fmt: skip
        with pytest.raises(gs.Error) as refused:
            call()
        assert (refused.value.code, refused.value.object, refused.value.field) == (code, of, field)
    with pytest.raises(TypeError):
        cluster.add_pod(gs.Pod("p", tolerations=5))  # type: ignore[arg-type]


@pytest.mark.parametrize("profile", [[None], [3], [gs.Profile.default(), None]])
def test_what_is_no_profile_is_refused(cluster, profile):
    with pytest.raises(gs.Error) as refused:
        gs.Scheduler(cluster, profile)
    assert (refused.value.code, refused.value.field) == ("malformed", "profile")


def test_what_was_decided_can_be_read_only(cluster):
    cluster.add_pod(gs.Pod("huge", cpu=99))
    decisions = gs.Scheduler(cluster).run(0)
    rows = decisions.to_numpy()
    with pytest.raises(ValueError):
        rows["code"] = 200
    with pytest.raises(ValueError):
        rows.flags.writeable = True
    assert (decisions[0].kind, decisions[0].code) == ("reject", "unschedulable")


def test_a_trial_within_others_that_nobody_has_any_more_is_undone(cluster):
    before = cluster.digest()
    outer, inner = cluster.trial(), cluster.trial()
    outer.__enter__()
    cluster.add_node(gs.Node("outer"))
    inner.__enter__()
    cluster.add_node(gs.Node("inner"))
    del outer
    gc.collect()
    assert cluster.find_node("outer") is not None  # it cannot end before those within it
    inner.commit()
    assert cluster.digest() == before
    with cluster.trial():
        cluster.trial().__enter__()
        cluster.add_node(gs.Node("lost"))
    cluster.add_pod(gs.Pod("p"))
    assert gs.Scheduler(cluster).run(0).count() == {"bind": 1}
    assert cluster.find_node("lost") is None


def test_trials_neither_begin_nor_end_while_a_hook_runs(cluster):
    said, trials = [], []

    class Tries(gs.Plugin):
        def filter(self, pod, node):
            for call in (cluster.trial().__enter__, *trials):
                with pytest.raises(gs.Error) as refused:
                    call()
                said.append((refused.value.code, refused.value.object))

    cluster.add_pod(gs.Pod("p", cpu=1))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Tries()))
    before = cluster.digest()
    with cluster.trial() as trial:
        big = cluster.add_node(gs.Node("big", cpu=64))
        trials += [trial.commit, lambda: trial.__exit__(None, None, None)]
        assert len(scheduler.explain("p").nodes) == 3
        assert cluster.name_of(big) == "big"
    assert len(said) >= 9 and set(said) == {("busy", "trial")}
    assert cluster.digest() == before
    trials.clear()
    assert scheduler.run(0).count() == {"bind": 1}
    assert cluster.state_of("p") == "bound" and cluster.requested(cluster.node_of("p"), "cpu") == 1000


def with_open_trial(cluster, plugin, kept):
    """A scheduler, and the digest from before: ``kept`` has the only reference to a trial that added the node big."""
    cluster.add_pod(gs.Pod("p", cpu=1))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(plugin))
    before = cluster.digest()
    kept.append(cluster.trial())
    kept[0].__enter__()
    cluster.add_node(gs.Node("big", cpu=64))
    return scheduler, before


def test_a_trial_that_goes_while_a_hook_runs_is_undone_after_the_call(cluster):
    kept = []

    class Drops(gs.Plugin):
        def filter(self, pod, node):
            kept.clear()
            gc.collect()

    scheduler, before = with_open_trial(cluster, Drops(), kept)
    assert [node.name for node in scheduler.explain("p").nodes] == ["node-a", "node-b", "big"]
    assert cluster.digest() == before
    assert scheduler.run(0).count() == {"bind": 1}


def test_a_trial_that_another_thread_lets_go_is_undone_after_the_call(cluster):
    """The thread that has it last ends while the cluster is in a call of another one."""
    kept, inside, gone = [], threading.Event(), threading.Event()

    class Waits(gs.Plugin):
        def filter(self, pod, node):
            inside.set()
            assert gone.wait(10)

    def let_go():
        assert inside.wait(10)
        kept.clear()
        gone.set()

    scheduler, before = with_open_trial(cluster, Waits(), kept)
    other = threading.Thread(target=let_go)
    other.start()
    assert len(scheduler.explain("p").nodes) == 3
    other.join()
    assert cluster.digest() == before


def test_no_scheduler_is_made_while_a_hook_runs(cluster):
    said = []

    class Makes(gs.Plugin):
        def filter(self, pod, node):
            with pytest.raises(gs.Error) as refused:
                gs.Scheduler(cluster)
            said.append((refused.value.code, refused.value.object))

    cluster.add_pod(gs.Pod("p"))
    assert gs.Scheduler(cluster, gs.Profile.default().add(Makes())).run(0).count() == {"bind": 1}
    assert said and set(said) == {("busy", "scheduler")}


@pytest.mark.parametrize("add", ["add_pod", "update_pod", "add_group", "add_pods"])
def test_what_other_threads_do_while_an_object_is_read_stays(cluster, add):
    """The code of an object is Python's: while it runs another thread may be in the cluster, of which nothing is undone."""
    cluster.add_pod(gs.Pod("old"))

    def work():
        if cluster.find_pod("others") is None:
            cluster.add_pod(gs.Pod("others", group="theirs"))

    def others(*ignored):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return {"cpu": "no amount"}

    pod = type("Slow", (gs.Pod,), {"amounts": others})
    group = type("SlowGroup", (gs.Group,), {"deadline": property(others, lambda self, value: None)})
    amount = type("SlowAmount", (), {"__float__": others})()
    with pytest.raises((gs.Error, TypeError)):
        if add == "add_pod":
            cluster.add_pod(pod("mine", group="new"))
        elif add == "update_pod":
            cluster.update_pod("old", pod("old"))
        elif add == "add_group":
            cluster.add_group(group("mine", parent="new"))
        else:
            cluster.add_pods([{"name": "first", "group": "new"}, {"name": "mine", "cpu": amount}])
    assert cluster.find_pod("others") is not None and cluster.find_group("theirs") is not None
    assert cluster.find_pod("mine") is None and cluster.find_group("new") is None and cluster.find_pod("first") is None
    assert len(cluster.pods()) == 2


@pytest.mark.parametrize("add", ["add_node", "update_node", "add_pod", "add_queue", "set_allocatable"])
def test_a_call_that_began_to_read_before_another_threads_is_refused_if_that_runs(cluster, add):
    inside, tried = threading.Event(), threading.Event()

    class Waits(gs.Plugin):
        def filter(self, pod, node):
            inside.set()
            assert tried.wait(10)

    cluster.add_pod(gs.Pod("p"))
    scheduler = gs.Scheduler(cluster, gs.Profile.default().add(Waits()))
    other = threading.Thread(target=lambda: scheduler.run(0))

    class Begins:
        def __float__(self):
            other.start()
            assert inside.wait(10)
            return 1.0

    try:
        with pytest.raises(gs.Error) as refused:
            if add == "add_node":
                cluster.add_node(gs.Node("n", cpu=Begins()))  # type: ignore[arg-type]
            elif add == "update_node":
                cluster.update_node("node-a", gs.Node("node-a", cpu=Begins()))  # type: ignore[arg-type]
            elif add == "add_pod":
                cluster.add_pod(gs.Pod("q", cpu=Begins()))  # type: ignore[arg-type]
            elif add == "add_queue":
                cluster.add_queue(gs.Queue("q", limit={"cpu": Begins()}))  # type: ignore[dict-item]
            else:
                cluster.set_allocatable("node-a", {"example.com/a": Begins()})
    finally:
        tried.set()
        other.join()
    assert refused.value.code == "busy" and "another thread" in str(refused.value)


@pytest.mark.parametrize("keep", [gs.Scheduler, lambda cluster: cluster.trial()])
def test_a_cluster_that_keeps_what_keeps_it_is_collected(keep):
    cluster = gs.Cluster()
    cluster.kept = keep(cluster)  # type: ignore[attr-defined]
    gone = weakref.ref(cluster)
    del cluster
    gc.collect()
    assert gone() is None


def test_tables_may_have_lists_and_values_that_pandas_does_not_know(cluster):
    cluster.add_pods([{"name": "a", "scheduling_gates": np.array(["x", "y"])}, {"name": "b", "priority": pd.NA}])
    cluster.add_pods(pd.DataFrame({"name": ["c", "d"], "priority": [1, None]}).convert_dtypes())
    assert cluster.pods().priority.tolist() == [0, 0, 1, 0]
    assert gs.Scheduler(cluster).counts()["gated"] == 1
