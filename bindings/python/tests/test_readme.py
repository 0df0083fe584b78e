"""The README's blocks of Python do what it says."""

import contextlib
import io
import pathlib
import re

import gangsched as gs

README = (pathlib.Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
QUICKSTART, PRINTED = re.search(r"<!-- run: .*?-->\n```python\n(.*?)```\n```\n(.*?)```", README, re.DOTALL).groups()


def test_the_quickstart_prints_what_is_below_it():
    assert QUICKSTART.count("\n") <= 30
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(QUICKSTART, "README.md", "exec"), {})
    assert said.getvalue() == PRINTED


def test_the_plugin_of_the_page_is_one():
    block = re.search(r"## Plugins\n\n```python\n(.*?)```", README, re.DOTALL)[1]
    names = {"gs": gs}
    exec(compile(block, "README.md", "exec"), names)
    assert names["profile"].plugins[-1] == ("MostFreeGpus", 5)
    cluster = gs.Cluster()
    cluster.add_nodes([{"name": "full", "gpu": 1, "cpu": 4}, {"name": "free", "gpu": 8, "cpu": 4}])
    cluster.add_pod(gs.Pod("p", gpu=1))
    assert [d.node_name for d in gs.Scheduler(cluster, names["profile"]).run(0)] == ["free"]


def test_the_fork_of_the_page_is_one():
    block = re.search(r"## What if\n\n```python\n(.*?)```", README, re.DOTALL)[1]
    cluster = gs.Cluster()
    cluster.add_pod(gs.Pod("p", gpu=1))
    names = {"gs": gs, "scheduler": gs.Scheduler(cluster)}
    names["scheduler"].run(0)
    exec(compile(block, "README.md", "exec"), names)
    assert names["gained"] == 1 and cluster.find_node("node-c") is None


def test_what_the_page_names_is_there():
    for name in re.findall(r"\bgs\.(\w+)", README):
        assert hasattr(gs, name), name
    for name in re.findall(r"cluster\.(\w+)\(", README):
        assert hasattr(gs.Cluster, name), name
    for name in re.findall(r"scheduler\.(\w+)\(", README):
        assert hasattr(gs.Scheduler, name), name
    for name in gs.__all__:
        assert hasattr(gs, name), name
