"""All that takes memory, at once: big bodies, questions to be judged, runs to be read, calls over gRPC."""

from __future__ import annotations

import json

from attack_load import ATTACKS, COUNTER, JSON, Attack, dense, getting, one_span, posting
from attack_odd import at_once, over_grpc

RUN = 78
"""That the dense spans are of, and that is read."""
READ = "/{}/" + RUN.to_bytes(16, "big").hex()


RULE = "actions: {A: a, B: b}\npolicies:\n  - {id: never, rule: B must never happen.}\n"


def keys(count: int) -> bytes:
    """JSON of an object with so many names, of which each takes a hundred bytes."""
    return b'{"resourceSpans":[{' + b",".join(b'"%d":0' % number for number in range(count)) + b"}]}"


def wide_run(calls: int, values: int) -> bytes:
    """A run whose arguments take forty times their JSON."""
    given = {"x": [{}] * values}
    run = {"run_id": "r", "status": "ok", "calls": [{"name": "a", "arguments": given}] * calls}
    return json.dumps({"run": run, "policies": RULE}).encode()


def checks(values: int, threads: int) -> Attack:
    return posting(
        lambda: wide_run(100, values),
        path="/api/v1/check",
        kind=JSON,
        packed=False,
        threads=threads,
        distinct=1,
    )


MIX: dict[str, Attack] = {
    "bodies": posting(lambda: keys(700_000), kind=JSON, threads=4, distinct=1),
    "checks": checks(9_000, 6),
    "small checks": checks(10, 4),
    "runs": posting(lambda: dense(900, 9_900, run=RUN), threads=3),
    "readers": getting(lambda: READ.format("runs"), threads=4),
    "readers of the API": getting(lambda: READ.format("api/v1/runs"), threads=4),
    "unfinished": ATTACKS["bodies of 19 MiB, unfinished"],
    "tried": posting(
        lambda: json.dumps({"text": RULE}).encode(), path="/api/v1/policies/try", kind=JSON, packed=False,
        threads=4, distinct=1,
    ),
    "gRPC": over_grpc(one_span(next(COUNTER), 5).SerializeToString(), channels=32),
    "gRPC, dense": over_grpc(dense(3, 9_000) * 8, channels=8),
}  # fmt: skip
MIXED: dict[str, Attack] = {
    "mixed: all at once": at_once(*MIX.values()),
    "mixed: without floods": at_once(
        *(MIX[name] for name in ("bodies", "checks", "runs", "readers", "tried"))
    ),
}
