"""Copies in which a host tries what it likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Tuple

from ._errors import Error

if TYPE_CHECKING:
    from ._cluster import Cluster
    from ._core import Scheduler


class Fork:
    """A copy of a cluster and of a scheduler on it, with its queue and all that is under way, for ``with``.

    Ids, attempts and times are those of the original, and from the same calls follow the same decisions; what is done in it does not show
    there. It may be used on a thread of its own. Plugins in Python are the same objects; metrics, events and a trace are not kept of it.
    What `restore` makes of a snapshot is one, too. At its end it is let go; ``fork.cluster`` and ``fork.scheduler`` that were kept elsewhere
    go on working.
    """

    def __init__(self, cluster: Cluster, scheduler: Scheduler) -> None:
        self._parts: Optional[Tuple[Cluster, Scheduler]] = (cluster, scheduler)

    def _open(self) -> Tuple[Cluster, Scheduler]:
        if self._parts is None:
            raise Error("wrong_state", "fork", "", "has ended")
        return self._parts

    @property
    def cluster(self) -> Cluster:
        """The copy of the cluster."""
        return self._open()[0]

    @property
    def scheduler(self) -> Scheduler:
        """The copy of the scheduler."""
        return self._open()[1]

    def close(self) -> None:
        """Lets it go; it may be called twice."""
        self._parts = None

    def __enter__(self) -> Fork:
        self._open()
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self.close()


__all__ = ["Fork"]
