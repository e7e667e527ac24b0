"""What every page costs with 57,000 runs of 1,000,000 spans in the store, alone and beside 2,000 spans/s.

    python tests/benchmarks/bench_scale.py [--runs 57000] [--asks 20] [--seconds 20] [--keep FILE]

Some hundred runs are sent and judged; copies of their rows, over seven days, fill the store. Each page is
asked `asks` times: CPU time of the serving process alone, then by the clock while spans come in; what the
collector would remember is asked under a new address each time. Last, a run of 500 and one of 5,000 calls.
Exits 1 where a gate on CPU time is missed, and tells p95 by the clock, which other programs disturb.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from bench_million import renamed
from ingest_load import START, TOOLS, Request, Span, blob, encoded, requests
from servers import PROTOBUF, collector, judged, percentile, post, send

from collector.store import counts, open_store

LISTS, SHORT_RUN, LONG_RUN = 200.0, 100.0, 400.0
"""Gates, ms at the 95th percentile."""
LONGEST = 10.0
"""Seconds after which nobody waits for a page any more."""
SLOWER = 2.0
"""How many times as long the slowest hundredth of requests may take while pages are read."""
TEMPLATE = 400
DAYS = 7
POLICY = """\
actions: {search: search_flights, book: book_hotel, mail: send_email, sql: sql_query, read: read_file}
policies:
  - {id: search-first, rule: Search must happen before book., text: Search before you book.}
  - {id: few-mails, rule: Mail must happen at most 3 times.}
  - {id: sql-before-mail, rule: Sql must happen before mail.}
  - {id: no-read, rule: Read must never happen.}
