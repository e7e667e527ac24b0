"""The pages in a real browser: what they show, and that they load and run nothing from elsewhere."""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import pytest

from tests.support.chromium import Page
from tests.support.traces import (
    MS,
    T0,
    Client,
    agent_request,
    agent_spans,
    case_json,
    eventually,
    new_id,
    request,
)

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(autouse=True)
def _clean(page: Page) -> None:
    page.open("about:blank")  # the page before may still be asking its collector for news
    page.width(1280)
    page.requests.clear()
    page.problems.clear()


def failed_campaign(collector: Client, run: str) -> str:
    """A campaign of this run, with an earlier one, whose texts are hostile and long."""
    finding = {"type": HOSTILE, "explanation": HOSTILE * 5}
    result = dict.fromkeys(("key", "agent", "model", "case_id", "error_type"), HOSTILE)
    told = [{**result, "run_id": run, "outcome": "fail", "actions": 3, "findings": [finding]}]
    head = {"verb": "test", "name": HOSTILE * 2, "agent": "a" * 500, "options": {HOSTILE: HOSTILE}}
    earlier, campaign = new_id(), new_id()
    for one in (earlier, campaign):
        answer = collector.post("/campaigns", {**head, "id": one, "results": told, "state": "done"})
        assert answer.status_code == 201, answer.text
    return campaign


def quoted(path: str) -> str:
    return quote(path, safe="/?&=")


def failed_run(collector: Client) -> str:
    """A run that breaks the second of two sentences and whose texts are hostile."""
    case, run = new_id(), new_id()
    collector.post("/cases", case_json(case, "a < b", "b < c", actions=("a", "b", "c")))
    calls = [
        {"name": "do_a", "result": HOSTILE},
        {"name": "do_c", "arguments": {HOSTILE: HOSTILE}},
        {"name": "do_b", "error": HOSTILE, "at": {"gen_ai.tool.type": HOSTILE}},
        {"name": "do_b"},
    ]
    collector.send(agent_request(run, calls, case=case, agent=HOSTILE, tools=["do_a", "do_b", "do_c"]))
    collector.judged(run)
    return run


def test_an_empty_collector_teaches_and_turns_when_the_first_span_comes(
    page: Page, collector: Client
) -> None:
    page.open(f"{collector.url}/")
    assert "Waiting for the first span" in page.text("#main")
    assert "import pdoctor_trace" in page.text(".setup")
    assert collector.url in page.text(".setup")
    assert "pdk_" not in page.text(".setup")
    run = new_id()
    collector.send(agent_request(run, ["search"]))
    page.wait_for("document.querySelectorAll('table.runs tbody tr').length === 1", seconds=15)
    assert page.problems == []


def test_the_list_shows_outcomes_and_filters_by_address(page: Page, collector: Client) -> None:
    run, free = failed_run(collector), new_id()
    collector.send(agent_request(free, ["search"], agent="other"))
    collector.judged(free)
    page.open(f"{collector.url}/")
    assert page.texts(".runs .badge") == ["not judged", "fail"]
    page.open(f"{collector.url}/runs")
    page.evaluate("document.querySelector('#q').value = 'outcome:fail'")
    page.click(".search button")
    page.wait_for("location.search.includes('outcome%3Afail') && document.readyState === 'complete'")
    assert page.texts(".runs .id") == [run[:12]]
    assert page.text(".said").startswith("“b must precede c.”")
    page.open(f"{collector.url}/?agent=nobody")
    assert page.evaluate("location.pathname") == "/runs"
    assert "No run matches" in page.text("#main")
    page.open(f"{collector.url}/runs?since=yesterday")
    assert "expected a time" in page.text(".warn")


NEVER = "actions: {pay: pay, search: search}\npolicies:\n  - {id: no, rule: Pay must never happen.}\n"
RULES = """\
actions: {search: do_a, book: do_b, pay: do_c}
policies:
  - id: order
    text: Search, book, pay.
    rule: Search must happen before book, and book must happen before pay.
  - {id: found, rule: Search must happen at least once.}
  - {id: small, guard: {calls: pay, check: args.sum <= 10}}
  - {id: once, rule: Pay must happen at most once.}
"""


