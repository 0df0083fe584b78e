"""What the library refuses, as an exception."""

from __future__ import annotations

from typing import Any, List, Optional


class Error(Exception):
    """A call was refused and has changed nothing, or a plugin ended a cycle (code ``contract``).

    ``code`` is a word of the library's ``errc``: malformed, out_of_range, overflow, duplicate, unknown, wrong_state, outdated, busy,
    time_went_back or contract. ``object`` names what it is about (``pod default/web-1``), ``field`` where (``tolerations[2].effect``),
    ``reason`` why. ``decisions`` is what a cycle had decided before a plugin ended it: it stands; else ``None``.
    ``mistakes`` has, where several were found in manifests at once, an `Error` for each, of which this is the first.
    A pickled one has no ``decisions``: they are of a cluster that is not pickled with it.
    """

    code: str
    object: str
    field: str
    reason: str
    decisions: Optional[Any]
    mistakes: "List[Error]"

    def __init__(self, code: str, object: str, field: str, reason: str, message: Optional[str] = None) -> None:
        super().__init__(message if message is not None else ": ".join(part for part in (object, field, reason) if part))
        self.code = code
        self.object = object
        self.field = field
        self.reason = reason
        self.decisions = None
        self.mistakes = []

    def __reduce__(self) -> Any:
        kept = {"mistakes": self.mistakes} if self.mistakes else None
        return (type(self), (self.code, self.object, self.field, self.reason, str(self)), kept)
