"""A gang scheduler: clusters and queues in memory, decisions as data, plugins in Python, and experiments.

>>> import gangsched as gs
>>> cluster = gs.Cluster()
>>> node = cluster.add_node(gs.Node("node-a", cpu=4))
>>> pod = cluster.add_pod(gs.Pod("web", cpu="500m"))
>>> gs.Scheduler(cluster).run(now=0).count()
{'bind': 1}
"""

from ._core import (
    AddedNode,
    Assignment,
    Decision,
    Decisions,
    Demand,
    DemandPlan,
    Explanation,
    GroupExplanation,
    GroupId,
    NodeId,
    NodesView,
    NodeTable,
    NodeVerdict,
    NodeView,
    PermitRoom,
    PlacementVerdict,
    PluginScore,
    PodEvent,
    PodId,
    PodTable,
    PodView,
    Profile,
    QueueHead,
    QueueId,
    QueueStanding,
    QueueUsage,
    RemovableNode,
    RemovedPod,
    ResourceClaimId,
    Scheduler,
    Trial,
    builtin_plugins,
)
from ._cluster import Cluster
from ._devices import Capacity, Device, DeviceConstraint, DeviceRequest, GPUDevice, NodeDevices, ResourceClaim, Volumes
from ._errors import Error
from ._experiments import OPENB_POLICIES, Replay, Simulation, openb, openb_trace, replay, simulate
from ._fork import Fork
from ._frames import DECISION, DECISION_KINDS
from ._plugins import ALLOW, Plugin, Verdict, deny, wait
from ._specs import GPU, Group, Node, NodeShape, Pod, Queue

__all__ = [
    "ALLOW",
    "AddedNode",
    "Assignment",
    "Capacity",
    "Cluster",
    "DECISION",
    "DECISION_KINDS",
    "Decision",
    "Decisions",
    "Demand",
    "DemandPlan",
    "Device",
    "DeviceConstraint",
    "DeviceRequest",
    "Error",
    "Explanation",
    "Fork",
    "GPU",
    "GPUDevice",
    "Group",
    "GroupExplanation",
    "GroupId",
    "Node",
    "NodeDevices",
    "NodeId",
    "NodeShape",
    "NodeTable",
    "NodeVerdict",
    "NodeView",
    "NodesView",
    "OPENB_POLICIES",
    "PermitRoom",
    "PlacementVerdict",
    "Plugin",
    "PluginScore",
    "Pod",
    "PodEvent",
    "PodId",
    "PodTable",
    "PodView",
    "Profile",
    "Queue",
    "QueueHead",
    "QueueId",
    "QueueStanding",
    "QueueUsage",
    "RemovableNode",
    "RemovedPod",
    "Replay",
    "ResourceClaim",
    "ResourceClaimId",
    "Scheduler",
    "Simulation",
    "Trial",
    "Verdict",
    "Volumes",
    "builtin_plugins",
    "deny",
    "openb",
    "openb_trace",
    "replay",
    "simulate",
    "wait",
]
