"""The part of the OpenAPI description about what people keep and take away: views, deletion."""

from __future__ import annotations

from collector.api.shapes import (
    COUNT,
    FLAG,
    TEXT,
    TIME,
    Route,
    Schema,
    json_of,
    listing,
    maybe,
    page_of,
    record,
    ref,
)

MISSING = (400, 401, 403, 404, 503)
SCHEMAS: dict[str, Schema] = {
    "View": record({"name": TEXT, "query": TEXT, "at": maybe(TIME)}),
}
AT = "2026-11-20T10:00:00.000+00:00"
VIEW = {"name": "failing refunds", "query": "outcome:fail agent:refunds last:24h", "at": AT}

ROUTES: dict[str, Route] = {
    "DELETE /api/v1/runs/{run_id}": Route(record({"deleted": COUNT}), {"deleted": 1}, failures=MISSING),
    "DELETE /api/v1/runs": Route(record({"deleted": COUNT}), {"deleted": 12}),
    "GET /api/v1/views": Route(listing(ref("View")), page_of(VIEW)),
    "PUT /api/v1/views/{name}": Route(
        ref("View"), VIEW, json_of(record({"query": TEXT})), {"query": VIEW["query"]}
    ),
    "DELETE /api/v1/views/{name}": Route(
        record({"name": TEXT, "dropped": FLAG}), {"name": VIEW["name"], "dropped": True}, failures=MISSING
    ),
}