def test_a_broken_policy_is_shown_with_its_words_marked_and_a_plan(page: Page, collector: Client) -> None:
    collector.post("/policies", {"name": "shop", "text": RULES})
    run, pay = new_id(), {"name": "do_c", "arguments": {"sum": 99}}
    collector.send(agent_request(run, ["do_b", "do_a", pay, pay]))
    collector.judged(run)
    page.open(f"{collector.url}/runs/{run}")
    assert page.texts(".findings .kind") == [
        f"Policy violated: {name}" for name in ("order", "small", "once")
    ]
    assert page.texts(".findings mark") == [
        "Search must happen before book", "args.sum <= 10", "Pay must happen at most once",
    ]  # fmt: skip
    order, small, _ = page.texts(".findings .rule")
    assert order.startswith("Search, book, pay. ")
    assert "Search must happen before book, and book must happen before pay." in order
    assert order.endswith("shop, version 1")
    assert small.endswith("shop, version 1")
    assert page.texts("h2[id^=plan-]") == ["A plan that would have worked for order, once"]
    observed, repaired = (page.texts(f".plans div:nth-child({side}) li") for side in (1, 2))
    assert [" ".join(line.split()) for line in observed] == [
        "do_b (call 0)", "do_a (call 1) moved", "do_c (call 2)", "do_c (call 3) left out",
    ]  # fmt: skip
    assert [" ".join(line.split()) for line in repaired] == [
        "do_a (call 1) moved", "do_b (call 0)", "do_c (call 2)",
    ]  # fmt: skip
    assert page.text("section[aria-labelledby=plan-1] .hint") == "It also keeps found."
    assert "Search, book, pay." in page.text(".policies")
    assert page.problems == []


def test_a_run_shows_its_findings_words_calls_and_repair(page: Page, collector: Client) -> None:
    run = failed_run(collector)
    page.open(f"{collector.url}/runs/{run}")
    assert page.text("h1").split("\n")[0].startswith("fail")
    assert page.evaluate("document.querySelector('mark').firstChild.data") == "b must precede c."
    assert page.texts(".calls tr.bad td:first-child") == ["1", "3"]
    assert page.texts(".calls .tool .name") == ["do_a", "do_c", "do_b", "do_b"]
    assert page.evaluate("document.querySelectorAll('.calls svg .stretch').length") == 4
    assert "Point of no return" in page.text(".calls")
    assert [line.split(" moved")[0].strip() for line in page.texts(".plans div:last-child li")] == [
        "a",
        "b",
        "c",
    ]
    page.click("#call-0 summary")
    page.click("#call-0 .values a")
    page.wait_for("document.querySelector('pre.json') !== null")
    assert '"gen_ai.tool.name": "do_a"' in page.text("pre.json")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/runs",
        "/runs?q=%22%3Cscript%3E%22",
        "/runs/{run}",
        "/runs/{run}/spans/0000000000000002",
        "/docs",
        "/runs/none",
        "/campaigns",
        "/campaigns/{campaign}",
        "/compare?a={run}&b={run}",
        "/compare?by=agent&a=%3Cscript%3E&b=x",
    ],
)
def test_pages_run_nothing_hostile_and_load_nothing_from_elsewhere(
    page: Page, collector: Client, path: str
) -> None:
    run = failed_run(collector)
    page.open(collector.url + path.format(run=run, campaign=failed_campaign(collector, run)))
    page.evaluate("[...document.querySelectorAll('details')].forEach(d => d.open = true)")
    assert page.evaluate("document.title") != "owned"
    assert page.hosts() == {collector.url.removeprefix("http://")}
    assert [problem for problem in page.problems if "404" not in problem] == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1280])
