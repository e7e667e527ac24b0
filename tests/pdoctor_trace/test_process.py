"""Whole processes: import cost, exit, signals, forks, worker processes, zero-code start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.real_collector import collector
from tests.support.sink import OtlpSink

TWO_CALLS = """
import pdoctor_trace
@pdoctor_trace.tool
def add(a, b):
    return a + b
with pdoctor_trace.run(query="q"):
    add(1, 2)
    add(3, 4)
"""


FORKS = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}
"""From Python 3.12 on, `os.fork` warns where there is any thread, such as one that exports spans."""


def python(
    code: str, *, endpoint: str = "http://127.0.0.1:9", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PDOCTOR_ENDPOINT": endpoint, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def receiver():
    with OtlpSink() as server:
        yield server


def test_importing_loads_no_framework_no_opentelemetry_and_no_network() -> None:
    code = "import sys, pdoctor_trace; print(' '.join(sys.modules))"
    loaded = set(python(code).stdout.split())
    heavy = {
        "langchain_core",
        "langgraph",
        "openai",
        "pydantic",
        "opentelemetry",
        "asyncio",
        "http.client",
        "ssl",
        "orjson",
        "wrapt",
        "pdoctor_trace.runs",
    }
    assert loaded & heavy == set()
    assert "pdoctor_trace.boot" in loaded


FORKED = (
    "if os.fork() == 0:\n    pdoctor_trace.run\nelse:\n    assert os.wait()[1] == 0\n    pdoctor_trace.case"
)
THREAD = """
thread = threading.Thread(target=lambda: __import__("smolagents"))
thread.start()
thread.join()
assert pdoctor_trace.status()["frameworks"]["smolagents"] == "awake"
"""


@pytest.fixture
def framework(tmp_path: Path) -> str:
    """PYTHONPATH with an empty package of a framework's name."""
    (tmp_path / "smolagents.py").write_text("")
    return f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"


@pytest.mark.parametrize(
    ("use", "on"),
    [("pdoctor_trace.tool", True), (THREAD, True), (FORKED, True), ("pdoctor_trace.uninstall()", False)],
)
def test_what_is_loaded_late_is_there_when_it_is_needed(framework: str, use: str, on: bool) -> None:
    """By any public name, by an import of a framework in a thread, and in a child of a fork."""
    code = f"""
import os, sys, threading, pdoctor_trace, types
assert "pdoctor_trace.installation" not in sys.modules
{use}
assert "pdoctor_trace.installation" in sys.modules
assert pdoctor_trace.status()["installed"] is {on}
"""
    done = python(code, PYTHONPATH=framework)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_instrumentor_that_is_turned_off_waits_for_nothing(framework: str) -> None:
    code = """
import pdoctor_trace.instrumentor as ours, sys
ours.PDoctorInstrumentor().uninstrument()
import smolagents
print("pdoctor_trace.installation" in sys.modules)
"""
    done = python(code, PYTHONPATH=framework)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_what_cannot_be_loaded_is_told_and_the_program_goes_on(framework: str, tmp_path: Path) -> None:
    (tmp_path / "orjson.py").write_text("raise ImportError('built for another Python')")
    code = "import pdoctor_trace, smolagents; print(hasattr(pdoctor_trace, 'run'))"
    done = python(code, PYTHONPATH=framework)
    assert (done.returncode, done.stdout.strip()) == (0, "False")
    assert "this program is not traced" in done.stderr
    assert "built for another Python" in done.stderr


def test_disabling_by_variable_installs_nothing() -> None:
    code = "import pdoctor_trace as p; print(p.status()['installed'], len(p.status()['frameworks']))"
    assert python(code, PDOCTOR_TRACE_DISABLED="1").stdout.split() == ["False", "0"]
    assert python(code, OTEL_SDK_DISABLED="true").stdout.split() == ["False", "0"]
    assert python(code, OTEL_SDK_DISABLED="true", PDOCTOR_TRACE_DISABLED="0").stdout.split()[0] == "True"


