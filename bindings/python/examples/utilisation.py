"""Draws what a GPU cluster is used for over time, and how long jobs wait, with gangs placed whole and pod by pod.

Without a file it replays generated jobs of the Philly trace's shape (columns job, arrival_s, workers, duration_s):

    python utilisation.py --gangs philly_gangs.csv --gpus 512 --out utilisation.png
"""

from __future__ import annotations

import argparse
from typing import Dict

import matplotlib

matplotlib.use("Agg")  # draws into files, without a display

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gangsched as gs

WAYS = {"group_cycle": "gangs are placed whole", "permit": "members wait for each other", "pod_by_pod": "every pod for itself"}


def by_hour(of: gs.Replay, hours: int) -> "pd.DataFrame":
    """Means of the GPUs in use, as shares of the cluster, in steps of so many hours."""
    usage = of.usage
    end = usage["seconds"].iloc[-1]
    step = min(hours * 3600.0, end)
    edges = np.arange(0, end + 1, step)
    made = {"hours": edges[:-1] / 3600}
    for what in ("computing", "idle"):
        # The integral up to each edge; usage is a step function.
        seconds, held = usage["seconds"].to_numpy(), usage[what].to_numpy()
        integral = np.concatenate([[0.0], np.cumsum(np.diff(seconds) * held[:-1])])
        made[what] = np.diff(np.interp(edges, seconds, integral)) / (step * of.gpus)
    return pd.DataFrame(made)


def draw(runs: Dict[str, gs.Replay], hours: int, out: str) -> None:
    figure, (over_time, waits) = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    for way, run in runs.items():
        table = by_hour(run, hours)
        (line,) = over_time.plot(table["hours"] / 24, 100 * table["computing"], label=WAYS[way])
        if table["idle"].max() > 0:
            over_time.plot(table["hours"] / 24, 100 * table["idle"], ":", color=line.get_color(), label="… held in vain")
        waited = np.sort(run.waits["seconds"].to_numpy()) / 60
        waits.plot(np.maximum(waited, 0.1), 100 * np.arange(1, len(waited) + 1) / max(len(waited), 1), label=WAYS[way])
    over_time.set(xlabel="days", ylabel="% of the GPUs", title="In use")
    waits.set(xlabel="minutes, at least 0.1", ylabel="% of the jobs", title="Waited no longer", xscale="log")
    over_time.legend()
    figure.savefig(out)
    plt.close(figure)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gangs", help="job list of philly")
    options.add_argument("--gpus", type=int, default=0, help="of the cluster; 0: enough for nine tenths of the demand")
    options.add_argument("--handling", nargs="+", choices=WAYS, default=["group_cycle", "pod_by_pod"])
    options.add_argument("--hours", type=int, default=12, help="of a step of the drawing")
    options.add_argument("--out", default="utilisation.png")
    asked = options.parse_args()
    runs = {way: gs.replay(gangs=asked.gangs, gpus=asked.gpus, handling=way) for way in asked.handling}
    draw(runs, asked.hours, asked.out)
    rows = []
    for way, run in runs.items():
        waited = run.waits["seconds"]
        rows.append({"way": WAYS[way], "jobs": len(waited), "mean wait, min": waited.mean() / 60, "p99, h": waited.quantile(0.99) / 3600,
                     "idle GPU hours": run.figures["partial"]["idle_gpu_hours"]})  # fmt: skip
    print(pd.DataFrame(rows).round(1).to_string(index=False))
    print(f"drawn in {asked.out}")


if __name__ == "__main__":
    main()
