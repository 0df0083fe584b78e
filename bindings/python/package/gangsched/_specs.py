"""What a host says of nodes, pods, groups and queues. The library checks it when it is handed over."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._core import GroupId, NodeId, PodId, ResourceClaimId
from ._devices import DeviceConstraint, DeviceRequest, NodeDevices, Volumes

#: An amount of a resource: whole units, a fraction, or Kubernetes' text ("500m", "64Gi"), which is exact.
Quantity = Union[int, float, str]
#: A part of an object in Kubernetes' shape, with its names for fields.
Kubernetes = Mapping[str, Any]

GPU = "nvidia.com/gpu"


def _amounts(
    own: Mapping[str, Quantity], cpu: Optional[Quantity], memory: Optional[Quantity], gpu: Optional[Quantity]
) -> Dict[str, Quantity]:
    named = {"cpu": cpu, "memory": memory, GPU: gpu}
    return {**{name: amount for name, amount in named.items() if amount is not None}, **own}


@dataclasses.dataclass
class Node:
    """A node. ``cpu``, ``memory``, ``gpu`` and ``pods`` are short for entries of ``allocatable``, which wins.

    ``gpu_devices`` tells of so many single GPUs of ``gpu_model``, which pods can have parts of, and ``devices`` of all that is inside it;
    ``gpu`` only counts them.
    """

    name: str
    cpu: Optional[Quantity] = None
    memory: Optional[Quantity] = None
    gpu: Optional[Quantity] = None
    pods: int = 110
    allocatable: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: In Kubernetes' shape: ``{"key": …, "value": …, "effect": "NoSchedule"}``.
    taints: Sequence[Kubernetes] = ()
    #: ``status.declaredFeatures``; a set.
    declared_features: Sequence[str] = ()
    unschedulable: bool = False
    gpu_devices: int = 0
    gpu_model: str = ""
    devices: Optional[NodeDevices] = None
    #: The host's own word, handed back with every decision.
    cookie: int = 0

    def amounts(self) -> Dict[str, Quantity]:
        """All of ``allocatable``, what is short for it included."""
        return {"pods": self.pods, **_amounts(self.allocatable, self.cpu, self.memory, self.gpu)}


@dataclasses.dataclass
class ReservationOwner:
    """Who may use a reservation: all that is given has to be true of the pod. One that gives nothing is every pod."""

    pod: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Reservation:
    """What makes a pod a reservation: it does not run, and holds what it requests for pods that come later, its owners."""

    #: One of them has to match; none: nobody may use it.
    owners: Sequence[ReservationOwner] = ()
    #: It is over with the first owner that runs, and holds nothing any more.
    once: bool = True
    #: ``aligned``: owners take what is left of it, and what they need beyond that from what is free; ``restricted``: of the resources
    #: ``restricted``, without any of all that it requests, an owner's request has to be left there as a whole.
    policy: str = "aligned"
    restricted: Sequence[str] = ()
    #: Whether it may hold what owners have that run already: ``none``, ``if_needed`` or ``required``.
    pre_allocation: str = "none"
    #: Of several the least goes first; 0: after those, by how full they would be.
    order: int = 0
    #: It is placed then, not before; and the host is told to remove it then.
    starts: Optional[float] = None
    expires: Optional[float] = None
    #: New owners pass it by, unless they name it.
    unschedulable: bool = False
    #: In Kubernetes' shape; pods with a ``reservation_affinity`` need tolerations for them.
    taints: Sequence[Kubernetes] = ()


@dataclasses.dataclass
class ReservationAffinity:
    """The reservation that a pod has to be in: that of a name, or else one whose labels, or its node's, are those."""

    name: str = ""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: In Kubernetes' shape.
    tolerations: Sequence[Kubernetes] = ()


