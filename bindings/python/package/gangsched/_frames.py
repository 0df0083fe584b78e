"""Tables of what the library says, for NumPy, pandas and Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

#: By the number in the field ``kind`` of a decision.
DECISION_KINDS = ("bind", "wait", "nominate", "evict", "reject", "revoke", "notice", "withdraw")
#: By the number in the field ``state`` of a pod.
POD_STATES = ("none", "pending", "assumed", "bound")

#: A decision as a row of `Decisions.to_numpy`. Rows and generations are those of ids; a row of 4294967295 names nothing.
DECISION = np.dtype(
    [
        ("kind", "u1"),
        ("code", "u1"),
        ("unused", "u2"),
        ("rank", "i4"),
        ("pod", "u4"),
        ("pod_generation", "u4"),
        ("node", "u4"),
        ("node_generation", "u4"),
        ("group", "u4"),
        ("group_generation", "u4"),
        ("score", "i8"),
        ("attempt", "u8"),
        ("annotation", "u8"),
        ("pod_cookie", "u8"),
        ("node_cookie", "u8"),
    ]
)


def decisions_to_numpy(of: Any) -> Any:
    return of._bytes().view(DECISION)


def decisions_to_pandas(of: Any) -> Any:
    import pandas as pd

    rows = decisions_to_numpy(of)
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(rows["kind"].astype("i1"), categories=list(DECISION_KINDS)),
            "pod": of.pod_names,
            "node": of.node_names,
            "group": of.group_names,
            "score": rows["score"],
            "reason": of.reasons,
            "attempt": rows["attempt"],
            "pod_cookie": rows["pod_cookie"],
            "node_cookie": rows["node_cookie"],
        }
    )


def nodes_to_pandas(of: Any) -> Any:
    import pandas as pd

    columns = {"node": of.names}
    for kind in ("allocatable", "requested", "free"):
        amounts = getattr(of, kind)
        for at, resource in enumerate(of.resources):
            columns[f"{kind}_{resource}"] = amounts[:, at]
    return pd.DataFrame(columns)


def pods_to_pandas(of: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            "pod": of.names,
            "state": pd.Categorical.from_codes(of.state.astype("i1"), categories=list(POD_STATES)),
            "node": of.node_names,
            "queue": of.queues,
            "priority": of.priority,
            "attempt": of.attempt,
            "cookie": of.cookie,
        }
    )


def explanation_to_pandas(of: Any) -> Any:
    import pandas as pd

    rows = []
    for node in of.nodes:
        row = {"node": node.name, "code": node.code, "plugin": node.plugin, "reasons": ", ".join(node.reasons), "total": node.total}
        row.update({f"score_{one.plugin}": one.weighted for one in node.scores})
        rows.append(row)
    return pd.DataFrame(rows)


def to_arrow(of: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(of.to_pandas(), preserve_index=False)
