"""What is inside nodes, what pods ask of it, claims and volumes. The library checks it when it is handed over."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Optional, Sequence, Tuple, Union

from ._core import NodeId

#: Of a device, as selectors compare it: values of different types never match.
Attribute = Union[bool, int, str]


@dataclasses.dataclass
class GPUDevice:
    """A GPU of a node. ``numa`` and ``pcie`` are its NUMA cell and PCIe switch; ``None``: not known."""

    id: str = ""
    healthy: bool = True
    numa: Optional[int] = None
    pcie: Optional[int] = None
    #: ``off``; ``fixed``: divided into ``instances``, profiles with their first memory slices; ``dynamic``: as pods need it.
    mig: str = "off"
    instances: Sequence[Tuple[str, int]] = ()


@dataclasses.dataclass
class Capacity:
    """How much of something a device has; what is asked of it is rounded up to ``least`` and steps above it, or to one of ``values``."""

    amount: int
    standard: Optional[int] = None
    least: Optional[int] = None
    most: Optional[int] = None
    step: Optional[int] = None
    values: Sequence[int] = ()


@dataclasses.dataclass
class Device:
    """Anything that is no GPU of the node's model: a NIC, an FPGA, a device of a DRA driver."""

    id: str
    device_class: str
    #: How much of it can be handed out; 1: to one pod.
    units: int = 1
    healthy: bool = True
    numa: Optional[int] = None
    pcie: Optional[int] = None
    attributes: Mapping[str, Attribute] = dataclasses.field(default_factory=dict)
    #: Of counters of the node, per unit.
    consumes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    capacities: Mapping[str, Union[int, Capacity]] = dataclasses.field(default_factory=dict)
    #: By pods, as long as its capacities last.
    shared: bool = False


@dataclasses.dataclass
class MIGProfile:
    """A kind of MIG instance, as ``nvidia-smi mig -lgip`` and ``-lgipp`` list them."""

    #: ``1g.5gb``, of which the g is ``compute_slices``.
    name: str
    compute_slices: int
    #: Adjacent ones.
    memory_slices: int
    #: The memory slices that an instance may begin at.
    starts: Sequence[int]
    #: Of its GPU's video engines ``none`` that another one could miss, ``any`` share, the ``one`` set that there is, or ``all``.
    media: str = "none"
    #: On an empty GPU; 0: as many as the rest allows.
    max_instances: int = 0
    #: 0: not known.
    multiprocessors: int = 0
    memory_mib: int = 0


@dataclasses.dataclass
class MIGTable:
    """The instances that a GPU can be divided into, of a product that the library does not know by its model. Slices: 1 to 8."""

    name: str
    compute_slices: int
    memory_slices: int
    profiles: Sequence[MIGProfile]


@dataclasses.dataclass
class NUMACell:
    """One NUMA cell as the node reports it."""

    id: int
    #: Logical CPUs: id, core, socket, and, unless it is the socket's number, the last-level cache that it shares. Numbers of cores are
    #: different across the whole node. Empty: memory only.
    cpus: Sequence[Union[Tuple[int, int, int], Tuple[int, int, int, int]]] = ()
    #: What containers may have, without huge pages.
    memory_bytes: int = 0
    #: By bytes of a page the bytes that containers may have.
    hugepages: Mapping[int, int] = dataclasses.field(default_factory=dict)
    #: To every cell by ascending id, 10 to 254; all cells have them or none.
    distances: Sequence[int] = ()


@dataclasses.dataclass
class NUMA:
    """A node's NUMA cells, and how its kubelet gives them out: what its configuration has, and koord-scheduler's words on bound CPUs."""

    cells: Sequence[NUMACell]
    #: topologyManagerPolicy: ``none``, ``best-effort``, ``restricted`` or ``single-numa-node``.
    policy: str = "none"
    #: topologyManagerScope: ``container`` or ``pod``.
    scope: str = "container"
    #: prefer-closest-numa-nodes: the cells must have distances.
    prefer_closest: bool = False
    #: cpuManagerPolicy static; what follows are its options.
    static_cpus: bool = False
    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False
    #: memoryManagerPolicy Static.
    static_memory: bool = False
    #: reservedSystemCPUs.
    reserved_cpus: Sequence[int] = ()
    #: As ``Pod.cpu_bind``; required of Guaranteed pods and those that bind CPUs anyway.
    cpu_bind: str = "none"
    #: Bound CPUs come from the cells with the fewest free ones (``most``) or with the most (``least``).
    cells_first: str = "least"
    #: Allocatable CPU is so much of what there is.
    cpu_amplification_percent: int = 100


