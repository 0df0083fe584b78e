"""The programs gangsched-simulate, gangsched-openb and gangsched-replay as functions that return data."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _core
from ._cluster import Manifest, texts_of
from ._errors import Error

if TYPE_CHECKING:
    import pandas as pd

Table = Union[str, "os.PathLike[str]", "pd.DataFrame"]

OPENB_POLICIES = ("random", "dotprod", "clustering", "packing", "bestfit", "fgd", "pricing")


class Simulation:
    """What `simulate` found. `data` has the fields that docs/simulate.md tells of; what follows are tables of it."""

    def __init__(self, data: Dict[str, Any], warnings: Sequence[str]) -> None:
        self.data = data
        #: What was read of the manifests and left out.
        self.warnings = list(warnings)

    @property
    def summary(self) -> Dict[str, Any]:
        """How many pods were placed, evicted, left over, and when something changed last."""
        summary: Dict[str, Any] = self.data["summary"]
        return summary

    def _frame(self, key: str) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame(self.data.get(key, []))

    @property
    def pods(self) -> "pd.DataFrame":
        """A row a pod."""
        return self._frame("pods")

    @property
    def groups(self) -> "pd.DataFrame":
        """A row a group; empty if there are none."""
        return self._frame("groups")

    @property
    def queues(self) -> "pd.DataFrame":
        """A row for each amount of a queue; empty if there are none."""
        import pandas as pd

        rows = [
            {**{name: value for name, value in queue.items() if name != "amounts"}, **amount}
            for queue in self.data.get("queues", [])
            for amount in queue.get("amounts", [])
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"Simulation({self.summary})"


def simulate(
    *manifests: Manifest,
    config: Optional[Manifest] = None,
    explain: str = "",
    queues_policy: str = "",
    grace: bool = True,
    seed: int = 0,
    plugins: Iterable[Union[object, Tuple[object, int]]] = (),
    namespace: str = "",
    all_schedulers: bool = False,
    keep_going: bool = False,
    controllers: str = "once",
    start: str = "",
    until: str = "",
    drain: Iterable[str] = (),
    lose: Iterable[str] = (),
    shapes: Optional[Manifest] = None,
    scale_down: bool = False,
    compare_with: Optional[Simulation] = None,
    timeline: bool = False,
    arrivals: Iterable[Tuple[str, float, Optional[float]]] = (),
    most_made_pods: int = 250_000,
) -> Simulation:
    """What kube-scheduler would do with manifests, in virtual time (docs/simulate.md).

    `manifests` are as for `Cluster.apply`; `config` is a KubeSchedulerConfiguration; `explain` a pod or group that `data["explain"]` is
    about; `queues_policy` the plugin that decides about queues, or ``none``. `plugins` of yours, or pairs of one and its weight, run last
    in every profile. The others are as the options of gangsched-simulate that are called so: `controllers` is ``once`` or ``live``,
    `shapes` what --scale-up takes, `compare_with` an earlier answer, from which `data["diff"]` differs, and `arrivals` names, when
    their pods come and how long they run, in seconds (None: they stay).

    Raises `Error` with the first mistake in the manifests, whose ``mistakes`` are all of them.
    """
    if controllers not in ("once", "live"):
        raise Error("malformed", "simulate", "controllers", f'"{controllers}" is none of once, live')
    own = [one if isinstance(one, tuple) else (one, 1) for one in plugins]
    how = {
        "namespace": namespace,
        "config": texts_of([config]) if config is not None else [],
        "queues_policy": queues_policy,
        "all_schedulers": all_schedulers,
        "keep_going": keep_going,
        "grace": grace,
        "live_controllers": controllers == "live",
        "start": start,
        "until": until,
        "drain": list(drain),
        "lose": list(lose),
        "shapes": texts_of([shapes]) if shapes is not None else [],
        "scale_down": scale_down,
        "explain": explain,
        "compare_with": [("compare_with", json.dumps(compare_with.data))] if compare_with is not None else [],
        "timeline": timeline,
        "arrivals": [(name, comes, runs) for name, comes, runs in arrivals],
        "most_made_pods": most_made_pods,
        "seed": seed,
    }
    text, warnings, mistakes = _core._simulate(texts_of(manifests), how, own)
    if mistakes:
        found = [Error(*one) for one in mistakes]
        found[0].mistakes = found
        raise found[0]
    return Simulation(json.loads(text), warnings)


@contextlib.contextmanager
def _files(**tables: Optional[Table]) -> Iterator[Dict[str, str]]:
    """Paths of tables; those that are no files become some for as long as they are needed. None is an empty path."""
    with contextlib.ExitStack() as stack:
        paths: Dict[str, str] = {}
        for name, table in tables.items():
            if table is None or isinstance(table, (str, os.PathLike)):
                paths[name] = "" if table is None else os.fspath(table)
                continue
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            paths[name] = os.path.join(folder, name + ".csv")
            table.to_csv(paths[name], index=False)
        yield paths


def openb(
    nodes: Optional[Table] = None,
    pods: Optional[Table] = None,
    *,
    policies: Sequence[Union[str, object]] = OPENB_POLICIES,
    seeds: Iterable[int] = range(42, 52),
    train: str = "all",
    generated_seed: int = 1,
) -> "pd.DataFrame":
    """The experiment of docs/packing.md: pods of a GPU cluster arrive in random order up to 130 % of its GPUs; how much gets allocated?

    `nodes` and `pods` are files or DataFrames with the columns of openb's lists; without them they are generated. A policy is one of the
    library's (`OPENB_POLICIES`) or a plugin of yours that scores. `train` is ``all`` or ``earlier-half``. A row a run: ``alloc_90``,
    ``alloc_100``, ``alloc_130`` (percent of the GPUs when that percentage has arrived; the whole curve is ``allocated``), ``frag_100``,
    ``big_failed``, ``us_per_pod``.
    """
    import pandas as pd

    if (nodes is None) != (pods is None):
        raise Error("malformed", "openb", "pods", "goes with nodes")
    if train not in ("all", "earlier-half"):
        raise Error("malformed", "openb", "train", f'"{train}" is none of all, earlier-half')
    for policy in policies:
        if isinstance(policy, str) and policy not in OPENB_POLICIES:
            raise Error("unknown", "openb", "policies", f'"{policy}" is none of {", ".join(OPENB_POLICIES)}')
    with _files(nodes=nodes, pods=pods) as paths:
        rows = _core._openb(paths["nodes"], paths["pods"], train == "earlier-half", list(policies), list(seeds), generated_seed)
    return pd.DataFrame(rows)


def openb_trace(seed: int = 1) -> Tuple["pd.DataFrame", "pd.DataFrame"]:
    """The nodes and pods that `openb` generates, in the columns that it reads: to take a part of, or to change."""
    import pandas as pd

    nodes, pods = _core._openb_trace(seed)
    return (
        pd.DataFrame(nodes, columns=["sn", "cpu_milli", "memory_mib", "gpu", "model"]),
        pd.DataFrame(pods, columns=["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time"]),
    )


class Replay:
    """What `replay` measured. Times are in seconds since the first arrival."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        chapter: Dict[str, Any] = json.loads(data["json"])[data["chapter"]]
        #: Key figures, as gangsched-replay --json has them.
        self.figures: Dict[str, Any] = chapter["result"]
        #: Where it is from, and what of: source, nodes, gpus, profile, seed.
        self.about: Dict[str, Any] = {name: value for name, value in chapter.items() if name != "result"}
        #: GPUs of the cluster.
        self.gpus: float = data["gpus"]
        self._waits: Dict[str, List[float]] = data["waits"]
        self._usage: List[Tuple[float, float, float]] = data["usage"]
        self._tenants: List[Dict[str, Any]] = data["tenants"]

    @property
    def waits(self) -> "pd.DataFrame":
        """How long each job waited: `size`, and `seconds` from its last worker's arrival to the start."""
        import pandas as pd

        return pd.DataFrame([(size, one) for size, waits in self._waits.items() for one in waits], columns=["size", "seconds"])

    @property
    def usage(self) -> "pd.DataFrame":
        """GPUs in use from `seconds` on: `computing`, and `idle` ones, held by workers whose siblings are not there yet."""
        import pandas as pd

        return pd.DataFrame(self._usage, columns=["seconds", "computing", "idle"])

    @property
    def tenants(self) -> "pd.DataFrame":
        """What each tenant's jobs had; empty if the cluster is everybody's."""
        import pandas as pd

        return pd.DataFrame(self._tenants)


