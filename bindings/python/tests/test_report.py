"""What those see who watch a scheduler."""

import json

import pytest

import gangsched as gs


def test_metrics_are_prometheus_text(cluster):
    for kind, timed in (("counted", False), ("timed", True)):
        copy = cluster.fork()
        copy.add_pod(gs.Pod("fits", cpu=1))
        copy.add_pod(gs.Pod("greedy", cpu=100))
        scheduler = gs.Scheduler(copy, metrics=kind)
        scheduler.run(0)
        text = scheduler.metrics()
        assert 'scheduler_pending_pods{queue="unschedulable"} 1\n' in text
        assert 'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1\n' in text
        assert ("scheduler_scheduling_algorithm_duration_seconds_count 2\n" in text) == timed


def test_events_are_taken_in_order_and_outlive_their_pods(cluster):
    cluster.add_pod(gs.Pod("web", cpu=1, cookie=7))
    cluster.add_pod(gs.Pod("greedy", cpu=100))
    scheduler = gs.Scheduler(cluster, events=100, count_reasons=True, ties="lowest_row")
    scheduler.run(5)
    cluster.remove_pod("greedy")
    scheduled, failed = scheduler.events()
    assert (scheduled.type, scheduled.reason, scheduled.action) == ("Normal", "Scheduled", "Binding")
    assert scheduled.note == "Successfully assigned default/web to node-a"
    assert (scheduled.name, scheduled.namespace, scheduled.cookie, scheduled.now) == ("web", "default", 7, 5)
    no_victims = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert failed.note == "0/2 nodes are available: 2 Insufficient cpu. " + no_victims and failed.name == "greedy"
    assert failed.related is None and repr(failed).startswith("PodEvent(Warning FailedScheduling default/greedy")
    assert scheduler.events() == [] and scheduler.events_dropped == 0


def test_victims_are_told_for_whom_they_go_and_old_events_make_room(cluster):
    for name in ("a", "b"):
        cluster.add_pod(gs.Pod(name, cpu=8))
    scheduler = gs.Scheduler(cluster, events=2)
    scheduler.run(0)
    strong = cluster.add_pod(gs.Pod("strong", cpu=8, priority=9))
    scheduler.run(1)
    failed, preempted = scheduler.events()
    assert (failed.reason, preempted.reason, preempted.related) == ("FailedScheduling", "Preempted", strong)
    assert scheduler.events_dropped == 2


def test_a_trace_is_json_for_perfetto(cluster):
    cluster.add_pod(gs.Pod("web", cpu=1))
    scheduler = gs.Scheduler(cluster, trace="timed", trace_records=1000, metrics="counted", events=10)
    scheduler.run(0)
    names = {one["name"] for one in json.loads(scheduler.trace())["traceEvents"]}
    assert any(name.startswith("schedule_cycle") for name in names) and any("NodeResourcesFit" in name for name in names)
    assert len(scheduler.events()) == 1 and "scheduler_pending_pods" in scheduler.metrics()


def test_watching_changes_no_decision(cluster):
    cluster.add_pods([{"name": f"p{i}", "cpu": "700m"} for i in range(30)])

    def decided(**watching):
        return gs.Scheduler(cluster.fork(), seed=5, **watching).run(0).to_numpy().tobytes()

    assert decided() == decided(metrics="timed", trace="by_now", events=5, count_reasons=True)


def test_what_was_not_asked_for_is_not_there(cluster):
    scheduler = gs.Scheduler(cluster)
    for ask in (scheduler.metrics, scheduler.trace, scheduler.events):
        with pytest.raises(gs.Error) as refused:
            ask()
        assert refused.value.code == "wrong_state"
    for wrong in ({"metrics": "all"}, {"trace": "counted"}):
        with pytest.raises(gs.Error) as refused:
            gs.Scheduler(cluster, **wrong)
        assert refused.value.code == "malformed"
