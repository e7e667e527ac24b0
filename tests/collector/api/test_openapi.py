"""The OpenAPI description: valid, complete, and what a running collector really answers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

from collector.api.description import POLICY_TEXT, ROUTES
from collector.server import running
from tests.support.traces import JSON, PROTOBUF, Client, agent_request, case_json, new_id, settings

Description = dict[str, Any]
ALERT = {"name": "a", "kind": "webhook", "to": "http://127.0.0.1:1/", "window": "1h"}
CAMPAIGN = ROUTES["POST /api/v1/campaigns"].body_example


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A collector with one of everything in it."""
    known = settings(tmp_path_factory.mktemp("api"), webhook_hosts=("127.0.0.1",), webhook_private=True)
    with running(known) as url, Client(url) as made:
        made.post("/cases", case_json("case-1", "a < b"))
        made.http.put("/api/v1/policies/once", content=POLICY_TEXT)
        made.post("/webhooks", {"url": "http://127.0.0.1:1/"})
        made.post("/campaigns", CAMPAIGN)
        made.post("/alerts", ALERT)
        run = new_id()
        made.send(
            agent_request(run, ["do_b", "do_a", "pay", "pay"], case="case-1", query="q", tools=["do_a"])
        )
        made.judged(run)
        yield made


@pytest.fixture(scope="module")
def described(client: Client) -> Description:
    found: Description = client.http.get("/openapi.json").json()
    return found


