"""`pdoctor run`: any way to start a Python program, and nothing about the program changes but the tracing."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.sink import OtlpSink

SAY = "import json, sys; print(json.dumps(['pdoctor_trace' in sys.modules, sys.argv[1:], sys.stdin.read()]))"


def pdoctor_run(
    *command: str, cwd: Path, given: str = "", options: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pdoctor_trace", "run", *options, "--", *command],
        cwd=cwd,
        env={**os.environ, "PDOCTOR_ENDPOINT": "http://127.0.0.1:9", **environment},
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_module_gets_its_arguments_and_its_input(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SAY)
    done = pdoctor_run("python", "-m", "agent", "--endpoint", "x", "--", "-y", cwd=tmp_path, given="hello")
    assert json.loads(done.stdout) == [True, ["--endpoint", "x", "--", "-y"], "hello"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    "flags", [["-X", "dev"], ["-W", "error"], ["-OO"], ["-u", "-B"], ["-P"], ["-s"], ["-q"]]
)
def test_flags_of_the_interpreter_are_no_hindrance(tmp_path: Path, flags: list[str]) -> None:
    with OtlpSink() as sink:
        code = "import pdoctor_trace\npdoctor_trace.tool(lambda: 1)()"
        done = pdoctor_run("python", *flags, "-c", code, cwd=tmp_path, PDOCTOR_ENDPOINT=sink.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(sink.calls) == 1


@pytest.mark.parametrize("flags", [["-I"], ["-E"], ["-S"], ["-BIu"], ["-X", "dev", "-E"]])
def test_a_start_that_ignores_the_hook_says_so_and_runs(tmp_path: Path, flags: list[str]) -> None:
    done = pdoctor_run("python", *flags, "-c", SAY, "-I", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)[0]) == (0, False)
    assert "import pdoctor_trace" in done.stderr, "what to do instead"
    assert flags[-1] in done.stderr


def test_what_is_not_a_flag_of_the_interpreter_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SAY)
    for command in (
        ["python", "agent.py", "-I"],
        ["python", "-m", "agent", "-S"],
        ["-W", "ignore::ImportWarning", "agent.py"],
    ):
        done = pdoctor_run(*command, cwd=tmp_path)
        assert (json.loads(done.stdout)[0], done.stderr) == (True, "")


def test_a_script_with_a_first_line_and_a_program_beside_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text(f"#!{sys.executable}\n{SAY}\n")
    script.chmod(0o755)
    assert json.loads(pdoctor_run("./agent", "a", cwd=tmp_path).stdout)[:2] == [True, ["a"]]
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it():\n    assert 'pdoctor_trace' in sys.modules\n"
    )
    done = pdoctor_run("pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path, PATH="/usr/bin:/bin")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True)


def test_a_program_that_is_not_python_is_itself(tmp_path: Path) -> None:
    done = pdoctor_run("sh", "-c", "cat; echo $0 $1; exit 9", "zero", "one", cwd=tmp_path, given="in ")
    assert (done.returncode, done.stdout, done.stderr) == (9, "in zero one\n", "")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_text("no first line"), "Exec format error"),
        (lambda path: path.mkdir(), "Permission denied"),
        (lambda path: None, "No such file"),
    ],
)
def test_what_cannot_be_started_is_a_usage_error(tmp_path: Path, make: object, problem: str) -> None:
    program = tmp_path / "program"
    make(program)  # type: ignore[operator]
    if program.is_file():
        program.chmod(0o755)
    done = pdoctor_run("./program", cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr


def test_signals_and_exit_codes_are_the_programs_own(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.{}); import time; time.sleep(20)"
    for name in ("SIGKILL", "SIGTERM", "SIGHUP"):
        done = pdoctor_run("python", "-c", code.format(name), cwd=tmp_path)
        assert done.returncode == -getattr(signal, name)
    assert pdoctor_run("python", "-c", "raise SystemExit(250)", cwd=tmp_path).returncode == 250
    assert pdoctor_run("python", "-c", "1 / 0", cwd=tmp_path).returncode == 1


def test_an_interrupted_program_ends_as_it_would_without_us(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    plain = subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, capture_output=True, check=False)
    assert pdoctor_run("agent.py", cwd=tmp_path).returncode == plain.returncode


def test_other_start_up_hooks_run_as_ever_also_when_they_fail(tmp_path: Path) -> None:
    (tmp_path / "usercustomize.py").write_text("import sys; sys.user_hook = True")
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.site_hook = True; 1 / 0")
    code = "import sys; print('pdoctor_trace' in sys.modules, sys.site_hook)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    plain = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.site_hook)"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    done = pdoctor_run("python", "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "True True\n")
    assert "ZeroDivisionError" in done.stderr
    assert "ZeroDivisionError" in plain.stderr


def test_an_environment_without_the_tracer_is_told_and_runs(tmp_path: Path) -> None:
    """Another virtual environment's Python finds the hook but not the package."""
    code = "import sys; print('ran')"
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {_hook()!r}); import sitecustomize; {code}",
        ],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "cannot import pdoctor_trace" in done.stderr