@dataclasses.dataclass
class NodeDevices:
    """All devices of a node: at most 16 GPUs, which are of one model, and 1,024 others; with ``numa`` 256 of each class."""

    model: str = ""
    memory_mib: int = 0
    #: 80: 8.0.
    compute_capability: int = 0
    #: Pods that one GPU is handed to by time-slicing or MPS.
    replicas: int = 1
    #: The extended resource that counts them.
    resource: str = "nvidia.com/gpu"
    gpus: Sequence[GPUDevice] = ()
    #: NVLinks and path (``sys``, ``node``, ``phb``, ``pxb``, ``pix``, ``board``) row by row, GPUs × GPUs; empty: what switches and cells say.
    links: Sequence[Tuple[int, str]] = ()
    others: Sequence[Device] = ()
    #: "set/counter" and how much of it there is.
    counters: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: ``None``: that of ``model``, if it is known.
    mig_table: Optional[MIGTable] = None
    #: Pods get CPUs, memory and devices as kubelet would give them; ``None``: it is not known.
    numa: Optional[NUMA] = None
    #: What a share needs of a GPU's memory: as many MiB as it comes to (``mib``), or room in what it asks by, MiB or hundredths
    #: (``as_asked``, Koordinator's rule).
    memory_rule: str = "mib"


@dataclasses.dataclass
class DeviceRequest:
    """Some devices of one kind, all on the node that the pod goes to. GPUs are asked for as a whole, as a share, or as MIG instances."""

    #: ``gpu``, or the class of other devices; empty: the driver that ``cel`` names.
    device_class: str = "gpu"
    count: int = 1
    #: Thousandths of each GPU; 1000: it is the pod's own.
    milli: int = 1000
    memory_mib: int = 0
    memory_percent: int = 0
    mig_profile: str = ""
    models: Sequence[str] = ()
    least_memory_mib: int = 0
    least_compute_capability: int = 0
    #: All of them inside one ``node``, ``numa`` cell, ``pcie`` switch or ``nvlink`` clique.
    within: str = "node"
    within_preferred: bool = False
    units: int = 1
    all: bool = False
    admin: bool = False
    #: An attribute, ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``exists`` or ``absent``, and values.
    selectors: Sequence[Tuple[str, str, Sequence[Attribute]]] = ()
    #: Selectors as DRA writes them, in the part of CEL that docs/kubernetes.md names.
    cel: Sequence[str] = ()
    capacities: Mapping[str, int] = dataclasses.field(default_factory=dict)
    beside_gpus: str = "node"
    beside_preferred: bool = False
    #: These in turn instead of all the above.
    first_of: Sequence[DeviceRequest] = ()


@dataclasses.dataclass
class DeviceConstraint:
    """What the devices of several requests have in common: an attribute ("driver/name"), or, if ``distinct``, no two the same.

    It is about requests by their numbers; none: all.
    """

    attribute: str
    distinct: bool = False
    requests: Sequence[int] = ()


@dataclasses.dataclass
class ResourceClaim:
    """Devices that pods share, all on one node: where the first pod that names the claim is placed they are allocated."""

    name: str
    namespace: str = "default"
    devices: Sequence[DeviceRequest] = ()
    constraints: Sequence[DeviceConstraint] = ()
    #: On nodes at once; 0: any number.
    most_pods: int = 256
    #: Ids of devices that it has where pods that others bound run, or on ``node``, where it is allocated though nobody uses it yet.
    held_devices: Sequence[str] = ()
    node: Optional[Union[NodeId, str]] = None


@dataclasses.dataclass
class Volumes:
    """What a pod's volumes mean for where it can run: claims of volumes are resolved."""

    #: A claim has to be bound first: no node will do.
    unbound_claims: bool = False
    #: Names of those where the claims are, or can be, bound; ``None``: everywhere.
    nodes: Optional[Sequence[str]] = None
    #: Zone and region labels, of which the node must have one of the values.
    zones: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    #: Disks that pods on one node cannot share, unless both only read (``True``).
    disks: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    #: ReadWriteOncePod: one pod in the whole cluster.
    exclusive_claims: Sequence[str] = ()
    #: Volumes that their drivers attach to the node: driver and id.
    attachments: Sequence[Tuple[str, str]] = ()
    #: Names of those where claims without a volume find or get one; ``None``: everywhere.
    bindable_nodes: Optional[Sequence[str]] = None
    #: Why no node will do, in kube-scheduler's words: a claim that is missing, lost or being deleted.
    claim_problem: str = ""


__all__ = [
    "NUMA",
    "Attribute",
    "Capacity",
    "Device",
    "DeviceConstraint",
    "DeviceRequest",
    "GPUDevice",
    "MIGProfile",
    "MIGTable",
    "NUMACell",
    "NodeDevices",
    "ResourceClaim",
    "Volumes",
]
