"""The plugin in a project of somebody else: real agents, a collector of its own."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from tests.support.provider import Provider, Refusal

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.processes  # pytester starts another pytest

AGENTS = """
def listed(query, tools):
    "Calls the tools in the order in which they are given."
    for tool in tools:
        tool()

def backwards(query, tools):
    for tool in reversed(tools):
        tool()

def lazy(query, tools):
    for tool in tools[1:]:
        tool()

def hangs(query, tools):
    import time
    print("working", flush=True)
    time.sleep(600)

def exits(query, tools):
    raise SystemExit(3)

def other(a, b, c):
    return None
"""


def plugin_arguments() -> tuple[str, ...]:
    """The plugin by its entry point where the package was installed with it, else by name."""
    installed = any(point.name == "pdoctor" for point in metadata.entry_points(group="pytest11"))
    return () if installed else ("-p", "synth.pytest_plugin")


def run_project(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(my_agents=AGENTS, test_planning=tests)
    return pytester.runpytest_subprocess(*plugin_arguments(), *options)


@pytest.mark.heavy
def test_a_right_agent_passes_one_test_per_case(pytester: pytest.Pytester) -> None:
    done = run_project(
        pytester,
        """
        import pytest

        @pytest.mark.pdoctor(cases=2, actions=(3, 4), seed=5)
        def test_shipped_agent(pdoctor):
            assert len(pdoctor.case.actions) <= 4
            pdoctor.check("raw-loop")
        """,
        "-v",
    )
    done.assert_outcomes(passed=2)
    assert len(set(re.findall(r"test_shipped_agent\[([0-9a-f]{12})\]", done.stdout.str()))) == 2


def test_a_wrong_agent_fails_with_the_sentence_the_calls_and_a_small_case(pytester: pytest.Pytester) -> None:
    done = run_project(
        pytester,
        """
        import pytest
        from my_agents import listed, backwards

        @pytest.mark.pdoctor(cases=1, actions=(5, 5), seed=3, topic="barista")
        def test_one_of_both_is_wrong(pdoctor):
            pdoctor.check(listed)
            pdoctor.check(backwards)
        """,
        "--junitxml=junit.xml",
    )
    done.assert_outcomes(failed=1)
    said = done.stdout.str()
    assert "fail (order_error)" in said
    assert re.search(r"\* .*“.*”: .*\(call \d.* was called before .*\(call \d", said)
    assert re.search(r"> \d\. \w+", said)
    assert re.search(r"Shrunk from case [0-9a-f]{12}: 2 of 5 actions are enough to fail", said)
    assert "A plan that keeps the rules: " in said
    assert "Traceback" not in said
    assert '"level":"info"' not in said, "the collector's log is no part of a test's output"
    assert "order_error" in (pytester.path / "junit.xml").read_text()


@pytest.mark.heavy
def test_a_lost_action_is_named_and_shrinking_can_be_left_out(pytester: pytest.Pytester) -> None:
    done = run_project(
        pytester,
        """
        import pytest

        @pytest.mark.pdoctor(cases=1, actions=(3, 3), seed=3)
        def test_lazy(pdoctor):
            pdoctor.check("my_agents:lazy")
        """,
        "--pdoctor-no-shrink",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*fail (action_lost)*", "*was never called*"])
    assert "Shrunk" not in done.stdout.str()


@pytest.mark.heavy
def test_agents_that_hang_exit_or_cannot_be_called_fail_in_plain_words(pytester: pytest.Pytester) -> None:
    done = run_project(
        pytester,
        """
        import pytest
        import my_agents

        @pytest.mark.pdoctor(cases=1, actions=(3, 3), seed=3)
        @pytest.mark.parametrize("name", ["hangs", "exits", "other", "raw"])
        def test_odd(pdoctor, name):
            pdoctor.check("raw-loop" if name == "raw" else getattr(my_agents, name))
        """,
        "--pdoctor-timeout=3",
        "-n2",
    )
    done.assert_outcomes(failed=1, errors=2, passed=1)
    said = done.stdout.str()
    assert "fail (timeout)" in said
    assert "the agent ended with: stopped after 3 s" in said
    assert "the agent ended with: SystemExit: 3" in said
    assert "the agent cannot be started: cannot fill parameter 'a'" in said
    assert "(unreachable): planning was not tested" in said
    failures = said.partition("short test summary info")[0]  # which in a CI repeats them whole
    assert "Shrunk from" not in failures, "a run that hangs is not tried again and again"
    assert "Traceback" not in said


@pytest.mark.heavy
def test_a_model_that_refuses_is_an_error_in_its_own_words(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = """
        import pytest

        @pytest.mark.pdoctor(cases=1, actions=(3, 3), seed=3)
        def test_refused(pdoctor):
            pdoctor.check("raw-loop")
    """
    with Provider(lambda body: Refusal(401, "Incorrect API key provided: any.")) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        done = run_project(pytester, tests, "--pdoctor-base-url", provider.base_url, "-rE")
    done.assert_outcomes(errors=1)
    assert done.ret == 1
    words = "Incorrect API key provided: any. (endpoint 401): planning was not tested"
    done.stdout.fnmatch_lines(
        ["*ERROR at call of test_refused*", words, "ERROR test_planning.py::* - Failed: *"]
    )
    assert len(provider.asked) == 1


@pytest.mark.heavy
def test_without_a_marker_one_test_goes_through_three_cases_on_the_named_model(
    pytester: pytest.Pytester,
) -> None:
    tests = "def test_it(pdoctor):\n    pdoctor.check('raw-loop')\n    print(len(pdoctor.cases), 'cases')\n"
    done = run_project(pytester, tests, "--pdoctor-model", "simulated-forgets", "--pdoctor-no-shrink")
    done.assert_outcomes(failed=1)
    assert "pdoctor: model simulated-forgets (no language model: this tests" in done.stdout.str()
    assert "3 cases" in run_project(pytester, tests, "-s").stdout.str()


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("@pytest.mark.pdoctor(casses=2)\ndef test_it(pdoctor): ...", "unknown argument 'casses'"),
        pytest.param(
            "def test_it(pdoctor):\n    pdoctor.check(lambda query, tools: None)",
            "cannot be imported",
            marks=pytest.mark.heavy,
        ),
        pytest.param(
            "def test_it(pdoctor):\n    pdoctor.check('no_such:agent')",
            "cannot import 'no_such'",
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_mistakes_are_explained(pytester: pytest.Pytester, tests: str, message: str) -> None:
    done = run_project(pytester, f"import pytest\n\n{tests}\n")
    assert done.ret != 0
    assert message in done.stdout.str() + done.stderr.str()


@pytest.mark.heavy
def test_model_temperature_repeat_and_a_rate_over_cases(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the session's options, by the marker, and by the arguments, each before the one before it."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with Provider() as provider:
        done = run_project(
            pytester,
            """
            import pytest

            @pytest.mark.pdoctor(cases=2, actions=(2, 2), seed=3)
            def test_session(pdoctor):
                pdoctor.check("raw-loop")

            own = {"temperature": None, "repeat": 1, "model": "simulated-perfect"}

            @pytest.mark.pdoctor(cases=1, actions=(3, 3), seed=3, **own)
            def test_marker(pdoctor):
                pdoctor.check("raw-loop")
                pdoctor.check("raw-loop", temperature=0.7, repeat=2)

            @pytest.mark.pdoctor(cases=3, actions=(4, 4), seed=3, at_least=0.6, model="simulated-forgets")
            def test_rate(pdoctor):
                assert len(pdoctor.cases) == 3
                pdoctor.check("raw-loop")

            @pytest.mark.pdoctor(cases=3, actions=(4, 4), seed=3, at_least=0.6)
            def test_rate_reached(pdoctor):
                pdoctor.check("raw-loop", repeat=1)

            @pytest.mark.pdoctor(cases=1, repeat=0)
            def test_no_run(pdoctor):
                pdoctor.check("raw-loop")
            """,
            "--pdoctor-base-url", provider.base_url, "--pdoctor-temperature", "0.4", "--pdoctor-repeat", "2",
        )  # fmt: skip
    done.assert_outcomes(passed=4, failed=2)
    said = done.stdout.str()
    assert re.search(r"0 of 3 runs passed .*, at least 60% of 6 should; the other 3 were not needed", said)
    assert "expected at least one run of each case, got repeat=0" in said
    begun = [body for body in provider.asked if not any(m["role"] == "assistant" for m in body["messages"])]
    by_size: dict[int, list[float | None]] = {}
    for body in begun:
        by_size.setdefault(len(body["tools"]), []).append(body.get("temperature"))
    assert by_size[2] == [0.4] * 4
    assert by_size[3] == [None, 0.7, 0.7]
    assert by_size[4] == [0.4] * 6