def operations(described: Description) -> Iterator[tuple[str, Description]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def check(value: Any, schema: Description, described: Description) -> None:
    jsonschema.validate(value, {**schema, "components": described["components"]})


def test_it_is_valid_openapi_and_a_planted_flaw_is_not(described: Description) -> None:
    validate(described)
    broken = copy.deepcopy(described)
    broken["paths"]["/api/v1/runs"]["get"]["responses"]["200"].pop("description")
    with pytest.raises(OpenAPIValidationError):
        validate(broken)


def test_every_route_is_in_the_table_and_the_table_names_no_other(described: Description) -> None:
    assert {name for name, _ in operations(described)} == set(ROUTES)


def test_every_body_and_every_answer_has_a_schema_and_an_example_that_fits(described: Description) -> None:
    for name, operation in operations(described):
        success = next(said for code, said in operation["responses"].items() if code.startswith("2"))
        contents = [success["content"]]
        if name.startswith(("POST", "PUT")):
            contents.append(operation["requestBody"]["content"])
        for content in contents:
            examples = [said for said in content.values() if "example" in said]
            assert len(examples) == 1, name
            assert all("schema" in said for said in content.values()), name
            check(examples[0]["example"], examples[0]["schema"], described)
        for code, said in operation["responses"].items():
            assert said["description"], (name, code)
        assert "422" not in operation["responses"]


def test_examples_work_as_they_are(client: Client, described: Description) -> None:
    """Every example of a body is taken by a running collector."""
    run = client.get("/runs")["items"][0]["id"]

    def asked() -> str:
        return str(client.post("/approvals", {"tool": "pay", "text": "Pay?"}).json()["id"])

    for name, operation in operations(described):
        method, path = name.split(" ")
        if "requestBody" not in operation or path in ("/api/v1/keys", "/api/v1/webhooks", "/api/v1/alerts"):
            continue
        media, said = next((m, s) for m, s in operation["requestBody"]["content"].items() if "example" in s)
        body = {"content": said["example"]} if media == "application/yaml" else {"json": said["example"]}
        headers = {"content-type": media}
        place = path.format(name="payments", run_id=run, alert=1, approval=asked())
        answer = client.http.request(method, place, headers=headers, **body)
        assert answer.status_code in (200, 201), (name, answer.text)


def test_answers_are_as_described(client: Client, described: Description) -> None:
    run = client.get("/runs", case="case-1")["items"][-1]["id"]  # newer ones are sent by other tests
    made: dict[str, Any] = {}
    bodies: dict[str, Any] = {
        "POST /api/v1/cases": case_json("case-2", "a < b"),
        "POST /api/v1/bindings": {"trace_id": new_id(), "case_id": "case-1"},
        "POST /api/v1/policies": {"name": "twice", "text": POLICY_TEXT},
        "POST /api/v1/check": {"run": {"run_id": "r", "tools": [], "calls": []}, "case": case_json("c")},
        "POST /api/v1/runs": {"run_id": "r", "calls": []},
        "POST /api/v1/recheck": {"outcome": "fail"},
        "POST /api/v1/projects": {"name": "other", "retention_days": 1},
        "PUT /api/v1/settings": {"retention_days": None},
        "POST /api/v1/campaigns": CAMPAIGN,
        "POST /api/v1/webhooks": {"url": "http://127.0.0.1:2/"},
        "PUT /api/v1/views/{name}": {"query": "outcome:fail"},
        "PUT /api/v1/findings/groups": {"rule": "policy:once", "state": "known"},
        "PUT /api/v1/runs/{run_id}/labels": {"rule": "policy:once", "label": "verdict_wrong"},
        "POST /api/v1/policies/try": {"text": POLICY_TEXT},
        "POST /api/v1/approvals": {"tool": "pay", "text": "Pay?"},
        "PUT /api/v1/approvals/{approval}": {"decision": "approve"},
        "POST /api/v1/guard": {"run_id": "r", "call": {"name": "pay"}, "policies": POLICY_TEXT},
        "POST /api/v1/alerts": ALERT,
        "POST /api/v1/alerts/{alert}/test": {},
        "PUT /api/v1/alerts/{alert}/silence": {"for": "1h"},
        "POST /api/v1/keys": {"name": "root", "scopes": ["admin"]},
    }  # fmt: skip
    last = (
        "DELETE /api/v1/runs/{run_id}/labels", "DELETE /api/v1/runs", "DELETE /api/v1/runs/{run_id}",
        "POST /api/v1/keys", "GET /api/v1/keys", "DELETE /api/v1/keys/{key_id}",  # closes the collector
    )  # fmt: skip
    names = [name for name, _ in operations(described) if name not in last and " /v1/" not in name]
    for name in [*names, *last]:
        method, path = name.split(" ")
        values = {
            "run_id": run, "case_id": "case-1", "name": "once", "campaign_id": CAMPAIGN["id"],
            "webhook": str(made.get("webhook", 0)), "alert": "1", "key_id": made.get("key_id", ""),
            "approval": made.get("approval", ""),
        }  # fmt: skip
        more = {"json": bodies[name]} if name in bodies else {}
        if name.startswith("PUT /api/v1/policies"):
            more = {"content": POLICY_TEXT}
        if name == "GET /api/v1/compare":
            more = {"params": {"a": run, "b": run}}
        if name == "DELETE /api/v1/runs/{run_id}/labels":
            more = {"params": {"rule": "policy:once"}}
        if name == "DELETE /api/v1/runs":
            more = {"params": {"user": "nobody"}}
        answer = client.http.request(method, path.format(**values), **more)
        operation = described["paths"][path][method.lower()]
        code = str(answer.status_code)
        assert code.startswith("2"), (name, answer.text)
        assert code in operation["responses"], name
        if name == "POST /api/v1/approvals":
            made["approval"] = answer.json()["id"]
        if name == "POST /api/v1/webhooks":
            made["webhook"] = answer.json()["id"]
        if name == "POST /api/v1/keys":
            made["key_id"] = answer.json()["id"]
            client.http.headers["authorization"] = f"Bearer {answer.json()['key']}"
        content = operation["responses"][code]["content"]
        if "application/json" in content:
            check(answer.json(), content["application/json"]["schema"], described)
        else:
            assert answer.headers["content-type"].startswith(("text/plain", "application/x-ndjson"))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/v1/runs/none", 404), ("GET", "/api/v1/runs?limit=0", 400), ("POST", "/api/v1/cases", 400),
     ("GET", "/api/v1/nothing", 404), ("PATCH", "/api/v1/runs", 405), ("PUT", "/api/v1/settings", 400)],
)  # fmt: skip
def test_failures_have_the_one_shape(shared: Client, method: str, path: str, status: int) -> None:
    answer = shared.http.request(method, path, content=b"{}" if method in ("POST", "PUT") else b"")
    described: Description = shared.http.get("/openapi.json").json()
    assert answer.status_code == status
    check(answer.json(), {"$ref": "#/components/schemas/Error"}, described)


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_exports_answer_as_described(shared: Client, signal: str) -> None:
    described: Description = shared.http.get("/openapi.json").json()
    operation = described["paths"][f"/v1/{signal}"]["post"]
    for headers, body in ((JSON, b"{}"), (PROTOBUF, b"")):
        answer = shared.http.post(f"/v1/{signal}", content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (200, headers["content-type"])
    refused = shared.http.post(f"/v1/{signal}", content=b"{", headers={"content-type": "text/html"})
    assert str(refused.status_code) in operation["responses"]


def test_projects_are_made_listed_and_never_twice(tmp_path: Path) -> None:
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as made:
        assert made.post("/projects", {"name": "shop", "retention_days": 7}).status_code == 201
        assert made.post("/projects", {"name": "shop"}).status_code == 409
        assert made.post("/projects", {"name": "a b"}).status_code == 400
        assert made.post("/projects", {"name": "x", "retention_days": -1}).status_code == 400
        listed = made.get("/projects")["items"]
        assert listed == [
            {"name": "default", "retention_days": None, "runs": 0, "keys": 0},
            {"name": "shop", "retention_days": 7.0, "runs": 0, "keys": 0},
        ]
        root = made.post("/keys", {"name": "root", "scopes": ["admin"]}).json()["key"]
        made.http.headers["authorization"] = f"Bearer {root}"
        body = {"name": "theirs", "scopes": ["admin"], "project": "shop"}
        made.http.headers["authorization"] = f"Bearer {made.post('/keys', body).json()['key']}"
        assert [item["name"] for item in made.get("/projects")["items"]] == ["shop"]
        assert made.post("/projects", {"name": "mine"}).status_code == 403