def _hook() -> str:
    import pdoctor_trace.command

    return pdoctor_trace.command._STARTUP


def test_a_broken_installation_lets_the_program_run(tmp_path: Path) -> None:
    (tmp_path / "orjson.py").write_text("raise ImportError('built for another Python')")
    done = subprocess.run(
        [sys.executable, "-c", "import openai; print('ran')"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([_hook(), str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "built for another Python" in done.stderr


def test_worker_processes_of_every_kind_deliver(tmp_path: Path) -> None:
    (tmp_path / "workers.py").write_text(
        textwrap.dedent(
            """
            import multiprocessing, os, signal, sys
            from concurrent.futures import ProcessPoolExecutor
            import pdoctor_trace

            @pdoctor_trace.tool
            def add(a, b):
                return a + b

            def work(n):
                return add(n, n)

            def serve(number):
                "A worker of a pre-fork server: its own SIGTERM handler, ended by sys.exit."
                signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
                add(100, number)
                os.write(ready, b"x")
                signal.pause()

            if __name__ == "__main__":
                for method in ("fork", "forkserver"):
                    context = multiprocessing.get_context(method)
                    with ProcessPoolExecutor(2, mp_context=context) as pool:
                        assert list(pool.map(work, range(3))) == [0, 2, 4]
                reading, ready = os.pipe()
                workers = []
                for number in range(2):
                    pid = os.fork()
                    if not pid:
                        serve(number)
                    workers.append(pid)
                for pid in workers:
                    os.read(reading, 1)
                for pid in workers:
                    os.kill(pid, signal.SIGTERM)
                    assert os.waitpid(pid, 0)[1] == 0
            """
        )
    )
    with OtlpSink() as sink:
        told = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning", "PDOCTOR_BATCH_DELAY": "0.5"}
        done = pdoctor_run("workers.py", cwd=tmp_path, PDOCTOR_ENDPOINT=sink.url, **told)
        assert (done.returncode, done.stderr) == (0, "")
        assert sorted(call.result for call in sink.calls) == sorted([0, 2, 4, 0, 2, 4, 100, 101])


# -- cost


def cpu(*command: str, **environment: str) -> float:
    before = spent()
    subprocess.run([sys.executable, *command], env={**os.environ, **environment}, check=True, timeout=60)
    return spent() - before


def spent() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_an_empty_program_starts_within_a_tenth_of_a_second_more(tmp_path: Path) -> None:
    """CPU added to `python -c pass`, in turns with what OpenTelemetry's API alone adds on this busy machine.

    A hundred milliseconds, or 1.8 times that. All modules are compiled beforehand, as they are wherever they
    were installed.
    """
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    programs = (("pass", {}), ("pass", {"PYTHONPATH": _hook()}), ("import opentelemetry.trace", {}))
    bare, with_us, with_otel = (
        min(costs[1:])
        for costs in zip(
            *([cpu("-c", code, **compiled, **more) for code, more in programs] for _ in range(9)), strict=True
        )
    )
    assert with_us - bare < max(0.1, 1.8 * (with_otel - bare))


def test_an_empty_program_gets_no_framework_no_opentelemetry_and_no_network(tmp_path: Path) -> None:
    code = "import sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = pdoctor_run("python", "-c", code, cwd=tmp_path)
    loaded = set(json.loads(done.stdout))
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = loaded - set(json.loads(plain.stdout)) - set(sys.stdlib_module_names)
    assert added == {"pdoctor_trace", "sitecustomize"}
    assert loaded.isdisjoint(
        {"asyncio", "http", "ssl", "socket", "email", "importlib.metadata", "multiprocessing"}
    )


def test_an_exit_costs_nothing_where_nothing_was_recorded(tmp_path: Path) -> None:
    start = time.monotonic()
    assert pdoctor_run("python", "-c", "pass", cwd=tmp_path).stderr == ""
    assert time.monotonic() - start < 10
