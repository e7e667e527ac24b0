"""The part of the OpenAPI description about what people do with what was found: views, the inbox, trying."""

from __future__ import annotations

from collector.api.shapes import (
    ANY,
    COUNT,
    FLAG,
    NUMBER,
    OPEN,
    RATE,
    TEXT,
    TIME,
    Route,
    Schema,
    described,
    json_of,
    listing,
    maybe,
    one_of,
    page_of,
    record,
    ref,
    several,
)
from synth.policies import MODES

STATE = one_of("new", "known", "waived", "fixed", "wrong")
KIND = one_of("webhook", "slack", "teams", "email")
MEAN: dict[str, Schema] = {"runs": COUNT, "mean": maybe(NUMBER), "interval": maybe(several(NUMBER))}
LABEL = one_of("verdict_wrong", "verdict_right")

MISSING = (400, 401, 403, 404, 503)
SCHEMAS: dict[str, Schema] = {
    "View": record({"name": TEXT, "query": TEXT, "at": maybe(TIME)}),
    "MetricOverTime": described("A metric of runs, in parts of a stretch of time.", record(
        {"metric": record({"name": TEXT, "about": TEXT, "unit": TEXT, "better": maybe(TEXT)}),
         "by": maybe(TEXT), "since": maybe(TIME), "until": maybe(TIME), "runs": COUNT,
         "measured": COUNT, "more": COUNT,
         "series": several(record({"value": maybe(TEXT), **MEAN, "points": several(record(
             {"at": maybe(TIME), "part": COUNT, **MEAN}))}))},
    )),
    "FindingGroup": described("Findings of one rule, one agent and one tool.", record(
        {"rule": TEXT, "agent": maybe(TEXT), "tool": maybe(TEXT), "sentence": TEXT, "run_id": TEXT,
         "title": maybe(TEXT), "runs": COUNT, "applied": COUNT, "rate": maybe(RATE),
         "interval": several(RATE), "counts": several(COUNT), "first_seen": maybe(TIME),
         "last_seen": maybe(TIME), "versions": several(TEXT), "state": STATE, "why": maybe(TEXT)},
        owner=maybe(TEXT), severity=maybe(TEXT), reason=maybe(TEXT), until=maybe(TIME),
        in_version=maybe(TEXT), marked_by=maybe(TEXT), marked_at=maybe(TIME),
    )),
    "Alert": record(
        {"id": COUNT, "name": TEXT, "window": TEXT, "above": RATE, "at_least": COUNT, "kind": KIND,
         "to": TEXT, "firing_since": maybe(TIME), "silenced_until": maybe(TIME)},
        policy=maybe(TEXT), agent=maybe(TEXT), version=maybe(TEXT), severity=maybe(TEXT),
        broken=maybe(COUNT), of=maybe(COUNT), rate=maybe(RATE), looked_at=maybe(TIME),
    ),
    "AlertDelivery": record(
        {"id": COUNT, "alert": COUNT, "name": TEXT, "kind": TEXT, "attempts": COUNT, "status": maybe(TEXT),
         "at": maybe(TIME)}
    ),
    "Label": record(
        {"run_id": TEXT, "rule": TEXT, "label": LABEL, "note": maybe(TEXT), "actor": TEXT, "at": maybe(TIME)}
    ),
    "Approval": described("A call that waits for a person, or did.", record(
        {"id": TEXT, "state": one_of("open", "approved", "refused", "expired"), "asked_at": TIME,
         "expires_at": TIME, "tool": TEXT, "text": TEXT, "rules": several(TEXT), "arguments": ANY,
         "changeable": FLAG},
        decided_by=maybe(TEXT), decided_at=maybe(TIME), run_id=maybe(TEXT), agent=maybe(TEXT),
        run_arguments=maybe(OPEN),
    )),
    "GuardAnswer": described("`call` is the number of a call that has begun in a run that is kept.", record(
        {"allowed": FLAG, "decision": one_of("allowed", "refused", "doubt"), "call": maybe(COUNT),
         "rules": several(record({"policy": TEXT, "text": TEXT, "on_break": maybe(TEXT), "explanation": TEXT,
                                  "calls": several(COUNT), "waits": several(TEXT)})),
         "doubts": several(record({"policy": TEXT, "text": TEXT, "on_break": maybe(TEXT), "why": TEXT})),
         "feedback": maybe(TEXT), "allowed_tools": maybe(several(TEXT))},
    )),
    "Tried": described("What a policy file says about stored runs; nothing is stored.", record(
        {"runs": COUNT, "flagged": COUNT, "new": COUNT, "policies": OPEN, "warnings": several(OPEN),
         "items": several(record({"run_id": TEXT, "new": FLAG, "policies": several(
             record({"policy": TEXT, "explanation": TEXT}))}, agent=maybe(TEXT), title=maybe(TEXT))),
         "guard": maybe(OPEN)},
    )),
}  # fmt: skip
AT = "2026-11-20T10:00:00.000+00:00"
MARK = {
    "rule": "policy:small", "agent": "refunds", "tool": "pay", "state": "waived",
    "reason": "new limits come in spring", "until": "2099-03-31", "owner": "ops", "severity": "high",
}  # fmt: skip
GROUP = {
    "rule": "policy:small", "agent": "refunds", "tool": "pay", "sentence": "pay (call 2): 99 <= 10 is false.",
    "run_id": "0af7651916cd43dd8448eb211c80319c", "title": "Refund A-17", "runs": 3, "applied": 40,
    "rate": 0.075, "interval": [0.03, 0.2], "counts": [0, 1, 2], "first_seen": AT, "last_seen": AT,
    "versions": ["1.4"], "state": "new", "why": None, "owner": None, "severity": None, "reason": None,
    "until": None, "in_version": None, "marked_by": None, "marked_at": None,
}  # fmt: skip
LABELLED = {
    "run_id": GROUP["run_id"], "rule": "policy:small", "label": "verdict_wrong", "note": "it was allowed",
    "actor": "A1b2C3d4E5f6", "at": AT,
}  # fmt: skip
ALERT = {
    "id": 1, "name": "refunds", "policy": "A2", "agent": None, "version": None, "severity": None,
    "window": "1h", "above": 0.02, "at_least": 20, "kind": "webhook", "to": "https://hooks.example/pdoctor",
    "firing_since": None, "silenced_until": None, "broken": 0, "of": 40, "rate": 0.0, "looked_at": AT,
}  # fmt: skip
APPROVAL = {
    "id": "0af7651916cd43dd8448eb211c80319c", "state": "open", "asked_at": AT, "expires_at": AT,
    "decided_by": None, "decided_at": None, "tool": "refund", "text": "Not run: Refunds need a person.",
    "rules": ["A2"], "arguments": {"order": "A-17"}, "changeable": True, "run_id": None, "agent": None,
    "run_arguments": None,
}  # fmt: skip
RULES = "actions: {pay: pay}\npolicies:\n  - {id: once, rule: Pay must happen at most 1 time.}\n"
VIEW = {"name": "failing refunds", "query": "outcome:fail agent:refunds last:24h", "at": AT}

