"""The cluster, with what Python has of its own: dicts, files and tables of nodes and pods."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, Tuple, Union

from ._core import ClusterBase, GroupId, NodeId, NodeTable, PodId, QueueId, ResourceClaimId, Trial, _cluster_snapshot, _restore_cluster
from ._devices import ResourceClaim
from ._errors import Error
from ._specs import GPU, Group, Kubernetes, Node, Pod, Queue, fields_of

Manifest = Union[str, "os.PathLike[str]", Kubernetes, Sequence[Kubernetes]]

_LABEL = "label:"
_RESOURCES = ("cpu", "memory", "pods", GPU)


def texts_of(manifests: Iterable[Manifest]) -> List[Tuple[str, str]]:
    """Name and text of each; what is one word and ends like a manifest, or is a path, is read."""
    made: List[Tuple[str, str]] = []
    for one in manifests:
        if isinstance(one, str) and ("\n" in one or not one.endswith((".yaml", ".yml", ".json", ".jsonl"))):
            made.append(("text", one))
        elif isinstance(one, (str, os.PathLike)):
            with open(one, encoding="utf-8") as file:
                made.append((os.fspath(one), file.read()))
        else:
            items = [one] if isinstance(one, Mapping) else list(one)
            made.append(("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items})))
    return made


def _is_there(value: Any) -> bool:
    """Tables have a NaN, or None, where a row says nothing."""
    if value is None:
        return False
    try:
        return bool(value == value)
    except TypeError:  # pandas.NA
        return False
    except ValueError:  # an array: a list of names
        return True


def _rows(table: Any) -> Iterator[Dict[str, Any]]:
    if hasattr(table, "to_dict"):
        table = table.to_dict("records")
    elif hasattr(table, "to_pylist"):  # of Arrow
        table = table.to_pylist()
    for row in table:
        yield {str(name): value for name, value in row.items() if _is_there(value)}


def _from_row(kind: Any, amounts: str, row: Mapping[str, Any]) -> Any:
    """A dataclass out of a row: its own fields, labels, and what is left as resources."""
    own = set(fields_of(kind))
    fields: Dict[str, Any] = {name: value for name, value in row.items() if name in own}
    labels = {name[len(_LABEL):]: str(value) for name, value in row.items() if name.startswith(_LABEL)}
    others = {name: value for name, value in row.items() if name not in own and not name.startswith(_LABEL)}
    if labels:
        fields["labels"] = {**fields.get("labels", {}), **labels}
    if others:
        fields[amounts] = {**others, **fields.get(amounts, {})}
    for field in dataclasses.fields(kind):  # a column with gaps holds fractions
        value = fields.get(field.name)
        if field.type in ("int", "Optional[int]") and isinstance(value, float) and value.is_integer():
            fields[field.name] = int(value)
    return kind(**fields)


class Cluster(ClusterBase):
    """Nodes, pods, groups and queues as the host knows them. A call does all it says, or raises `Error` and changes nothing.

    Wherever an id is taken, a name will do: of a pod or group ``"name"`` in the namespace default, or ``"namespace/name"``.
    """

    def add_node(self, node: Union[Node, Kubernetes]) -> NodeId:
        """Adds a node, also one of Kubernetes' shape."""
        if isinstance(node, Mapping):
            name = self._apply_one("Node", node)
            found = self.find_node(name)
            assert found is not None
            return found
        added: NodeId = self._add_node(node)
        return added

    def update_node(self, node: Union[NodeId, str], spec: Union[Node, Kubernetes]) -> None:
        """Replaces the whole spec, also by a node of Kubernetes' shape; the name must stay. Pods on it stay."""
        self._update_node(node, spec)

    def add_pod(self, pod: Union[Pod, Kubernetes]) -> PodId:
        """Adds a pod that waits for a node, or runs already, also one of Kubernetes' shape. One that has ended is in the wrong state."""
        if isinstance(pod, Mapping):
            name, namespace = self._apply_one("Pod", pod), pod.get("metadata", {}).get("namespace", "default")
            found = self.find_pod(name, namespace)
            if found is None:
                raise Error("wrong_state", f"pod {namespace}/{name}", "status.phase", "the pod has ended and needs no node")
            return found
        added: PodId = self._add_pod(pod)
        return added

    def update_pod(self, pod: Union[PodId, str], spec: Union[Pod, Kubernetes]) -> None:
        """Replaces the spec, also by a pod of Kubernetes' shape; name, namespace and group must stay.

        A pending pod given a node is bound there, by others.
        """
        self._update_pod(pod, spec)

    def add_nodes(self, table: Any) -> List[NodeId]:
        """Adds a node a row of a DataFrame, of a table of Arrow, or of dicts: all, or none.

        Columns are fields of `Node`, ``label:KEY``, and for each further resource one; cells without a value say nothing.
        """
        added: List[NodeId] = self._add_nodes([_from_row(Node, "allocatable", row) for row in _rows(table)])
        return added

    def add_pods(self, table: Any) -> List[PodId]:
        """Adds a pod a row, as `add_nodes`: columns are fields of `Pod`, ``label:KEY``, and further resources."""
        added: List[PodId] = self._add_pods([_from_row(Pod, "requests", row) for row in _rows(table)])
        return added

    def add_group(self, group: Group) -> GroupId:
        """Adds a group, or makes one that was only named what it is."""
        added: GroupId = self._add_group(group)
        return added

    def update_group(self, group: Union[GroupId, str], spec: Group) -> None:
        """Replaces the spec; name, parent, whether it is a gang, and its mode must stay."""
        self._update_group(group, spec)

    def add_resource_claim(self, claim: ResourceClaim) -> ResourceClaimId:
        """Adds a claim of devices that pods share; they name it in ``resource_claims``."""
        added: ResourceClaimId = self._add_resource_claim(claim)
        return added

    def add_queue(self, queue: Queue) -> QueueId:
        """Adds a queue; the parent need not be there yet. Queues with quota by flavor are for `apply`."""
        added: QueueId = self._add_queue(queue)
        return added

    def update_queue(self, queue: Union[QueueId, str], spec: Queue) -> None:
        """Replaces the spec; the name must stay."""
        self._update_queue(queue, spec)

    def apply(self, *manifests: Manifest, defaulting: bool = True, expand: bool = True) -> List[str]:
        """Adds everything of manifests, or nothing: text of YAML or JSON, paths of files, objects of Kubernetes' shape, lists of them.

        Returns warnings about what was left out. `defaulting`: what the API server would have filled in is; `expand`: controllers become
        the pods that they lack.
        """
        warnings: List[str] = self._apply(texts_of(manifests), defaulting, expand)
        return warnings

    def nodes(self, resources: Sequence[str] = _RESOURCES) -> NodeTable:
        """A table of all nodes as they are now, with these resources."""
        table: NodeTable = self._node_table(list(resources))
        return table

    def trial(self) -> Trial:
        """A transaction, for ``with``: what is done to the cluster within is undone at its end, bit for bit, unless it is committed.

        Within, `Scheduler.explain` says how things stand there; schedulers do not schedule (busy): `Scheduler.fork` is for that. Ids made
        within are void after it.
        """
        made: Trial = self._trial()
        return made

    def fork(self) -> Cluster:
        """A copy of the cluster alone, with the same ids, for a scheduler of another profile. With its scheduler: `Scheduler.fork`."""
        made = Cluster()
        self._fork_into(made)
        return made

    def snapshot(self) -> bytes:
        """The cluster alone as bytes, which pickling goes by, too. With its scheduler: `Scheduler.snapshot`. Raises busy within a trial."""
        taken: bytes = _cluster_snapshot(self)
        return taken

    @classmethod
    def from_snapshot(cls, snapshot: bytes) -> Cluster:
        """The cluster of any snapshot, with its ids, for a scheduler that begins anew. Raises malformed for what is none, or damaged."""
        made = cls()
        _restore_cluster(snapshot, made)
        return made

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self).from_snapshot, (self.snapshot(),)

    def _apply_one(self, kind: str, given: Kubernetes) -> str:
        if given.get("kind", kind) != kind:
            raise Error("malformed", kind, "kind", f"is {given['kind']}")
        self._apply(texts_of([{"apiVersion": "v1", "kind": kind, **given}]), True, True)
        return str(given["metadata"]["name"])


__all__ = ["Cluster", "Manifest"]