def test_pages_fit_the_window_and_have_enough_contrast(
    page: Page, collector: Client, width: int, dark: bool
) -> None:
    run = failed_run(collector)
    page.width(width, dark=dark)
    campaign = failed_campaign(collector, run)
    told = ("/campaigns", f"/campaigns/{campaign}", f"/campaigns/{campaign}?before={campaign}")
    compared = (f"/compare?a={run}&b={run}", f"/compare?by=case&a=x&b={HOSTILE}", "/compare?by=agent&a=&b=")
    for path in ("/", "/runs", "/runs?q=nothing", f"/runs/{run}", "/docs", *told, *map(quoted, compared)):
        page.open(collector.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(LOW_CONTRAST) == [], path


LOW_CONTRAST = """
(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (found.startsWith("rgb(")) return channels(found);
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || element.closest("svg, option") || !element.getClientRects().length) continue;
    const a = light(channels(getComputedStyle(element).color)), b = light(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return bad;
})()
"""


def test_every_page_has_a_title_headings_in_order_and_named_controls(page: Page, collector: Client) -> None:
    run = failed_run(collector)
    campaign = failed_campaign(collector, run)
    for path in ("/", "/runs", f"/runs/{run}", "/docs", "/campaigns", f"/campaigns/{campaign}", "/compare"):
        page.open(collector.url + path)
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.evaluate("document.title")
        assert page.evaluate("document.querySelectorAll('h1').length") == 1
        controls = "[...document.querySelectorAll('input, select')].filter(e => e.type !== 'hidden')"
        assert page.evaluate(f"{controls}.filter(e => !e.labels.length && !e.ariaLabel).length") == 0


RUNS_SCRIPT = '<img src=x onerror="window.owned = 1"><script>window.owned = 1</script>'


def test_even_markup_that_slipped_through_could_run_nothing(page: Page, collector: Client) -> None:
    """A planted escape failure: the policy of the page stops what the escaping did not."""
    run = failed_run(collector)
    for path in ("/", f"/runs/{run}", "/docs"):
        page.open(collector.url + path)
        page.problems.clear()
        page.evaluate(
            f"document.body.insertAdjacentHTML('beforeend', {json.dumps(RUNS_SCRIPT)});"
            "document.body.lastElementChild.replaceWith(Object.assign(document.createElement('script'),"
            " {textContent: 'window.owned = 1'}));"
            "document.body.setAttribute('onclick', 'window.owned = 1'); document.body.click();"
        )
        page.wait_for("true")
        time.sleep(0.2)
        assert page.evaluate("window.owned") is None, path
        assert any("Content Security Policy" in problem for problem in page.problems), page.problems


def test_the_description_of_the_api_works_without_a_network(page: Page, collector: Client) -> None:
    page.open(f"{collector.url}/docs")
    assert page.hosts() == {collector.url.removeprefix("http://")}
    addresses = page.texts("section.route h2 code")
    assert "/api/v1/runs/{run_id}" in addresses
    assert "/v1/traces" in addresses
    page.evaluate("[...document.querySelectorAll('details')].forEach(d => d.open = true)")
    bodies = page.texts("details summary")
    assert sum(text.startswith("Body") for text in bodies) >= 10
    assert '"case-1"' in page.text("main")
    assert page.problems == []


def test_a_run_of_very_many_calls_opens_with_a_part_of_them(page: Page, collector: Client) -> None:
    """The rest is summed up; links lead from part to part, and from a finding to its call."""
    run = new_id()
    collector.http.put("/api/v1/policies/rules", content=NEVER)
    collector.send(
        agent_request(run, ["pay" if at == 720 else ("look", "search")[at % 2] for at in range(1000)])
    )
    collector.judged(run)
    page.open(f"{collector.url}/runs/{run}")
    assert len(page.texts("tr[id^=call-]")) == 200
    assert page.text(".rest") == "The 800 others: search 400, look 399, pay 1."
    page.click(".findings .where a")
    page.wait_for("location.search === '?calls=720' && document.readyState === 'complete'")
    assert page.evaluate("document.querySelector('#call-720').getBoundingClientRect().top < innerHeight")
    assert page.texts(".window a") == ["Earlier calls", "Later calls"]
    page.click(".window a:last-child")
    page.wait_for("location.search === '?calls=720&part=4' && document.readyState === 'complete'")
    assert page.problems == []


def test_like_neighbours_of_a_long_run_are_one_line_until_they_are_asked_for(
    page: Page, collector: Client
) -> None:
    run = new_id()
    collector.http.put("/api/v1/policies/rules", content=NEVER)
    calls = [{"name": "search", "error": "no" if at in (5, 6) else None} for at in range(120)]
    collector.send(agent_request(run, [*calls, "pay", *(["look"] * 90)]))
    collector.judged(run)
    page.open(f"{collector.url}/runs/{run}")
    assert page.texts(".calls tbody .num:first-child") == ["0-4", "5", "6", "7-119", "120", "121-210"]
    assert page.texts(".fold .tag") == ["5 calls", "113 calls", "90 calls"]
    page.click(".fold .values a")
    page.wait_for("location.search === '?calls=0' && document.readyState === 'complete'")
    assert page.texts(".calls tbody .num:first-child")[:6] == ["0", "1", "2", "3", "4", "5"]
    assert page.texts(".fold .tag") == ["113 calls", "90 calls"]
    assert page.problems == []


def nested_run(collector: Client) -> str:
    """A desk asks a model and delegates to a booker, who asks one too; all say hostile things."""

    def told(role: str, text: str) -> dict[str, object]:
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    def span(
        number: int, parent: int | None, first: int, last: int, kind: str, **at: object
    ) -> dict[str, object]:
        own = {
            "gen_ai.operation.name": kind,
            **{f"gen_ai.{name.replace('_', '.')}": said for name, said in at.items()},
        }
        return {
            "trace": run, "id": number, "parent": parent, "name": kind,
            "start": T0 + first * MS, "end": T0 + last * MS, "at": own,
        }  # fmt: skip

    def asked(*said: dict[str, object]) -> str:
        return json.dumps(said)

    run = new_id()
    request_text, answer = told("user", f"Book a seat {HOSTILE}"), told("assistant", f"Let me see {HOSTILE}")
    spans = [
        span(1, None, 0, 100, "invoke_agent", agent_name="desk"),
        span(
            2,
            1,
            1,
            9,
            "chat",
            request_model="m-1",
            input_messages=asked(request_text),
            output_messages=asked(answer),
        ),
        span(3, 1, 10, 80, "execute_tool", tool_name="delegate", tool_call_id="c1"),
        span(4, 3, 11, 79, "invoke_agent", agent_name="booker"),
        span(5, 4, 12, 20, "chat", request_model="m-2", input_messages=asked(told("user", "Seat 4?"))),
        span(6, 4, 30, 40, "execute_tool", tool_name="reserve", tool_call_id="c2"),
        span(
            7,
            1,
            81,
            90,
            "chat",
            request_model="m-1",
            input_messages=asked(request_text, answer, told("user", "And now?")),
        ),
    ]
    spans[1]["at"]["gen_ai.usage.input_tokens"] = 120  # type: ignore[index]
    collector.send(request(*spans, scope="opentelemetry.instrumentation.any").SerializeToString())
    collector.judged(run)
    return run


def test_agents_inside_agents_and_what_models_were_told_are_shown_where_they_stood(
    page: Page, collector: Client
) -> None:
    run = nested_run(collector)
    page.open(f"{collector.url}/runs/{run}")
    names = (
        "[...document.querySelectorAll('.calls .tool')].map("
        "cell => cell.className.at(-1) + ' ' + cell.querySelector('.name').innerText)"
    )
    assert page.evaluate(names) == ["0 m-1", "0 delegate", "1 booker", "2 m-2", "2 reserve", "0 m-1"]
    assert page.texts(".calls .agent .tag") == ["agent"]
    assert "120 → ? tokens" in page.text(".calls .model summary")
    page.evaluate("[...document.querySelectorAll('details')].forEach(d => d.open = true)")
    given = page.texts(".calls .model dt")
    assert given == ["User", "Said", "Span", "User", "Span", "User", "Span"]
    assert f"Book a seat {HOSTILE}" in page.text(".calls .model pre")
    assert page.texts(".calls .model:last-child pre") == ["And now?"]
    assert page.evaluate("document.title") != "owned"
    wide = "document.querySelector('.calls .model .values').getBoundingClientRect().width"
    assert page.evaluate(wide) > 0.9 * page.evaluate(
        "document.querySelector('.calls').getBoundingClientRect().width"
    )
    assert page.problems == []


def test_what_must_come_first_is_drawn_with_the_broken_order(page: Page, collector: Client) -> None:
    page.open(f"{collector.url}/runs/{failed_run(collector)}")
    drawn = "[...document.querySelectorAll('.picture.graph .edge')].map(e => e.getAttribute('class'))"
    assert page.evaluate(drawn) == ["edge", "edge broken"]
    assert page.evaluate("document.querySelector('.picture.graph .number').textContent") == "1"
    page.click("section[aria-labelledby=orders] summary")
    assert page.texts("section[aria-labelledby=orders] td:last-child") == ["kept", "broken"]


def test_an_open_page_of_a_live_run_asks_for_little_until_there_is_news(
    page: Page, collector: Client
) -> None:
    run = new_id()
    first, second, end = agent_spans(run, ["search", "pay"])
    collector.send(request(first).SerializeToString())
    collector.judged(run, complete=False)
    address = f"{collector.url}/runs/{run}"
    page.open(address)
    page.requests.clear()
    page.wait_for("performance.getEntriesByName(location.href + '/state').length >= 2", seconds=15)
    assert address not in page.requests
    collector.send(request(second, end).SerializeToString())
    page.wait_for("document.querySelectorAll('tr[id^=call-]').length === 2", seconds=15)
    assert page.problems == []


def test_a_page_that_waits_for_its_reader_says_so(page: Page, collector: Client) -> None:
    first, *_ = agent_spans(new_id(), ["search", "pay"])
    collector.send(request(first).SerializeToString())
    eventually(lambda: collector.get("/runs")["items"])
    page.open(f"{collector.url}/runs")
    page.evaluate("document.querySelector('#live a').focus()")
    page.wait_for("(document.getElementById('waits') || {}).textContent", seconds=15)
    assert page.text("#waits").startswith("Updates wait while something here is open, selected or has the")
    page.evaluate("document.activeElement.blur()")
    page.wait_for("!document.getElementById('waits').textContent", seconds=15)
    assert page.problems == []


SHAPES = """\
policies:
  - {id: shape, behaviour: pass}
  - {id: tools, behaviour: (until do_a do_b)}
  - id: asked
    guard: {calls: do_a, check: "true"}
"""


def test_a_run_shows_the_diagrams_of_the_specifications_that_judged_it(page: Page, collector: Client) -> None:
    collector.post("/policies", {"name": "shapes", "text": SHAPES})
    run = new_id()
    collector.send(agent_request(run, ["do_a", "do_c"]))
    collector.judged(run)
    page.open(f"{collector.url}/runs/{run}")
    assert page.texts(".diagram details:not(.as-table) > summary") == [
        "State diagram of shape", "State diagram of tools",
    ]  # fmt: skip
    assert page.evaluate(
        "[...document.querySelectorAll('.diagram details:not(.as-table)')].map(d => d.open)"
    ) == [False, True]
    table = page.evaluate("[...document.querySelectorAll('.as-table')].map(t => t.textContent)")
    assert ["May be followed by" in text for text in table] == [True, True]
    assert "Sum" in table[0]
    assert "do_b" in table[1]
    page.click(".diagram summary")
    drawn = "[...document.querySelectorAll('.diagram img')].map(i => i.complete && i.naturalWidth > 100)"
    page.wait_for(f"{drawn}.every(Boolean)")
    page.width(390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    src = page.evaluate("document.querySelector('.diagram img').src")
    svg = collector.http.get(src)
    assert svg.headers["content-type"] == "image/svg+xml"
    assert ">Sum</text>" in svg.text
    assert page.problems == []
    for wrong in ("policy=asked", "policy=nothing", "policy=shape&version=7"):
        asked = f"/diagram?file=shapes&version=1&{wrong}"
        assert collector.http.get(f"{collector.url}{asked}").status_code == 404
