import pathlib

import pytest

import gangsched as gs

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def manifests() -> pathlib.Path:
    """The sample manifests of the repository."""
    return ROOT / "examples" / "manifests"


@pytest.fixture
def cluster() -> gs.Cluster:
    """Two nodes with 8 CPUs and 2 GPUs."""
    made = gs.Cluster()
    for name in ("node-a", "node-b"):
        made.add_node(gs.Node(name, cpu=8, memory="32Gi", gpu=2, labels={"zone": name[-1]}))
    return made
