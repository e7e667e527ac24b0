"""The OpenAPI description: what every request takes and answers, with examples.

FastAPI knows addresses and parameters; bodies are read by hand, because they come as JSON, lists, JSON
lines or YAML. This table says what they are; the tests hold every answer of a running collector against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from collector.api import description_inbox
from collector.api.shapes import (
    AMOUNT,
    ANY,
    COUNT,
    FAILURES,
    FLAG,
    HEX16,
    HEX32,
    NUMBER,
    OPEN,
    RATE,
    RUN_ID,
    TEXT,
    TIME,
    Route,
    Schema,
    described,
    json_lines_of,
    json_of,
    listing,
    maybe,
    one_of,
    page_of,
    record,
    ref,
    several,
    stored,
)
from collector.store.projects import SETTINGS
from synth.formal import TROUBLES

OUTCOME = one_of("pass", "fail", "open", "undecided", "error")
CALLS = several(COUNT)
MOST_SET = {"retention_days": 30, "clock_skew_ms": 20}
STATE = one_of("running", "done", "stopped")
SCOPE = one_of("ingest", "read", "write", "metrics", "admin")

SCHEMAS: dict[str, Schema] = {
    "Error": described("Every failure outside OTLP: a stable word, what is wrong, and what to do.", record(
        {"error": record({"code": TEXT, "message": TEXT, "hint": maybe(TEXT)}, line=COUNT, field=TEXT)},
    )),
    "RpcStatus": described("google.rpc.Status", record({}, code=COUNT, message=TEXT)),
    "Action": record({"id": TEXT, "phrase": TEXT, "tool": TEXT}, description=TEXT),
    "Case": described("A planning problem; `query`, the agent's text, contains `paragraph` once.", record(
        {"id": TEXT, "actions": several(ref("Action")), "constraints": several(record({"kind": TEXT}))},
        seed=ANY, mode=one_of("order", "timed"), query=TEXT, paragraph=TEXT, topic=TEXT,
        valid_plans=maybe(COUNT), options=OPEN, gold_plan=maybe(several(OPEN)),
        alternative_plans=several(several(OPEN)),
    )),
    "Trouble": described("What ended a run instead of its agent, whose planning was not tested.", record(
        {"kind": one_of(*TROUBLES)}, status=maybe(COUNT), message=maybe(TEXT)
    )),
    "Binding": record(
        {"trace_id": HEX32, "case_id": TEXT},
        status=maybe(one_of("ok", "timeout", "crash")), wall_seconds=maybe(NUMBER), iterations=maybe(COUNT),
        trouble=maybe(ref("Trouble")),
    ),
    "RecordedCall": record(
        {"name": TEXT}, id=maybe(TEXT), arguments=ANY, result=ANY, error=ANY, start=ANY, end=ANY
    ),
    "RunRecord": described("A run in the neutral form of files.", record(
        {"run_id": TEXT, "calls": several(ref("RecordedCall"))},
        case_id=maybe(TEXT), query=maybe(TEXT), tools=maybe(several(TEXT)), status=TEXT,
        trouble=maybe(ref("Trouble")),
    )),
    "Finding": described("One violated constraint of a case.", record(
        {"type": TEXT, "code": TEXT, "sentence": maybe(COUNT), "calls": CALLS, "explanation": TEXT},
        span=ANY, constraint=ANY,
    )),
    "Verdict": record(
        {"run_id": TEXT, "case_id": maybe(TEXT), "outcome": OUTCOME, "error_type": maybe(TEXT),
         "findings": several(ref("Finding")), "dead_at": maybe(COUNT), "repair": ANY, "decided_by": ANY},
        z3_ms=ANY, trouble=maybe(ref("Trouble")),
    ),
    "PolicyResult": record(
        {"run_id": TEXT, "policy": TEXT,
         "verdict": one_of("ok", "violated", "not_applicable", "undecided", "unsupported"),
         "violations": CALLS, "explanation": TEXT,
         "text": maybe(TEXT), "file": maybe(TEXT), "version": maybe(COUNT), "sentence": maybe(TEXT),
         "span": maybe(CALLS), "repair": maybe(ref("Repair"))},
        pending=FLAG,
    ),
    "Repair": described("What would have kept a policy; a call that was not made is null in `calls`.", record(
        {"order": several(TEXT), "calls": several(maybe(COUNT)), "moved": CALLS, "dropped": CALLS,
         "added": several(record({"name": TEXT, "arguments": OPEN})), "proved": several(TEXT)},
    )),
    "Run": record(
        {"id": RUN_ID, "agent": maybe(TEXT), "service": maybe(TEXT), "case_id": maybe(TEXT),
         "outcome": maybe(OUTCOME), "error_type": maybe(TEXT), "complete": FLAG, "judged": FLAG,
         "spans": maybe(COUNT), "findings": maybe(COUNT), "calls_count": maybe(COUNT),
         "started_at": maybe(TEXT), "ended_at": maybe(TEXT), "duration_ms": maybe(NUMBER),
         "first_seen": maybe(TIME), "last_seen": maybe(TIME)},
        source=maybe(TEXT), model=maybe(TEXT), session=maybe(TEXT), joined_into=maybe(TEXT),
        version=maybe(TEXT), prompt=maybe(TEXT), environment=maybe(TEXT), tokens=maybe(COUNT),
    ),
    "Conclusion": record(
        {"at": maybe(TIME), "outcome": maybe(OUTCOME), "error_type": maybe(TEXT)},
        verdict=maybe(ref("Verdict")), policies=several(ref("PolicyResult")), problems=several(TEXT),
    ),
    "Call": record({"name": TEXT, "index": COUNT, "span_id": maybe(TEXT)}),
    "RunDetail": {
        "allOf": [
            ref("Run"),
            record(
                {"calls": several(ref("Call")),
                 "query": maybe(TEXT), "tools": maybe(several(TEXT)), "status": TEXT,
                 "verdict": maybe(ref("Verdict")), "policies": several(ref("PolicyResult")),
                 "metrics": OPEN, "problems": several(TEXT), "suggested_rules": several(TEXT),
                 "history": several(ref("Conclusion")), "record": maybe(OPEN)},
                calls_cursor=maybe(TEXT), trouble=maybe(ref("Trouble")), parts=several(ref("Part")),
                waits=maybe(ref("Part")), versions=OPEN,
                progress=record({"progress": maybe(several(RATE)), "repetition": maybe(several(RATE))}),
                plan=maybe(OPEN),
            ),
        ]
    },
    "Part": described("A part of a run that waits, or that another process went on with.", record(
        {"run_id": RUN_ID, "trace_id": HEX32, "started_at": maybe(TEXT), "ended_at": maybe(TEXT),
         "calls": COUNT, "state": maybe(one_of("paused", "unanswered")), "reason": maybe(TEXT)},
    )),
    "Difference": record(
        {"kind": one_of("outcome", "rule", "tool", "metric"), "name": TEXT, "a": OPEN, "b": OPEN,
         "test": TEXT, "p": NUMBER, "adjusted": NUMBER, "differs": FLAG},
        note=TEXT,
    ),
    "Drift": record(
        {"rule": TEXT, "version": maybe(TEXT), "week": TEXT, "violations": OPEN, "before": OPEN, "test": TEXT,
         "p": NUMBER, "adjusted": NUMBER, "changed": FLAG},
    ),
    "Span": record(
        {"trace_id": HEX32, "span_id": HEX16, "parent_id": maybe(HEX16), "name": TEXT, "start_ns": ANY,
         "end_ns": ANY, "status": ANY, "attributes": OPEN, "events": several(OPEN), "resource": OPEN},
        status_message=maybe(TEXT), scope=maybe(TEXT),
    ),
    "FindingRow": record(
        {"id": COUNT, "run_id": RUN_ID, "rule": TEXT, "type": TEXT, "code": TEXT, "tool": maybe(TEXT),
         "sentence": maybe(COUNT), "calls": CALLS, "explanation": TEXT},
        agent=maybe(TEXT), case_id=maybe(TEXT), text=maybe(TEXT), file=maybe(TEXT), version=maybe(COUNT),
    ),
    "Stats": record(
        {"runs": COUNT, "spans": COUNT, "unchecked": COUNT, "outcomes": OPEN, "error_types": OPEN}
    ),
    "CheckRequest": {
        "anyOf": [
            record({"run": ref("RunRecord")}, case=maybe(ref("Case")), policies=maybe(TEXT)),
            ref("RunRecord"),
        ]
    },
    "CheckAnswer": record(
        {"run_id": TEXT, "outcome": maybe(OUTCOME), "verdict": maybe(ref("Verdict")),
         "policies": several(ref("PolicyResult")), "suggested_rules": several(TEXT), "metrics": OPEN},
    ),
    "Policy": record(
        {"name": TEXT, "version": COUNT, "active": FLAG, "at": maybe(TIME), "text": TEXT},
        warnings=several(ref("UnseenTool")),
    ),
    "UnseenTool": described("A tool that a policy file names and that no run of the project shows.", record(
        {"code": one_of("unknown_tool", "never_seen"), "tool": TEXT, "meant": maybe(TEXT),
         "explanation": TEXT, "policies": several(TEXT)},
    )),
    "PolicyVersions": {"allOf": [ref("Policy"), record({"versions": several(ref("Policy"))})]},
    "Key": record(
        {"id": TEXT, "name": TEXT, "scopes": several(SCOPE), "project": TEXT, "at": maybe(TIME),
         "revoked": maybe(TIME), "expires": maybe(TIME)}
    ),
    "KeyRequest": record({"name": TEXT, "scopes": several(SCOPE)}, project=TEXT, expires=TEXT),
    "NewKey": described("`key` is shown this once.", record(
        {"id": TEXT, "name": TEXT, "scopes": several(SCOPE), "project": TEXT, "expires": maybe(TIME),
         "key": TEXT},
    )),
    "AuditEntry": record({"id": COUNT, "actor": TEXT, "action": TEXT, "subject": TEXT, "at": maybe(TIME)}),
    "Settings": record({"project": TEXT, **dict.fromkeys(SETTINGS, maybe(NUMBER))}),
    "Project": record({"name": TEXT, "retention_days": maybe(NUMBER), "runs": COUNT, "keys": COUNT}),
    "Webhook": record({"id": COUNT, "url": TEXT, "outcomes": several(OUTCOME)}, at=maybe(TIME)),
    "WebhookRequest": record({"url": TEXT}, outcomes=several(OUTCOME)),
    "NewWebhook": described("`secret` is shown once; it signs every request (X-PDoctor-Signature).", record(
        {"id": COUNT, "url": TEXT, "outcomes": several(OUTCOME), "secret": TEXT},
    )),
    "Delivery": record(
        {"id": COUNT, "webhook": COUNT, "attempts": COUNT, "status": maybe(TEXT), "run_id": RUN_ID}
    ),
    "Campaign": record(
        {"id": HEX32, "verb": TEXT, "name": TEXT, "state": STATE, "runs": COUNT, "passed": COUNT,
         "failed": COUNT, "errors": COUNT, "unsettled": COUNT, "pass_rate": maybe(RATE), "at": TIME,
         "interval": several(RATE), "last_seen": TIME, "options": OPEN},
        agent=maybe(TEXT), model=maybe(TEXT), commit=maybe(TEXT), seed=ANY,
    ),
    "CampaignResult": described("A run of a campaign; `key` says what was tried.", record(
        {"key": TEXT, "agent": TEXT, "model": TEXT, "outcome": OUTCOME},
        case_id=maybe(TEXT), run_id=maybe(TEXT), error_type=maybe(TEXT), actions=AMOUNT, seconds=AMOUNT,
        tokens=AMOUNT, trouble=maybe(ref("Trouble")),
        findings=several(record({"type": TEXT, "explanation": TEXT})),
    )),
    "CampaignReport": record(
        {}, note=TEXT, summary=several(TEXT), findings=several(TEXT), facts=several(several(TEXT)),
        tables=several(record(
            {"name": TEXT, "title": TEXT, "headers": several(TEXT), "rows": several(several(TEXT))}, note=TEXT
        )),
    ),
    "CampaignPost": described("Everything may be told again; results and the report may come later.", record(
        {"id": HEX32, "verb": TEXT, "name": TEXT},
        agent=maybe(TEXT), model=maybe(TEXT), commit=maybe(TEXT), seed=ANY, options=OPEN, state=STATE,
        results=several(ref("CampaignResult")), report=maybe(ref("CampaignReport")),
    )),
    "CampaignDetail": {
        "allOf": [ref("Campaign"), record({"report": maybe(ref("CampaignReport"))})],
    },
    "Ready": record({"status": one_of("ready", "unready"), "problems": several(TEXT)}),
    **description_inbox.SCHEMAS,
}  # fmt: skip

RUN = "0af7651916cd43dd8448eb211c80319c"
CASE = {
    "id": "case-1", "seed": 7, "mode": "order", "query": "Use the tools. A must precede b. Begin.",
    "paragraph": "A must precede b.", "topic": "test",
    "actions": [{"id": "a", "phrase": "a", "tool": "do_a", "description": "a"},
                {"id": "b", "phrase": "b", "tool": "do_b", "description": "b"}],
    "constraints": [{"kind": "before", "first": "a", "then": "b", "sentence": 0, "span": [0, 17]}],
    "valid_plans": 1, "stop": "covered", "options": {},
}  # fmt: skip
POLICY_TEXT = (
    "actions: {pay: pay}\npolicies:\n  - {id: once, text: Pay once., rule: Pay must happen at most 1 time.}\n"
)
POLICY = {
    "name": "payments",
    "version": 1,
    "active": True,
    "at": "2026-11-20T10:00:00.000+00:00",
    "text": POLICY_TEXT,
}
FINDING = {
    "type": "order", "code": "order_error", "sentence": 0, "calls": [0, 1],
    "explanation": "do_a was called before do_b.", "span": [0, 17], "constraint": None,
}  # fmt: skip
VERDICT = {
    "run_id": RUN, "case_id": "case-1", "outcome": "fail", "error_type": "order_error", "findings": [FINDING],
    "dead_at": 0, "repair": {"order": [1, 0], "moved": [0]}, "decided_by": "both", "z3_ms": 3.1,
    "trouble": None,
}  # fmt: skip
ITEM = {
    "id": RUN, "agent": "planner", "service": "shop", "source": None, "model": None, "session": None,
    "version": "1.4", "prompt": None, "environment": "production", "tokens": 1840,
    "case_id": "case-1", "outcome": "fail", "error_type": "order_error", "complete": True, "judged": True,
    "spans": 3, "findings": 1, "calls_count": 2, "started_at": "2026-11-20T10:00:00.000+00:00",
    "ended_at": "2026-11-20T10:00:01.000+00:00", "duration_ms": 1000.0,
    "first_seen": "2026-11-20T10:00:01.100+00:00", "last_seen": "2026-11-20T10:00:01.100+00:00",
}  # fmt: skip
CALL = {"name": "do_b", "index": 0, "span_id": "00f067aa0ba902b7"}
RECORD = {"run_id": "r1", "query": "", "tools": ["do_a", "do_b"], "calls": [{"id": "1", "name": "do_b"}]}
KEY = {
    "id": "A1b2C3d4E5f6", "name": "ci", "scopes": ["ingest"], "project": "default",
    "expires": "2027-02-18T10:00:00.000+00:00",
}  # fmt: skip
WEBHOOK = {"id": 1, "url": "https://hooks.example/pdoctor", "outcomes": ["fail"]}
OTLP_BODY: Mapping[str, Schema] = {
    "application/x-protobuf": {"type": "string", "format": "binary"},
    "application/json": OPEN,
}


SHARE = {"hits": 1, "trials": 20, "rate": 0.05, "interval": [0.009, 0.236]}
DRIFT = {
    "rule": "once", "version": "1.5", "week": "2026-11-16", "violations": SHARE, "before": SHARE,
    "test": "Fisher's exact test", "p": 1.0, "adjusted": 1.0, "changed": False,
}  # fmt: skip


CAMPAIGN_RESULT = {
    "key": "planner|gpt-4o|case-1|0", "agent": "planner", "model": "gpt-4o", "case_id": "case-1",
    "run_id": RUN, "outcome": "fail", "error_type": "order_error", "actions": 4, "seconds": 1.5,
    "tokens": 812, "trouble": None,
    "findings": [{"type": "order_error", "explanation": "do_a was called before do_b."}],
}  # fmt: skip
CAMPAIGN = {
    "id": RUN, "verb": "test", "name": "nightly", "state": "running", "runs": 1, "passed": 0, "failed": 1,
    "errors": 0, "unsettled": 0, "pass_rate": 0.0, "interval": [0.0, 0.793],
    "at": "2026-11-20T10:00:00.000+00:00", "last_seen": "2026-11-20T10:00:01.000+00:00",
    "agent": "planner", "model": "gpt-4o", "commit": "9f1c2e7a0b44", "seed": 7,
    "options": {"temperature": 0},
}  # fmt: skip


def otlp(signal: str) -> Route:
    return Route(
        described(f"ExportServiceResponse of {signal}; partialSuccess names what was rejected", record({},)),
        {}, OTLP_BODY, {"resourceSpans": []} if signal == "traces" else {},
        failures=(400, 401, 403, 413, 415, 429, 503),
    )  # fmt: skip


MISSING = (400, 401, 403, 404, 503)
RUN_FILTERS = (
    "case", "policy", "outcome", "error_type", "agent", "service", "version", "prompt", "environment", "tool",
    "since", "until",
)  # fmt: skip
CHANGED = record({"name": TEXT, "version": COUNT, "warnings": several(ref("UnseenTool"))})
UNSEEN_TOOL = {
    "code": "unknown_tool", "tool": "pey", "meant": "pay", "policies": ["once"],
    "explanation": "The policy speaks of the tool 'pey', which was never seen; did you mean 'pay'?",
}  # fmt: skip

ROUTES: dict[str, Route] = {
    "GET /api/v1/runs": Route(listing(ref("Run")), page_of(ITEM)),
    "POST /api/v1/runs": Route(
        record({"ids": several(TEXT), "rejected_count": COUNT,
                "rejected": several(record({"place": TEXT, "reason": TEXT}))}),
        {"ids": [RUN], "rejected_count": 0, "rejected": []},
        json_lines_of("RunRecord"), RECORD, failures=(400, 401, 403, 429, 503),
    ),
    "GET /api/v1/runs/{run_id}": Route(
        ref("RunDetail"),
        {**ITEM, "query": "A must precede b.", "tools": ["do_a", "do_b"], "status": "ok", "trouble": None,
         "calls": [CALL], "calls_cursor": None,
         "verdict": VERDICT, "policies": [], "metrics": {},
         "progress": {"progress": [0.5], "repetition": [0.0]}, "problems": [], "suggested_rules": [],
         "history": [], "record": RECORD},
        failures=MISSING,
    ),
    "GET /api/v1/runs/{run_id}/calls": Route(listing(ref("Call")), page_of(CALL), failures=MISSING),
    "GET /api/v1/runs/{run_id}/record": Route(OPEN, RECORD, failures=MISSING),
    "GET /api/v1/runs/{run_id}/spans": Route(
        listing(ref("Span")),
        page_of({"trace_id": RUN, "span_id": "00f067aa0ba902b7", "parent_id": None,
                 "name": "execute_tool do_b", "start_ns": 1790000000000000000, "end_ns": 1790000000005000000,
                 "status": "unset", "attributes": {"gen_ai.tool.name": "do_b"}, "events": [],
                 "resource": {"service.name": "shop"}}),
        failures=MISSING,
    ),
    "GET /api/v1/compare": Route(
        described("Of two runs `calls`, `first_difference`, `policies` and `metrics`; with `by` the "
                  "differences of two populations.", record({"a": ANY, "b": ANY}, by=TEXT,
                  calls=several(OPEN), first_difference=maybe(COUNT), policies=OPEN, metrics=OPEN,
                  runs=several(COUNT), pairs=COUNT, alpha=NUMBER, outcomes=several(OPEN),
                  differences=several(ref("Difference")),
                  newly_failing=several(TEXT), newly_passing=several(TEXT), newly_failing_count=COUNT,
                  newly_passing_count=COUNT, smallest_change=maybe(NUMBER), power=NUMBER)),
        {"a": {"id": RUN}, "b": {"id": RUN}, "calls": [{"a": 0, "b": 0, "how": "same", "tool": "do_a"}],
         "first_difference": None, "policies": {}, "metrics": {}},
        failures=MISSING,
    ),
    "POST /api/v1/campaigns": Route(
        stored(id=HEX32), {"id": RUN, "stored": 1}, json_of(ref("CampaignPost")),
        {"id": RUN, "verb": "test", "name": "nightly", "agent": "planner", "model": "gpt-4o",
         "commit": "9f1c2e7a0b44", "seed": 7, "options": {"temperature": 0}, "state": "running",
         "results": [CAMPAIGN_RESULT]},
    ),
    "GET /api/v1/campaigns": Route(listing(ref("Campaign")), page_of(CAMPAIGN)),
    "GET /api/v1/campaigns/{campaign_id}": Route(
        ref("CampaignDetail"), {**CAMPAIGN, "report": None}, failures=MISSING
    ),
    "GET /api/v1/campaigns/{campaign_id}/results": Route(
        listing(ref("CampaignResult")), page_of(CAMPAIGN_RESULT), failures=MISSING
    ),
    "GET /api/v1/drift": Route(listing(ref("Drift")), page_of(DRIFT)),
    "GET /api/v1/findings": Route(
        listing(ref("FindingRow")),
        page_of({"id": 1, "run_id": RUN, "agent": "planner", "case_id": "case-1", "rule": "case:case-1",
                 "type": "order", "code": "order_error", "tool": "do_a", "sentence": 0, "calls": [0, 1],
                 "explanation": "do_a was called before do_b.", "text": "B must happen before A.",
                 "file": None, "version": None}),
    ),
    "GET /api/v1/stats": Route(
        ref("Stats"),
        {"runs": 2, "spans": 6, "unchecked": 0, "outcomes": {"pass": 1, "fail": 1},
         "error_types": {"order_error": 1}},
    ),
    "POST /api/v1/recheck": Route(
        record({"runs": COUNT}), {"runs": 2},
        json_of(record({}, **dict.fromkeys(RUN_FILTERS, TEXT))), {"agent": "planner"},
    ),
    "POST /api/v1/check": Route(
        ref("CheckAnswer"),
        {"run_id": RUN, "outcome": "fail", "verdict": VERDICT, "policies": [], "suggested_rules": [],
         "metrics": {}},
        json_of(ref("CheckRequest")), {"run": RECORD, "case": CASE},
    ),
    "POST /api/v1/cases": Route(
        stored(ids=several(TEXT)), {"stored": 1, "ids": ["case-1"]}, json_lines_of("Case"), CASE
    ),
    "GET /api/v1/cases": Route(listing(ref("Case")), page_of(CASE)),
    "GET /api/v1/cases/{case_id}": Route(ref("Case"), CASE, failures=MISSING),
    "POST /api/v1/bindings": Route(
        stored(), {"stored": 1},
        json_lines_of("Binding"), {"trace_id": RUN, "case_id": "case-1", "status": "ok"},
    ),
    "GET /api/v1/policies": Route(listing(ref("Policy")), page_of({**POLICY, "warnings": [UNSEEN_TOOL]})),
    "POST /api/v1/policies": Route(
        CHANGED, {"name": "payments", "version": 1, "warnings": []},
        json_of(record({"name": TEXT, "text": TEXT})), {"name": "payments", "text": POLICY_TEXT},
    ),
    "GET /api/v1/policies/{name}": Route(
        ref("PolicyVersions"), {**POLICY, "versions": [POLICY]}, failures=MISSING
    ),
    "GET /api/v1/policies/{name}/counts": Route(
        listing(record({"policy": TEXT, "broken_at": maybe(TIME), "day": OPEN, "week": OPEN, "guard": OPEN})),
        page_of({"policy": "once", "broken_at": "2026-11-20T10:00:00.000+00:00", "day": {"ok": 40},
                 "week": {"ok": 310, "violated": 2, "not_applicable": 8},
                 "guard": {"day": {}, "week": {"refused": 2, "observed": 5}}}),
        failures=MISSING,
    ),
    "PUT /api/v1/policies/{name}": Route(
        CHANGED, {"name": "payments", "version": 2, "warnings": [UNSEEN_TOOL]}, {"application/yaml": TEXT},
        POLICY_TEXT,
    ),
    "DELETE /api/v1/policies/{name}": Route(
        record({"name": TEXT, "active": FLAG}), {"name": "payments", "active": False}, failures=MISSING
    ),
    "GET /api/v1/keys": Route(
        listing(ref("Key")), page_of({**KEY, "at": "2026-11-20T10:00:00.000+00:00", "revoked": None})
    ),
    "POST /api/v1/keys": Route(
        ref("NewKey"), {**KEY, "key": "pdk_A1b2C3d4E5f6_..."},
        json_of(ref("KeyRequest")), {"name": "ci", "scopes": ["ingest"], "expires": "90d"},
    ),
    "DELETE /api/v1/keys/{key_id}": Route(
        record({"id": TEXT, "revoked": FLAG}), {"id": "A1b2C3d4E5f6", "revoked": True}, failures=MISSING
    ),
    "GET /api/v1/audit": Route(
        listing(ref("AuditEntry")),
        page_of({"id": 1, "actor": "A1b2C3d4E5f6", "action": "policy.put", "subject": "payments version 1",
                 "at": "2026-11-20T10:00:00.000+00:00"}),
    ),
    "GET /api/v1/projects": Route(
        listing(ref("Project")), page_of({"name": "default", "retention_days": None, "runs": 2, "keys": 1})
    ),
    "POST /api/v1/projects": Route(
        ref("Project"), {"name": "shop", "retention_days": 30, "runs": 0, "keys": 0},
        json_of(record({"name": TEXT}, retention_days=maybe(NUMBER))), {"name": "shop", "retention_days": 30},
        failures=(400, 401, 403, 409, 503),
    ),
    "GET /api/v1/settings": Route(ref("Settings"), {"project": "default", **dict.fromkeys(SETTINGS)}),
    "PUT /api/v1/settings": Route(
        ref("Settings"), {"project": "default", "failed_retention_days": 90, **MOST_SET},
        json_of(record({}, **dict.fromkeys(SETTINGS, maybe(NUMBER)))), MOST_SET,
    ),
    "GET /api/v1/webhooks": Route(
        listing(ref("Webhook"), deliveries=several(ref("Delivery"))),
        {**page_of(WEBHOOK), "deliveries": [{"id": 1, "webhook": 1, "attempts": 1, "status": "delivered",
                                             "run_id": RUN}]},
    ),
    "POST /api/v1/webhooks": Route(
        ref("NewWebhook"), {**WEBHOOK, "secret": "whsec_..."},
        json_of(ref("WebhookRequest")), {"url": "https://hooks.example/pdoctor", "outcomes": ["fail"]},
    ),
    "DELETE /api/v1/webhooks/{webhook}": Route(
        record({"id": COUNT, "active": FLAG}), {"id": 1, "active": False}, failures=MISSING
    ),
    "GET /healthz": Route(
        record({"status": TEXT, "service": TEXT}), {"status": "ok", "service": "pdoctor"}, failures=()
    ),
    "GET /readyz": Route(ref("Ready"), {"status": "ready", "problems": []}, failures=(503,)),
    "GET /metrics": Route(
        TEXT, 'pdoctor_project_spans{project="default"} 3\n', media="text/plain", failures=(401, 403, 503)
    ),
    "POST /v1/traces": otlp("traces"),
    "POST /v1/metrics": otlp("metrics"),
    "POST /v1/logs": otlp("logs"),
    **description_inbox.ROUTES,
}  # fmt: skip

OTLP_ABOUT = {
    "traces": "Spans; the answer comes when they are durable.",
    "metrics": "Taken and dropped, so that exporters of all signals work.",
    "logs": "Taken and dropped, so that exporters of all signals work.",
}


def describe(app: FastAPI) -> None:
    """Let `app.openapi()` say all of this."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None or "securitySchemes" not in app.openapi_schema.get("components", {}):
            app.openapi_schema = complete(plain())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def complete(found: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's description with bodies, answers, failures and how to show a key."""
    paths: dict[str, Any] = found["paths"]
    for name, about in OTLP_ABOUT.items():
        paths[f"/v1/{name}"] = {
            "post": {"tags": ["OTLP"], "summary": f"Export {name}", "description": about,
                     "operationId": f"export_{name}", "responses": {"200": {}}}
        }  # fmt: skip
    for address, methods in paths.items():
        for method, said in methods.items():
            fill(said, ROUTES[f"{method.upper()} {address}"], otlp=address.startswith("/v1/"))
    key = {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer pdk_...`."}
    found["components"] = {"schemas": SCHEMAS, "securitySchemes": {"key": key}}
    found["security"] = [{"key": []}, {}]
    return found


def fill(said: dict[str, Any], route: Route, *, otlp: bool) -> None:
    """One operation."""
    success = next(code for code in said["responses"] if code.startswith("2"))
    answer = {route.media: {"schema": route.answer, "example": route.example}}
    if otlp:
        answer["application/x-protobuf"] = {"schema": {"type": "string", "format": "binary"}}
    failure = ref("RpcStatus" if otlp else "Error")
    if route.answer == ref("Ready"):
        failure = route.answer
    said["responses"] = {success: {"description": "Done.", "content": answer}}
    for code in sorted({*route.failures, *((413,) if route.body is not None else ())}):
        said["responses"][str(code)] = {
            "description": FAILURES[code], "content": {"application/json": {"schema": failure}}
        }  # fmt: skip
    if route.body is not None:
        content: dict[str, Any] = {media: {"schema": schema} for media, schema in route.body.items()}
        media = "application/json" if otlp else next(iter(content))
        content[media]["example"] = route.body_example
        said["requestBody"] = {"required": True, "content": content}
