"""A score of one's own against FGD in the openb experiment: is it better, and how sure is that?

Without files it runs on a generated cluster of openb's shape. With the lists of alibaba/clusterdata, cluster-trace-gpu-v2023:

    python score_against_fgd.py --nodes openb_node_list_gpu_node.csv --pods openb_pod_list_default.csv --seeds 42 43 44 45 46
"""

from __future__ import annotations

import argparse
import math
import numpy as np
import numpy.typing as npt
import pandas as pd

import gangsched as gs


class LeastLeft(gs.Plugin):
    """The node on whose GPUs the pod leaves the least that nobody can use: a share goes where it fits tightest, whole GPUs to nodes that
    are nearly full, and pods without GPUs to nodes that have none left."""

    def score_nodes(self, pod: gs.PodView, nodes: gs.NodesView) -> npt.NDArray[np.int64]:
        free = nodes.gpu_free_milli().astype(np.int64)  # nodes × GPUs
        gpus, milli = nodes.gpu_ask()
        if gpus == 1 and milli < 1000:
            left: npt.NDArray[np.int64] = np.where(free >= milli, free - milli, 1000).min(axis=1)
            return 100 - left // 10
        idle: npt.NDArray[np.int64] = (free == 1000).sum(axis=1)
        return 100 - 100 * idle // max(int(idle.max()), 1)


#: The quantile of Student's distribution that leaves 2.5 % above, by degrees of freedom.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09)


def half_interval(values: "pd.Series[float]") -> float:
    """Half of the 95 % confidence interval of the mean."""
    if len(values) < 2:
        return math.nan
    freedom = len(values) - 1
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else 2.09
    return quantile * float(values.std(ddof=1)) / math.sqrt(len(values))


def differences(runs: "pd.DataFrame", against: str) -> "pd.DataFrame":
    """Each policy less another one, seed by seed: equal seeds have equal arrivals, so that what is left is the policies'."""
    rows = []
    for what in ("alloc_90", "alloc_100", "alloc_130"):
        by_seed = runs.pivot(index="seed", columns="policy", values=what)
        for policy in by_seed.columns.drop(against):
            paired = by_seed[policy] - by_seed[against]
            rows.append({"policy": policy, "measure": what, "mean": paired.mean(), "±": half_interval(paired), "runs": len(paired)})
    return pd.DataFrame(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nodes", help="node list of openb")
    options.add_argument("--pods", help="pod list of openb")
    options.add_argument("--seeds", type=int, nargs="+", default=list(range(42, 47)))
    options.add_argument("--take", type=int, default=0, metavar="N", help="of a generated cluster only the first N nodes")
    asked = options.parse_args()
    nodes, pods = asked.nodes, asked.pods
    if nodes is None:
        nodes, pods = gs.openb_trace()
        nodes = nodes[nodes["gpu"] > 0].head(asked.take or len(nodes))
        pods = pods.head(100 * asked.take or len(pods))
    runs = gs.openb(nodes, pods, policies=["bestfit", "fgd", LeastLeft()], seeds=asked.seeds)
    print(runs.groupby("policy")[["alloc_90", "alloc_100", "alloc_130", "frag_100", "us_per_pod"]].mean().round(2).to_string())
    print("\nless fgd, in points of allocated GPUs, with 95 % confidence:")
    print(differences(runs, "fgd").round(2).to_string(index=False))


if __name__ == "__main__":
    main()