MEASURED = {
    "metric": {"name": "calls", "about": "tool calls that a model asked for", "unit": "", "better": None},
    "by": "version", "since": "2026-11-19T10:00:00.000+00:00", "until": "2026-11-20T10:00:00.000+00:00",
    "runs": 2, "measured": 2, "more": 0,
    "series": [{"value": "1.5", "runs": 2, "mean": 3.5, "interval": [-2.85, 9.85], "points": [
        {"at": "2026-11-19T10:00:00.000+00:00", "part": 0, "runs": 2, "mean": 3.5,
         "interval": [-2.85, 9.85]}]}],
}  # fmt: skip

ROUTES: dict[str, Route] = {
    "GET /api/v1/metrics": Route(ref("MetricOverTime"), MEASURED),
    "DELETE /api/v1/runs/{run_id}": Route(record({"deleted": COUNT}), {"deleted": 1}, failures=MISSING),
    "DELETE /api/v1/runs": Route(record({"deleted": COUNT}), {"deleted": 12}),
    "GET /api/v1/findings/groups": Route(listing(ref("FindingGroup")), page_of(GROUP)),
    "PUT /api/v1/findings/groups": Route(
        record({"rule": TEXT, "agent": maybe(TEXT), "tool": maybe(TEXT), "state": STATE},
               until=maybe(TIME), in_version=maybe(TEXT)),
        {"rule": "policy:small", "agent": "refunds", "tool": "pay", "state": "known"},
        json_of(record({"rule": TEXT, "state": STATE}, **dict.fromkeys(
            ("agent", "tool", "owner", "severity", "reason", "until", "version"), maybe(TEXT)))),
        MARK,
    ),
    "PUT /api/v1/runs/{run_id}/labels": Route(
        ref("Label"), LABELLED,
        json_of(record({"rule": TEXT, "label": LABEL}, note=maybe(TEXT))),
        {"rule": "policy:small", "label": "verdict_wrong", "note": "it was allowed"}, failures=MISSING,
    ),
    "DELETE /api/v1/runs/{run_id}/labels": Route(
        record({"run_id": TEXT, "rule": TEXT, "dropped": FLAG}),
        {"run_id": GROUP["run_id"], "rule": "policy:small", "dropped": True}, failures=MISSING,
    ),
    "GET /api/v1/labels": Route(listing(ref("Label")), page_of(LABELLED)),
    "GET /api/v1/labels/corpus": Route(TEXT, '{"run_id": "r1"}\n', media="application/x-ndjson"),
    "GET /api/v1/runs/{run_id}/case": Route(
        record({"case": OPEN, "left_out": OPEN}),
        {"case": {"id": "r1", "query": "Refund A-17", "tools": [], "run": {"run_id": "r1", "calls": []},
                  "rules": [], "case": None, "from": {"run_id": "r1"}, "found":
                  {"outcome": "fail", "error_type": None, "policies": {"support/once": "violated"}}},
         "left_out": {}},
        failures=MISSING,
    ),
    "POST /api/v1/policies/try": Route(
        ref("Tried"),
        {"runs": 500, "flagged": 12, "new": 10, "policies": {"once": {"ok": 488, "violated": 12}},
         "warnings": [], "items": [], "guard": None},
        json_of(record({"text": TEXT}, runs=COUNT, q=TEXT, mode=one_of(*MODES))),
        {"text": RULES, "runs": 500, "q": "agent:refunds last:7d"},
    ),
    "POST /api/v1/approvals": Route(
        ref("Approval"), APPROVAL,
        json_of(record({}, id=TEXT, tool=TEXT, text=TEXT, rules=several(TEXT), arguments=ANY, changeable=FLAG,
                       run_id=TEXT, agent=TEXT, seconds=NUMBER, wait=NUMBER)),
        {"tool": "refund", "text": "Not run: Refunds need a person.", "rules": ["A2"],
         "arguments": {"order": "A-17"}, "seconds": 60},
        failures=(400, 401, 403, 404, 409, 503),
    ),
    "GET /api/v1/approvals": Route(listing(ref("Approval")), page_of(APPROVAL)),
    "PUT /api/v1/approvals/{approval}": Route(
        ref("Approval"), {**APPROVAL, "state": "approved", "decided_by": "A1b2C3d4E5f6", "decided_at": AT},
        json_of(record({"decision": one_of("approve", "refuse")}, arguments=OPEN)), {"decision": "approve"},
        failures=(400, 401, 403, 404, 409, 503),
    ),
    "POST /api/v1/guard": Route(
        ref("GuardAnswer"),
        {"allowed": False, "decision": "refused", "call": None, "doubts": [], "allowed_tools": ["search"],
         "rules": [{"policy": "once", "text": "Pay must happen at most 1 time.", "on_break": None,
                    "calls": [0], "waits": [], "explanation": "pay was called 2 times, not once."}],
         "feedback": "Not run: Pay must happen at most 1 time. Allowed now: search."},
        json_of(record(
            {}, run=OPEN, run_id=TEXT, call=OPEN, policies=TEXT, tools=several(TEXT), agent=TEXT, query=TEXT,
            ended=several(record({"call": COUNT}, result=ANY, error=TEXT)),
        )),
        {"run": {"tools": ["search", "pay"], "calls": [{"name": "pay", "arguments": {"order": "A-17"}}]},
         "call": {"name": "pay", "arguments": {"order": "A-17"}}, "policies": RULES},
        failures=(400, 401, 403, 409, 413, 503),
    ),
    "GET /api/v1/alerts": Route(
        listing(ref("Alert"), deliveries=several(ref("AlertDelivery"))),
        {**page_of(ALERT), "deliveries": [{"id": 1, "alert": 1, "name": "refunds", "kind": "firing",
                                           "attempts": 1, "status": "delivered: HTTP 200", "at": AT}]},
    ),
    "POST /api/v1/alerts": Route(
        record({"id": COUNT, "name": TEXT, "secret": maybe(TEXT)}),
        {"id": 1, "name": "refunds", "secret": "whsec_..."},
        json_of(record({"name": TEXT, "kind": KIND, "to": TEXT}, window=TEXT, above=RATE, at_least=COUNT,
                       **dict.fromkeys(("policy", "agent", "version", "severity"), maybe(TEXT)))),
        {"name": "refunds", "policy": "A2", "window": "1h", "above": 0.02, "at_least": 20,
         "kind": "webhook", "to": "https://hooks.example/pdoctor"},
    ),
    "PUT /api/v1/alerts/{alert}/silence": Route(
        record({"id": COUNT, "silenced_until": maybe(TIME)}), {"id": 1, "silenced_until": AT},
        json_of(record({"for": maybe(TEXT)})), {"for": "24h"}, failures=MISSING,
    ),
    "POST /api/v1/alerts/{alert}/test": Route(
        record({"id": COUNT, "queued": FLAG}), {"id": 1, "queued": True}, json_of(record({})), {},
        failures=MISSING,
    ),
    "DELETE /api/v1/alerts/{alert}": Route(
        record({"id": COUNT, "active": FLAG}), {"id": 1, "active": False}, failures=MISSING
    ),
    "GET /api/v1/views": Route(listing(ref("View")), page_of(VIEW)),
    "PUT /api/v1/views/{name}": Route(
        ref("View"), VIEW, json_of(record({"query": TEXT})), {"query": VIEW["query"]}
    ),
    "DELETE /api/v1/views/{name}": Route(
        record({"name": TEXT, "dropped": FLAG}), {"name": VIEW["name"], "dropped": True}, failures=MISSING
    ),
}  # fmt: skip