def test_spans_are_delivered_at_exit(receiver: OtlpSink) -> None:
    done = python(TWO_CALLS, endpoint=receiver.url, PDOCTOR_BATCH_DELAY="30")
    assert (done.returncode, done.stderr) == (0, "")
    assert [call.result for call in receiver.calls] == [3, 7]
    assert receiver.runs[0]["pdoctor.run.calls"] == 2


def test_exit_is_not_held_up_where_no_collector_runs() -> None:
    start = time.monotonic()
    done = python(TWO_CALLS)
    assert done.returncode == 0
    assert "3 span(s) were not delivered" in done.stderr
    assert time.monotonic() - start < 8


def test_sigterm_flushes_and_still_kills(receiver: OtlpSink) -> None:
    code = TWO_CALLS + "print('ready', flush=True)\nimport time\ntime.sleep(60)"
    environment = {**os.environ, "PDOCTOR_ENDPOINT": receiver.url, "PDOCTOR_BATCH_DELAY": "30"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
    assert len(receiver.calls) == 2


def test_a_program_may_keep_sigterm_as_it_is(receiver: OtlpSink) -> None:
    code = "import signal, pdoctor_trace\nprint(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    assert python(code, endpoint=receiver.url).stdout.strip() == "False"
    done = python(code, endpoint=receiver.url, PDOCTOR_SIGTERM_FLUSH="false")
    assert done.stdout.strip() == "True"


def test_a_handler_of_the_host_stays_in_charge(receiver: OtlpSink) -> None:
    code = "import signal\nsignal.signal(signal.SIGTERM, print)\n" + TWO_CALLS
    done = python(code + "print(signal.getsignal(signal.SIGTERM) is print)", endpoint=receiver.url)
    assert done.stdout.strip() == "True"


def test_a_forked_child_delivers_its_own_spans_and_only_those(receiver: OtlpSink) -> None:
    code = (
        TWO_CALLS
        + """
import os
pid = os.fork()
with pdoctor_trace.run(query="child" if pid == 0 else "parent"):
    add(pid == 0, 10)
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    )
    done = python(code, endpoint=receiver.url, PDOCTOR_BATCH_DELAY="0.5", **FORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(call.result for call in receiver.calls) == [3, 7, 10, 11]
    assert len({span.span_id for span in receiver.spans}) == len(receiver.spans) == 7
    assert len({span.resource["process.pid"] for span in receiver.spans}) == 2


def test_worker_processes_of_multiprocessing_deliver(receiver: OtlpSink, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        """
import multiprocessing, pdoctor_trace
@pdoctor_trace.tool
def add(a, b):
    return a + b
def work(n):
    return add(n, n)
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, range(4), chunksize=1) == [0, 2, 4, 6]
            pool.close()
            pool.join()
"""
    )
    environment = {**os.environ, "PDOCTOR_ENDPOINT": receiver.url}
    subprocess.run([sys.executable, "-W", "ignore", str(script)], env=environment, check=True, timeout=60)
    assert sorted(call.result for call in receiver.calls) == [0, 0, 2, 2, 4, 4, 6, 6]


def pdoctor(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("pdoctor"))
    return subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


AGENT = """
import sys, subprocess
assert "pdoctor_trace" in sys.modules
import pdoctor_trace
@pdoctor_trace.tool
def add(a, b):
    return a + b
add(1, 2)
if sys.argv[1:] == ["parent"]:
    subprocess.run([sys.executable, __file__], check=True)
    sys.exit(7)
"""


@pytest.mark.parametrize("command", [["python", "agent.py"], ["agent.py"], ["-m", "agent"]])
def test_pdoctor_run_instruments_any_program_and_its_children(
    receiver: OtlpSink, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    done = pdoctor("run", "--endpoint", receiver.url, "--", *command, "parent", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (7, "")
    assert [call.result for call in receiver.calls] == [3, 3]


def test_pdoctor_run_keeps_other_start_up_hooks_and_the_path(receiver: OtlpSink, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.hidden_hook_ran = True")
    code = (
        "import sys, json; print(json.dumps([sys.hidden_hook_ran, 'pdoctor_trace' in sys.modules, sys.path]))"
    )
    done = pdoctor(
        "run", "--endpoint", receiver.url, "--", "python", "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    ran, traced, path = json.loads(done.stdout)
    assert (ran, traced) == (True, True)
    assert not any(entry.endswith("startup") for entry in path)
    assert str(tmp_path) in path


def test_pdoctor_run_without_a_command_or_with_an_unknown_one_is_a_usage_error(tmp_path: Path) -> None:
    assert pdoctor("run", cwd=tmp_path).returncode == 2
    missing = pdoctor("run", "--", "no-such-program-anywhere", cwd=tmp_path)
    assert missing.returncode == 2
    assert "no-such-program-anywhere" in missing.stderr


def test_pdoctor_help_version_and_unknown_verbs(tmp_path: Path) -> None:
    assert "run any Python program instrumented" in pdoctor("--help", cwd=tmp_path).stdout
    assert pdoctor("--version", cwd=tmp_path).stdout.startswith("pdoctor ")
    unknown = pdoctor("fly", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "'fly'" in unknown.stderr


def test_pdoctor_status_says_whether_the_collector_answers(tmp_path: Path) -> None:
    done = pdoctor("status", "--json", cwd=tmp_path, PDOCTOR_ENDPOINT="http://127.0.0.1:9")
    report = json.loads(done.stdout)
    assert done.returncode == 2
    assert report["collector"]["reachable"] is False
    assert {"langchain", "openai", "anthropic", "mcp"} <= {row["name"] for row in report["frameworks"]}
    assert all(row["supported"] for row in report["frameworks"])
    secret = pdoctor("status", "--json", cwd=tmp_path, PDOCTOR_API_KEY="pdk_secret")
    assert "pdk_secret" not in secret.stdout + secret.stderr


def test_pdoctor_status_finds_a_running_collector(receiver: OtlpSink, tmp_path: Path) -> None:
    done = pdoctor("status", cwd=tmp_path, PDOCTOR_ENDPOINT=receiver.url)
    assert done.returncode in (0, 2)
    assert receiver.url in done.stdout
    assert "langchain" in done.stdout


MAKE_ONE = "pdoctor keys create --scope ingest"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory):
    """A collector that wants keys: its address, a key that may send, one that may only look."""
    folder = tmp_path_factory.mktemp("keyed")
    store = f"sqlite:///{folder / 'store.db'}"
    ingest, read = (
        pdoctor("keys", "create", "--store", store, "--scope", scope, cwd=folder).stdout.strip()
        for scope in ("ingest", "read")
    )
    with collector(folder / "store.db") as started:
        yield started.url, ingest, read


def test_pdoctor_status_says_that_a_key_is_taken_or_not_needed(keyed, tmp_path: Path) -> None:
    url, ingest, _ = keyed
    done = pdoctor("status", cwd=tmp_path, PDOCTOR_ENDPOINT=url, PDOCTOR_API_KEY=ingest)
    assert (done.returncode, done.stderr) == (0, "")
    assert "API key     taken" in done.stdout
    with collector(tmp_path / "open.db") as unlocked:
        told = pdoctor("status", "--json", cwd=tmp_path, PDOCTOR_ENDPOINT=unlocked.url)
        assert unlocked.get("stats")["spans"] == 0, "the question itself must leave nothing"
    assert told.returncode == 0
    assert json.loads(told.stdout)["collector"]["key"] == "not needed"


@pytest.mark.parametrize(
    ("which", "key", "said"),
    [
        ("none", "missing", "HTTP 401: it wants an API key, and PDOCTOR_API_KEY is not set"),
        ("wrong", "refused", "HTTP 401: it does not know the API key in PDOCTOR_API_KEY"),
        ("read", "refused", "HTTP 403: the API key in PDOCTOR_API_KEY may not send spans"),
    ],
)
def test_pdoctor_status_and_the_tracer_name_the_variable_of_a_key_that_will_not_do(
    keyed, tmp_path: Path, which: str, key: str, said: str
) -> None:
    url, _, read = keyed
    given = {"none": "", "wrong": "pdk_wrong", "read": read}[which]
    environment = {"PDOCTOR_ENDPOINT": url, "PDOCTOR_API_KEY": given}
    plain = pdoctor("status", cwd=tmp_path, **environment)
    told = pdoctor("status", "--json", cwd=tmp_path, **environment)
    assert (plain.returncode, told.returncode) == (2, 2)
    assert said in plain.stdout
    assert MAKE_ONE in plain.stdout
    found = json.loads(told.stdout)["collector"]
    assert (found["reachable"], found["key"]) == (True, key)
    assert found["problem"].startswith(said)
    agent = python(TWO_CALLS, endpoint=url, PDOCTOR_API_KEY=given)
    assert said in agent.stderr
    assert MAKE_ONE in agent.stderr
    assert "these spans are lost" in agent.stderr
    shown = plain.stdout + plain.stderr + told.stdout + told.stderr + agent.stderr
    assert not given or given not in shown


@pytest.mark.parametrize("given", ["pdk_secret\nX-Other: 1", "pdk_\rsecret", "pdk_\x07secret", "pdk_sécret"])
def test_a_key_that_no_header_can_hold_is_refused_and_shown_nowhere(
    receiver: OtlpSink, tmp_path: Path, given: str
) -> None:
    environment = {"PDOCTOR_ENDPOINT": receiver.url, "PDOCTOR_API_KEY": given}
    plain = pdoctor("status", cwd=tmp_path, **environment)
    told = pdoctor("status", "--json", cwd=tmp_path, **environment)
    agent = python(TWO_CALLS, endpoint=receiver.url, PDOCTOR_API_KEY=given)
    said = "PDOCTOR_API_KEY is ignored: the key holds a line break"
    assert said in plain.stdout
    assert json.loads(told.stdout)["problems"][0].startswith(said)
    assert said in agent.stderr
    shown = plain.stdout + plain.stderr + told.stdout + told.stderr + agent.stderr
    assert "secr" not in shown
    assert {headers.get("Authorization") for headers in receiver.headers} <= {None}


def test_white_space_around_a_key_is_not_part_of_it(receiver: OtlpSink) -> None:
    done = python(TWO_CALLS, endpoint=receiver.url, PDOCTOR_API_KEY=" pdk_1\r\n")
    assert done.stderr == ""
    assert receiver.headers[0]["Authorization"] == "Bearer pdk_1"


@pytest.mark.parametrize("status", [400, 404, 405, 415])
def test_pdoctor_status_does_not_blame_the_key_for_what_another_endpoint_says(
    tmp_path: Path, status: int
) -> None:
    class Another(BaseHTTPRequestHandler):
        """Knows neither our health check nor exports without spans."""

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            self.send_error(status)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Another) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        done = pdoctor("status", "--json", cwd=tmp_path, PDOCTOR_ENDPOINT=endpoint, PDOCTOR_API_KEY="k")
        server.shutdown()
    found = json.loads(done.stdout)["collector"]
    assert (done.returncode, found["key"], found["problem"]) == (0, None, None)


def test_a_host_name_that_the_collector_does_not_answer_to_is_no_matter_of_the_key(
    keyed, tmp_path: Path
) -> None:
    url, ingest, _ = keyed
    elsewhere = url.replace("127.0.0.1", "0.0.0.0")  # leads here as well
    done = pdoctor("status", cwd=tmp_path, PDOCTOR_ENDPOINT=elsewhere, PDOCTOR_API_KEY=ingest)
    assert done.returncode == 2
    assert "HTTP 403: it does not answer to 0.0.0.0" in done.stdout
    assert "PDOCTOR_API_KEY" not in done.stdout


def test_a_forked_child_leaves_alone_what_waits_since_before_settings_changed(receiver: OtlpSink) -> None:
    code = (
        TWO_CALLS
        + """
import os, sys
pdoctor_trace.install(batch_delay=2.5)
add(10, 10)
pid = os.fork()
add(20, 20) if pid else add(30, 30)
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    )
    done = python(code, endpoint=receiver.url, PDOCTOR_BATCH_DELAY="3", **FORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(call.result for call in receiver.calls) == [3, 7, 20, 40, 60]


def test_changing_settings_again_and_again_keeps_neither_exporters_nor_threads(receiver: OtlpSink) -> None:
    code = (
        TWO_CALLS
        + """
import gc, threading
from pdoctor_trace.export import Exporter
for size in range(100, 160):
    pdoctor_trace.install(queue_size=size)
    add(size, 0)
assert pdoctor_trace.flush()
pdoctor_trace.install(queue_size=1_000)
gc.collect()
print(sum(isinstance(one, Exporter) for one in gc.get_objects()) <= 3)
"""
    )
    done = python(code, endpoint=receiver.url, PDOCTOR_BATCH_DELAY="0")
    assert (done.stdout.strip(), done.returncode) == ("True", 0)
    assert len(receiver.calls) == 62


def test_exit_takes_one_time_limit_however_often_settings_changed() -> None:
    code = (
        TWO_CALLS
        + """
import socket, time, atexit
listener = socket.create_server(("127.0.0.1", 0))
for size in range(100, 106):
    pdoctor_trace.install(queue_size=size, endpoint=f"http://127.0.0.1:{listener.getsockname()[1]}")
    add(size, 0)
start = time.monotonic()
import sys
sys.modules["pdoctor_trace.installation"].HERE.deliver_what_is_left()
print(time.monotonic() - start < 3)
"""
    )
    assert python(code, PDOCTOR_EXIT_TIMEOUT="1").stdout.strip() == "True"


@pytest.mark.parametrize("also", ["", "import multiprocessing.util"])
def test_a_process_ends_within_one_time_limit_however_often_settings_changed(also: str) -> None:
    """Each exporter's thread asked multiprocessing to end all of them: 40 times the limit."""
    code = (
        TWO_CALLS
        + f"""
{also}
import atexit, socket, time
listener = socket.create_server(("127.0.0.1", 0))
for size in range(100, 140):
    pdoctor_trace.install(queue_size=size, endpoint=f"http://127.0.0.1:{{listener.getsockname()[1]}}")
    add(size, 0)
"""
    )
    start = time.monotonic()
    done = python(code, PDOCTOR_EXIT_TIMEOUT="1")
    assert done.returncode == 0
    assert time.monotonic() - start < 15
    assert done.stderr.count("were not delivered") == 41  # the first settings had one too


def test_a_signal_never_waits_for_a_lock_that_the_interrupted_code_holds(receiver: OtlpSink) -> None:
    """The handler runs between two instructions of the main thread, which may be inside our own locks."""
    code = (
        TWO_CALLS
        + """
import os, signal
from pdoctor_trace import runtime
exporter = runtime.ACTIVE.exporter
with exporter._wake._cond, exporter._drained:
    os.kill(os.getpid(), signal.SIGTERM)
    import time
    time.sleep(30)
"""
    )
    start = time.monotonic()
    done = python(code, endpoint=receiver.url, PDOCTOR_BATCH_DELAY="30", PDOCTOR_EXIT_TIMEOUT="1")
    assert done.returncode == -signal.SIGTERM
    assert time.monotonic() - start < 10


def test_what_happens_at_exit_happens_in_worker_processes_too(receiver: OtlpSink, tmp_path: Path) -> None:
    """They run no atexit: open conversations must end with them as they do with a program."""
    script = tmp_path / "worker.py"
    script.write_text(
        """
import multiprocessing, pdoctor_trace
from pdoctor_trace import process_end
def work(n):
    pdoctor_trace.tool(lambda: n)()
    process_end.at_exit(lambda: pdoctor_trace.tool(lambda: "last")())
    pdoctor_trace.flush()
if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=work, args=(1,))
    process.start()
    process.join()
"""
    )
    environment = {**os.environ, "PDOCTOR_ENDPOINT": receiver.url}
    subprocess.run([sys.executable, "-W", "ignore", str(script)], env=environment, check=True, timeout=60)
    assert {call.result for call in receiver.calls} == {1, "last"}