"""
SPAWN = get_context("spawn")
HOUR = 3600.0


def filled(folder: Path, runs: int) -> None:
    """A store of so many runs."""
    some = min(runs, TEMPLATE)
    with collector(folder, POLICY) as (_pid, port):
        send(port, list(requests(some, seed=5)))
        judged(port, some)
    file = folder / "store.db"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        copied(db, -(-runs // some))
    store = open_store(f"sqlite:///{file}")
    counts.set_right(store)
    store.close()


def copied(db: sqlite3.Connection, times: int) -> None:
    """So many of each run, over seven days, by five versions, with what hangs on them."""
    step = db.execute("SELECT max(id) FROM runs").fetchone()[0]
    now, apart = time.time(), DAYS * 24 * HOUR / (times * step)
    key = "printf('%08x', {n} + 1) || substr({name}, 9)"
    own = {
        "runs": {
            "id": "id + {n} * {step}", "key": key.format(n="{n}", name="key"),
            "release": "'1.' || ((id + {n}) % 5)", "model": "'model-' || (id % 3)",
            "title": "'Refund order ' || (id * 7 + {n}) || case when id % 9 then '' else ' in Seattle' end",
            "first_seen": f"{now} - ({{n}} * {{step}} + id) * {apart}",
            "last_seen": f"{now} - ({{n}} * {{step}} + id) * {apart} + 1",
        },
        "segments": {"id": "NULL", "run": "run + {n} * {step}"},
        "verdicts": {"id": "NULL", "run": "run + {n} * {step}"},
        "findings": {"id": "NULL", "run": "run + {n} * {step}"},
        "run_tools": {"run": "run + {n} * {step}"},
        "policy_results": {"run": "run + {n} * {step}"},
        "run_traces": {"run": "run + {n} * {step}", "trace_id": key.format(n="{n}", name="trace_id")},
    }  # fmt: skip
    db.execute("BEGIN")
    for table, changed in own.items():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        quoted = ", ".join(f'"{name}"' for name in columns)
        for n in range(1, times):
            picked = ", ".join(changed.get(name, f'"{name}"') for name in columns).format(n=n, step=step)
            kept = "id" if table == "runs" else "run"
            db.execute(f"INSERT INTO {table} ({quoted}) SELECT {picked} FROM {table} WHERE {kept} <= {step}")
    db.execute(
        f"UPDATE runs SET release = '1.' || (id % 5), first_seen = {now} - id * {apart} WHERE id <= {step}"
    )
    db.execute("COMMIT")


def long_run(calls: int) -> tuple[str, list[bytes]]:
    """A run of so many calls, a model asked before each second one: (id, requests)."""
    dice = random.Random(calls)
    root, trace, at, spans = dice.randbytes(8), dice.randbytes(16), START, list[Span]()
    for number in range(calls):
        tool = dice.choice(("search_flights", "book_hotel", *TOOLS))
        if number % 2 == 0:
            said = [{"role": "assistant", "parts": [{"type": "text", "content": blob(dice)}]}]
            chat = {
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                "gen_ai.output.messages": json.dumps(said),
            }  # fmt: skip
            spans.append((dice.randbytes(8), root, "chat m", at, at + 800_000_000, chat))
            at += 800_000_000
        call = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call_{number}", "gen_ai.tool.call.arguments": blob(dice),
            "gen_ai.tool.call.result": blob(dice),
        }  # fmt: skip
        spans.append((dice.randbytes(8), root, f"execute_tool {tool}", at, at + 50_000_000, call))
        at += 50_000_000
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "long", "pdoctor.run.calls": calls}
    spans.append((root, b"", "invoke_agent long", START, at, agent))
    return trace.hex(), [encoded([(trace, spans[at : at + 1000])]) for at in range(0, len(spans), 1000)]


def pages(keys: Sequence[str]) -> dict[str, Callable[[int], str]]:
    """Name -> address of its `n`-th asking."""
    now = time.time()

    def stamp(n: int, hours: float) -> str:
        return datetime.fromtimestamp(now - hours * HOUR - n, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def search(line: str) -> Callable[[int], str]:
        return lambda n: f"/runs?q={quote_plus(f'{line} since:{stamp(n, 24 * DAYS)}'.strip())}"

    def plain(address: str) -> Callable[[int], str]:
        return lambda n: address

    def ranged(hours: float, path: str = "/") -> Callable[[int], str]:
        return lambda n: f"{path}?since={stamp(n, hours)}&until={stamp(n, 0)}"

    searches = (
        "outcome:fail", "agent:agent-3", "version:1.4", "tool:sql_query", "tool:sql_*", "rule:search-first",
        "policy:few-mails", "seattle", "nowhere", "agent:agent-3 outcome:fail seattle", "model:model-1",
        "outcome:fail agent:nobody",
    )  # fmt: skip
    return {
        "overview": plain("/"),
        "overview, 1 h, new each time": ranged(1),
        "overview, 24 h, new each time": ranged(24),
        "overview, 7 d, new each time": ranged(24 * DAYS),
        "runs": plain("/runs"),
        **{f"runs {line}": search(line) for line in searches},
        **{f"runs by {by}": plain(f"/runs?sort={by}") for by in ("duration", "calls", "tokens", "findings")},
        "findings": plain("/findings"),
        "findings, 7 d": plain("/findings?last=7d&state=all"),
        "findings of an agent": lambda n: f"/findings?last=7d&agent=agent-{n % 17}",
        "policies": plain("/policies"),
        "compare versions": lambda n: f"/compare?by=version&a=1.{n % 5}&b=1.{(n + 1 + n // 5 % 4) % 5}",
        "compare runs": lambda n: f"/compare?a={keys[n % len(keys)]}&b={keys[(n + 1) % len(keys)]}",
        "metrics": plain("/metrics-explorer"),
        "cases": plain("/cases"),
        "campaigns": plain("/campaigns"),
        "alerts": plain("/alerts"),
        "settings": plain("/settings"),
        "setup": plain("/setup"),
        "a run": lambda n: f"/runs/{keys[n % len(keys)]}",
        "API: runs": plain("/api/v1/runs?outcome=fail"),
        "API: findings": plain("/api/v1/findings"),
        "API: groups of findings": plain("/api/v1/findings/groups"),
        "API: stats": plain("/api/v1/stats"),
        "/metrics": plain("/metrics"),
    }


def cpu_ms(pid: int) -> float:
    """Of all threads of a process, without its children."""
    total = 0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(file.read_text().split()[0])
    return total / 1e6


class Reader:
    """One browser."""

    def __init__(self, port: int) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)

    def ask(self, path: str) -> tuple[float, int]:
        """(ms, status) of one page; an idle connection is opened again before."""
        self.http.close()
        self.http.connect()
        began = time.perf_counter()
        self.http.request("GET", path)
        answer = self.http.getresponse()
        answer.read()
        return (time.perf_counter() - began) * 1e3, answer.status


def costs(pid: int, reader: Reader, asks: int, address: Callable[[int], str], first: int) -> dict[str, Any]:
    cpu, clock = [], []
    for n in range(first, first + asks):
        before = cpu_ms(pid)
        try:
            took, status = reader.ask(address(n))
        except TimeoutError:
            return {"status": f"none within {LONGEST:g} s"}
        cpu.append(cpu_ms(pid) - before)
        clock.append(took)
        if status != 200:
            return {"status": status}
    return {"cpu": cpu, "clock": clock}


def sending(port: int, rate: float, ends: float, took: Any) -> None:
    """Post runs of spans at a steady rate until `ends`, one at least; how long each took goes to `took`."""
    load = list(requests(200, seed=9, spans=64))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found, due, turn = [], time.monotonic(), os.getpid() << 8
    while not found or time.monotonic() < ends:
        turn += 1
        for item in load:
            item = renamed(item, turn & 0xFFFFFFFF)
            time.sleep(max(0.0, due - time.monotonic()))
            began = time.perf_counter()
            while post(connection, item.body, PROTOBUF) != 200:
                time.sleep(0.05)
            found.append((time.perf_counter() - began, item.spans))
            due = max(due + item.spans / rate, time.monotonic() - 1.0)
            if time.monotonic() >= ends:
                break
    took.put(found)


@contextlib.contextmanager
def ingest(port: int, rate: float, seconds: float) -> Iterator[dict[str, float]]:
    """Spans come in during the block and at least so long; tells spans/s and the slowest hundredth."""
    said: dict[str, float] = {}
    queue, began = SPAWN.Queue(), time.monotonic()
    process = SPAWN.Process(target=sending, args=(port, rate, began + seconds, queue))
    process.start()
    yield said
    found = queue.get()
    process.join()
    said["p50"] = percentile([one for one, _ in found], 0.5) * 1e3
    said["p99"] = percentile([one for one, _ in found], 0.99) * 1e3
    said["spans/s"] = sum(spans for _, spans in found) / (time.monotonic() - began)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=57_000, help="in the store")
    options.add_argument("--asks", type=int, default=20, help="of each page")
    options.add_argument("--rate", type=float, default=2_000.0, help="spans a second")
    options.add_argument("--seconds", type=float, default=20.0, help="of spans without pages")
    options.add_argument("--only", default="", help="pages whose name has this in it")
    options.add_argument("--keep", type=Path, help="a filled store: made where it is missing, else used")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        began = time.monotonic()
        if chosen.keep is not None and chosen.keep.exists():
            shutil.copy(chosen.keep, folder / "store.db")
        else:
            filled(folder, chosen.runs)
            if chosen.keep is not None:
                shutil.copy(folder / "store.db", chosen.keep)
        with collector(folder, POLICY) as (pid, port):
            stored = json.loads(get(port, "/api/v1/stats"))
            keys = [one["id"] for one in json.loads(get(port, "/api/v1/runs?limit=200"))["items"]][50:150]
            took, load = time.monotonic() - began, os.getloadavg()[0]
            filling = (
                f"{stored['runs']:,} runs, {stored['spans']:,} spans, {took:.0f} s to fill, load {load:.1f}"
            )
            print(filling, file=sys.stderr, flush=True)
            asked = {name: of for name, of in pages(keys).items() if chosen.only in name}
            gates = dict.fromkeys(asked, LISTS)
            for calls, gate in ((500, SHORT_RUN), (5_000, LONG_RUN)):
                run, bodies = long_run(calls)
                send(port, [Request(body, (run,), 0) for body in bodies], connections=1)
                name = f"a run of {calls:,} calls"
                if chosen.only in name:
                    asked[name], gates[name] = lambda n, run=run: f"/runs/{run}", gate
            judged(port, stored["runs"] + 2)
            failed = table(pid, port, asked, gates, chosen)
    sys.exit(failed)


def get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    return connection.getresponse().read()


def table(pid: int, port: int, asked: Any, gates: Any, chosen: argparse.Namespace) -> bool:
    """Print what was measured; whether a gate was missed."""
    reader, failed = Reader(port), False
    alone: dict[str, Any] = {}
    for name, of in asked.items():
        alone[name] = costs(pid, reader, chosen.asks, of, 1)
        said = pair(alone[name]["cpu"]) if "cpu" in alone[name] else f"status {alone[name]['status']}"
        print(f"{name}: {said}", file=sys.stderr, flush=True)
    with ingest(port, chosen.rate, chosen.seconds) as without:
        time.sleep(chosen.seconds)
    beside: dict[str, Any] = {}
    seconds = max(chosen.seconds, 2 * sum(sum(one.get("clock", ())) for one in alone.values()) / 1e3)
    with ingest(port, chosen.rate, seconds) as within:
        for name, of in asked.items():
            if "status" in alone[name]:
                continue
            beside[name] = costs(pid, reader, chosen.asks, of, 1_000)
    print("| page | gate, ms | CPU p50 / p95 | clock p50 / p95 | the same while spans come in |")
    print("|---|---|---|---|---|")
    for name, one in alone.items():
        if "status" in one:
            failed = True
            print(f"| {name} | | status {one['status']} | | |")
            continue
        cells = [pair(one["cpu"]), pair(one["clock"]), pair(beside[name].get("clock", [0.0]))]
        missed = percentile(one["cpu"], 0.95) > gates[name]
        failed |= missed
        print(
            f"| {name} | {gates[name]:.0f}{': missed' if missed else ''} | {' | '.join(cells)} |", flush=True
        )
    for name, said in (("alone", without), ("beside pages", within)):
        rate = f"{said['spans/s']:,.0f} a second"
        print(f"spans {name}: {rate}, p50 {said['p50']:.1f} ms, p99 {said['p99']:.1f} ms")
    times, load = within["p99"] / without["p99"], os.getloadavg()[0]
    print(f"p99 of receiving: {times:.2f} times (gate {SLOWER:g}); load {load:.1f}")
    return failed


def pair(values: Sequence[float]) -> str:
    return f"{percentile(values, 0.5):.1f} / {percentile(values, 0.95):.1f}"


if __name__ == "__main__":
    main()
