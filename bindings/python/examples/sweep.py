"""Seeds × policies × traces of the openb experiment on all processors, or on all of a Ray cluster.

    python sweep.py --seeds 42 43 44 45 46 --policies fgd bestfit pricing --lists openb_pod_list_*.csv --nodes openb_node_list_gpu_node.csv
    python sweep.py --ray-address auto …            the same on a cluster of Ray's, whose machines have this package and the files

With Ray, if it is installed, its tasks run the experiment; on this machine alone without --ray-address. Without Ray processes do.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import itertools
import multiprocessing
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import pandas as pd

import gangsched as gs

#: One run: nodes, pods (None: generated), how many of the generated nodes, policy, seed.
Task = Tuple[Optional[str], Optional[str], int, str, int]


def run(task: Task) -> Dict[str, Any]:
    """One run, on whichever machine this is: a function of the task alone."""
    nodes, pods, take, policy, seed = task
    if pods is None:
        generated, some = gs.openb_trace()
        generated = generated[generated["gpu"] > 0].head(take or len(generated))
        made = gs.openb(generated, some.head(100 * take or len(some)), policies=[policy], seeds=[seed])
        made["list"] = "generated"
    else:
        made = gs.openb(nodes, pods, policies=[policy], seeds=[seed])
    row: Dict[str, Any] = made.drop(columns="allocated").iloc[0].to_dict()
    return row


def with_ray(tasks: Iterable[Task], address: Optional[str], workers: Optional[int]) -> Iterator[Dict[str, Any]]:
    """In the order in which they end."""
    import ray

    if address is None:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    else:
        ray.init(address=address, log_to_driver=False)
    try:
        remote = ray.remote(run)
        waiting = [remote.remote(task) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
    finally:
        ray.shutdown()


def with_processes(tasks: Iterable[Task], workers: Optional[int]) -> Iterator[Dict[str, Any]]:
    """In the order in which they end."""
    # Processes that begin anew share nothing with this one, as tasks on another machine do.
    with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, task) for task in tasks]):
            yield done.result()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nodes", help="node list of openb")
    options.add_argument("--lists", nargs="*", default=[], help="pod lists of openb; none: a generated one")
    options.add_argument("--policies", nargs="+", choices=gs.OPENB_POLICIES, default=["fgd", "bestfit", "pricing"])
    options.add_argument("--seeds", type=int, nargs="+", default=list(range(42, 47)))
    options.add_argument("--take", type=int, default=0, metavar="N", help="of a generated cluster only the first N nodes")
    options.add_argument("--workers", type=int, default=None, help="processes on this machine; default: one a processor")
    options.add_argument("--ray-address", default=None, help="of a running cluster: auto, or HOST:PORT")
    options.add_argument("--no-ray", action="store_true", help="processes, though Ray is installed")
    options.add_argument("--out", default=None, help="a CSV file of all runs")
    asked = options.parse_args()
    if asked.lists and asked.nodes is None:
        options.error("--lists needs --nodes")
    tasks: List[Task] = [
        (asked.nodes, pods, asked.take, policy, seed)
        for pods, policy, seed in itertools.product(asked.lists or [None], asked.policies, asked.seeds)
    ]
    has_ray = importlib.util.find_spec("ray") is not None
    if asked.ray_address is not None and not has_ray:
        options.error("--ray-address needs ray: pip install ray")
    if has_ray and not asked.no_ray:
        results = with_ray(tasks, asked.ray_address, asked.workers)
    else:
        results = with_processes(tasks, asked.workers)
    runs = pd.DataFrame(list(results)).sort_values(["list", "policy", "seed"], ignore_index=True)
    if asked.out is not None:
        runs.to_csv(asked.out, index=False)
    table = runs.groupby(["list", "policy"])[["alloc_100", "alloc_130", "frag_100"]].agg(["mean", "std"])
    print(f"{len(runs)} runs")
    print(table.round(2).to_string())


if __name__ == "__main__":
    main()
