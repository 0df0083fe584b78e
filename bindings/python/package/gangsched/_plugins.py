"""What plugins in Python are made of. Their hooks are told in the README."""

from __future__ import annotations

import dataclasses
from typing import Optional, Sequence


class Plugin:
    """The base of plugins, for those who like one: any object with a hook and these attributes is a plugin."""

    #: What profiles, explanations and errors call it; without one the name of its class.
    name: Optional[str] = None
    #: What of a node its filter and score look at: ``name``, ``labels``, ``schedulable``, ``allocatable``, ``usage``, ``devices``,
    #: ``columns``. Their answers are kept until that changes, and are about classes of pods. ``None``: they are asked every time.
    reads: Optional[Sequence[str]] = None
    #: Columns of nodes that the host sets (``Cluster.set_node_column``), which views then have as ``column(name)``.
    columns: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a permit hook says."""

    kind: str
    seconds: float = 0.0
    reason: str = ""


#: The pod may go.
ALLOW = Verdict("allow")


def wait(seconds: float = 300.0) -> Verdict:
    """The pod waits with its node reserved, for so long at most (15 minutes are the most)."""
    return Verdict("wait", seconds=seconds)


def deny(reason: str) -> Verdict:
    """The pod is rejected."""
    return Verdict("deny", reason=reason)