def replay(
    *,
    nodes: Optional[Table] = None,
    pods: Optional[Table] = None,
    gangs: Optional[Table] = None,
    trace: str = "",
    handling: str = "group_cycle",
    profile: str = "pack",
    queue_policy: str = "",
    by_age: bool = False,
    speed: float = 1.0,
    stay: bool = False,
    gpus: int = 0,
    spread: int = 60,
    seed: int = 1,
) -> Replay:
    """Replays arrivals and departures of a GPU cluster in virtual time (docs/performance.md).

    Either `nodes` and `pods` of openb, or `gangs` of philly, as files or DataFrames; without them the `trace` that is named, ``openb`` or
    ``philly``, is generated. `handling` of gangs is ``group_cycle``, ``permit`` or ``pod_by_pod``; `profile` ``pack`` or ``spread``;
    `queue_policy` the plugin that divides philly's cluster between its tenants, whose jobs are tried `by_age` then. `gpus` of philly's
    cluster, 0: enough for nine tenths of the demand; arrivals come `speed` times as fast, and a job's workers within `spread` seconds.
    """
    if gangs is not None and (nodes is not None or pods is not None):
        raise Error("malformed", "replay", "gangs", "are of another trace than nodes and pods")
    if (nodes is None) != (pods is None):
        raise Error("malformed", "replay", "pods", "goes with nodes")
    named = trace or ("philly" if nodes is None else "openb")
    if named not in ("openb", "philly") or (gangs is not None and named != "philly") or (nodes is not None and named != "openb"):
        raise Error("malformed", "replay", "trace", f'is "{trace}"; it is openb or philly, as the files are')
    for name, value, least, most in (("speed", speed, 0.1, 1_000_000), ("gpus", gpus, 0, 1_000_000), ("spread", spread, 0, 86_400)):
        if not least <= value <= most:
            raise Error("out_of_range", "replay", name, f"is not between {least} and {most}")
    with _files(nodes=nodes, pods=pods, gangs=gangs) as paths:
        made = _core._replay(
            paths["nodes"], paths["pods"], paths["gangs"], named == "philly", handling, profile, queue_policy,
            by_age or bool(queue_policy), float(speed), stay, gpus, spread, seed,
        )  # fmt: skip
    return Replay(made)
