"""A gang scheduler: clusters and queues in memory, decisions as data, plugins in Python, and experiments.

>>> import gangsched as gs
>>> cluster = gs.Cluster()
>>> node = cluster.add_node(gs.Node("node-a", cpu=4))
>>> pod = cluster.add_pod(gs.Pod("web", cpu="500m"))
>>> gs.Scheduler(cluster).run(now=0).count()
{'bind': 1}
"""

from ._core import (
    Decision,
    Decisions,
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
    PodId,
    PodTable,
    PodView,
    Profile,
    QueueHead,
    QueueId,
    QueueStanding,
    QueueUsage,
    RemovedPod,
    Scheduler,
    Trial,
    builtin_plugins,
)
from ._cluster import Cluster
from ._errors import Error
from ._experiments import OPENB_POLICIES, Replay, Simulation, openb, openb_trace, replay, simulate
from ._frames import DECISION, DECISION_KINDS
from ._plugins import ALLOW, Plugin, Verdict, deny, wait
from ._specs import GPU, Group, Node, Pod, Queue

__all__ = [
    "ALLOW",
    "Cluster",
    "DECISION",
    "DECISION_KINDS",
    "Decision",
    "Decisions",
    "Error",
    "Explanation",
    "GPU",
    "Group",
    "GroupExplanation",
    "GroupId",
    "Node",
    "NodeId",
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
    "PodId",
    "PodTable",
    "PodView",
    "Profile",
    "Queue",
    "QueueHead",
    "QueueId",
    "QueueStanding",
    "QueueUsage",
    "RemovedPod",
    "Replay",
    "Scheduler",
    "Simulation",
    "Trial",
    "Verdict",
    "builtin_plugins",
    "deny",
    "openb",
    "openb_trace",
    "replay",
    "simulate",
    "wait",
]
