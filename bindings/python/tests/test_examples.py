"""The examples run, and say what they are there to say."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def run(name, *arguments):
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_score_is_compared_with_fgd():
    said = run("score_against_fgd.py", "--take", "30", "--seeds", "1", "2", "3", "4")
    rows = re.findall(r"^\s*(LeastLeft|bestfit)\s+(alloc_\d+)\s+(-?[\d.]+)\s+([\d.]+)\s+4$", said, re.MULTILINE)
    assert len(rows) == 6
    assert all(float(half) >= 0 for _, _, _, half in rows)


def test_intervals_are_students():
    import pandas as pd

    spec = importlib.util.spec_from_file_location("score_against_fgd", EXAMPLES / "score_against_fgd.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.half_interval(pd.Series([1.0, 2.0, 3.0, 4.0])) == pytest.approx(3.18 * 1.2909944 / 2, rel=1e-6)
    figures = {"alloc_90": [3.0, 1.0, 5.0, 1.0], "alloc_100": 0.0, "alloc_130": 0.0}
    runs = pd.DataFrame({"seed": [1, 1, 2, 2], "policy": ["a", "fgd"] * 2, **figures})
    first = module.differences(runs, "fgd").iloc[0]
    assert (first["policy"], first["mean"], first["runs"]) == ("a", 3.0, 2) and first["±"] == pytest.approx(12.71)


def test_utilisation_is_drawn(tmp_path):
    jobs = ["job,arrival_s,workers,duration_s"] + [f"j{i},{i * 40},{(1, 2, 4, 8)[i % 4]},{600 + 37 * i}" for i in range(100)]
    gangs = tmp_path / "gangs.csv"
    gangs.write_text("\n".join(jobs) + "\n")
    out = tmp_path / "drawn.png"
    said = run("utilisation.py", "--gangs", str(gangs), "--gpus", "64", "--hours", "1", "--out", str(out))
    assert out.read_bytes().startswith(b"\x89PNG") and out.stat().st_size > 10_000
    assert re.search(r"gangs are placed whole\s+100\s", said)


def figures_of(said):
    return dict(re.findall(r"(fgd|bestfit)\s+([\d.]+)", said))


def test_a_sweep_runs_in_processes():
    said = run("sweep.py", "--take", "20", "--seeds", "1", "2", "--policies", "fgd", "bestfit", "--workers", "2", "--no-ray")
    assert said.startswith("4 runs")
    assert len(figures_of(said)) == 2


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_sweep_in_ray_comes_to_the_same(tmp_path):
    what = ("--take", "20", "--seeds", "1", "2", "--policies", "fgd", "bestfit", "--workers", "2")
    drop = ["us_per_pod"]
    import pandas as pd

    tables = []
    for name, more in (("ray", ()), ("processes", ("--no-ray",))):
        out = tmp_path / f"{name}.csv"
        run("sweep.py", *what, *more, "--out", str(out))
        tables.append(pd.read_csv(out).drop(columns=drop))
    assert len(tables[0]) == 4 and tables[0].equals(tables[1])


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_sweep_goes_to_a_cluster_by_its_address():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        address = ray.get_runtime_context().gcs_address
        said = run("sweep.py", "--take", "20", "--seeds", "1", "--policies", "fgd", "--ray-address", address)
    finally:
        ray.shutdown()
    assert said.startswith("1 runs")


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_an_address_is_refused():
    done = subprocess.run([sys.executable, str(EXAMPLES / "sweep.py"), "--ray-address", "auto"], capture_output=True, text=True)
    assert done.returncode == 2 and "needs ray" in done.stderr