@dataclasses.dataclass
class Pod:
    """A pod that waits for a node, or runs on ``node`` already. ``cpu``, ``memory`` and ``gpu`` are short for entries of ``requests``.

    A ``group`` may be a name, of one that need not be there yet. Of ``gpu_devices`` single GPUs it has ``gpu_milli`` thousandths each.
    """

    name: str
    namespace: str = "default"
    cpu: Optional[Quantity] = None
    memory: Optional[Quantity] = None
    gpu: Optional[Quantity] = None
    requests: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    priority: Optional[int] = None
    priority_class: str = ""
    group: Optional[Union[GroupId, str]] = None
    #: What it is in its group, for minimums by role, and its index there.
    role: str = ""
    rank: Optional[int] = None
    #: Empty: that of its group, else the one that takes its namespace.
    queue: str = ""
    node: Optional[Union[NodeId, str]] = None
    node_selector: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # In Kubernetes' shape.
    tolerations: Sequence[Kubernetes] = ()
    affinity: Optional[Kubernetes] = None
    topology_spread_constraints: Sequence[Kubernetes] = ()
    scheduling_gates: Sequence[str] = ()
    #: Features that its node has to declare; a set.
    required_features: Sequence[str] = ()
    scheduler_name: str = "default-scheduler"
    gpu_devices: int = 0
    gpu_milli: int = 1000
    gpu_models: Sequence[str] = ()
    #: Beside those.
    devices: Sequence[DeviceRequest] = ()
    device_constraints: Sequence[DeviceConstraint] = ()
    #: Claims that it shares with others, of its namespace, each once.
    resource_claims: Sequence[Union[ResourceClaimId, str]] = ()
    volumes: Optional[Volumes] = None
    #: ``status.qosClass`` is Guaranteed: where NUMA cells are known kubelet gives it CPUs and memory of its own.
    guaranteed: bool = False
    #: There, CPUs from the scheduler: ``none``, ``full_cores`` or ``spread_by_cores`` (one of each core), ``cpu_bind_required`` or if it
    #: can be; kept apart by ``core`` or ``cell`` from those of pods that say the same.
    cpu_bind: str = "none"
    cpu_bind_required: bool = False
    cpu_exclusive: str = "none"
    #: Seconds, for ``backfill`` of the scheduler: from ``start_time``, or else from when a scheduler gave it its node; 0: nobody knows.
    expected_run_time: float = 0.0
    #: By when it should have ended, and seconds that it should wait at most (0: nobody minds), for LeastSlackSort and Deadline.
    deadline: Optional[float] = None
    max_wait: float = 0.0
    start_time: Optional[float] = None
    #: What LoadAwareScheduling is to think that it uses, where its argument ``allowCustomizeEstimation`` lets pods say so: percents of
    #: the larger of request and limit, and for how many seconds that counts whatever was measured.
    load_cpu_percent: Optional[int] = None
    load_memory_percent: Optional[int] = None
    load_after_scheduled: Optional[float] = None
    load_after_initialized: Optional[float] = None
    #: It is a reservation; it runs in one, or not at all; what reservations hold is free to it, and it draws from none.
    reservation: Optional[Reservation] = None
    reservation_affinity: Optional[ReservationAffinity] = None
    #: Resources of which its reservation has to hold just what it requests.
    exact_reservation: Sequence[str] = ()
    ignores_reservations: bool = False
    #: With ``node``: the reservation there that it was allocated from.
    draws_from: Optional[PodId] = None
    cookie: int = 0

    def amounts(self) -> Dict[str, Quantity]:
        """All of ``requests``, what is short for it included."""
        return _amounts(self.requests, self.cpu, self.memory, self.gpu)


@dataclasses.dataclass
class Group:
    """Pods that are queued as one. With ``min_count`` a gang: so many members start together, or none; without it one is enough."""

    name: str
    namespace: str = "default"
    min_count: Optional[int] = None
    #: Elastic gangs: members above ``desired_count`` take only room that is free, members above ``max_count`` wait.
    desired_count: Optional[int] = None
    max_count: Optional[int] = None
    #: Minimums by role, beside ``min_count``.
    roles: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: ``group_cycle``: the whole gang in one transaction; ``permit``: one by one, waiting with their nodes reserved.
    mode: str = "group_cycle"
    #: Seconds that a member waits so.
    timeout: float = 300.0
    atomic: bool = False
    strict: bool = False
    priority: Optional[int] = None
    queue: str = ""
    #: Node labels: all members share a domain of the first; if none has room, of the second, …
    within: Sequence[str] = ()
    #: … and last of all nodes.
    or_anywhere: bool = False
    #: A group of groups: its members are groups that name it as ``parent``.
    composite: bool = False
    parent: Optional[Union[GroupId, str]] = None
    #: Of its pods that have none; and so with the longest wait.
    deadline: Optional[float] = None
    max_wait: float = 0.0
    cookie: int = 0


@dataclasses.dataclass
class Queue:
    """A queue with quota of the whole cluster; flavors are for ``Cluster.apply``. Amounts are by resource, as in a pod's requests."""

    name: str
    parent: str = ""
    #: Its own, to be had back if lent.
    guaranteed: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    #: The most in use at once.
    limit: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    #: The most above what is guaranteed, and the most of that which others may use meanwhile.
    borrowing_limit: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    lending_limit: Mapping[str, Quantity] = dataclasses.field(default_factory=dict)
    weight: float = 1.0
    priority: int = 0
    #: ``open``, ``hold`` (nobody is admitted) or ``drain`` (and who runs is evicted).
    state: str = "open"
    #: Their pods are in this queue, if neither they nor their group name one.
    namespaces: Sequence[str] = ()
    #: The most groups and single pods on nodes at once.
    max_running: Optional[int] = None
    cookie: int = 0


@dataclasses.dataclass
class NodeShape:
    """A kind of node that can be had, for ``Scheduler.demand``: each gets a name and a hostname of its own."""

    like: Node
    #: Of one, in a unit of yours.
    price: int = 1
    #: There may be that many more; ``None``: any number.
    most: Optional[int] = None


def fields_of(kind: Any) -> List[str]:
    """The names of a dataclass' fields."""
    return [one.name for one in dataclasses.fields(kind)]
