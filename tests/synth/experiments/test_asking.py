"""Agents at questions: who is asked what, what counts, and what the tables say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.agents.model import Settings
from synth.experiments.asking import (
    IN_A_ROW,
    METHODS,
    PAPER,
    AgentQuestions,
    Asked,
    Job,
    Subject,
    accuracy_table,
    ask_all,
    asked_from_json,
    costs_table,
    questions_report,
    ran_on,
)
from synth.experiments.campaign import Journal
from synth.experiments.report import html
from synth.formal.trouble import Trouble
from synth.questions import Question, read_questions
from synth.simulated_model import SimulatedModel
from tests.support.questions import written

Asking = tuple[AgentQuestions, SimulatedModel, list[Question]]


def answer(question: str, right: bool = True, **more: object) -> Asked:
    said = {"data": "gsm8k", "agent": "spec:react", "model": "m", "answer": "4", "status": "ok", **more}
    return Asked(question=question, right=right, **said)  # type: ignore[arg-type]


def jobs(count: int) -> list[Job]:
    subject = Subject("spec:react", Settings("m"))
    return [Job(subject, Question("gsm8k", str(k), f"q{k}", ("4",))) for k in range(count)]


def kept(path: Path | None = None) -> Journal[Asked]:
    return Journal(path, {"questions": []}, asked_from_json)


def test_every_question_is_asked_once_and_never_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(job: Job) -> Asked:
        asked.append(job.question.id)
        return answer(job.question.id)

    with kept(tmp_path / "j") as journal:
        assert ask_all(jobs(7), ask, journal, 3, lambda _: None) is None
        assert sorted(asked) == [str(k) for k in range(7)]
    with kept(tmp_path / "j") as journal:
        seen: list[Asked] = []
        assert ask_all(jobs(9), ask, journal, 3, seen.append) is None
        assert sorted(one.question for one in seen) == ["7", "8"]
        assert [asked_from_json(one.to_json()) for one in journal.records] == journal.records
        assert len(journal.records) == len(asked) == 9


def test_an_endpoint_that_keeps_failing_ends_it_and_is_asked_again(tmp_path: Path) -> None:
    trouble = Trouble("endpoint", 503, "overloaded")

    def ask(job: Job) -> Asked:
        return answer(job.question.id, False, status="crash", trouble=trouble)

    with kept(tmp_path / "j") as journal:
        said = ask_all(jobs(40), ask, journal, 1, lambda _: None)
        assert said == f"{IN_A_ROW} questions in a row were not answered: endpoint 503: overloaded"
        assert len(journal.records) == IN_A_ROW
    with kept(tmp_path / "j") as journal:
        assert journal.done == frozenset()


def test_what_was_not_tested_counts_in_no_rate() -> None:
    void = answer("3", False, status="crash", trouble=Trouble("endpoint"))
    late = answer("4", False, status="timeout", answer="")
    table = accuracy_table([answer("1"), answer("2"), void, late])
    assert table.headers == ("method", "model", "GSM8K", "GSM8K (paper)")
    assert table.rows == (("ReAct", "m", "66.7 (21 to 94) of 3", "53.8"),)
    costs = costs_table([answer("1", iterations=2, tokens=10), void, late])
    assert costs.rows == (("ReAct", "m", "2", "1", "2.0", "10.0", "-", "1", "-"),)
    assert accuracy_table([void]).rows == (("ReAct", "m", "-", "53.8"),)


def test_the_report_says_which_model_it_was() -> None:
    said = ran_on(["gpt-x", "gpt-x"])
    assert said.startswith("These figures were measured on gpt-x, not on Llama-2-70b. The columns")
    assert "the format and no worked examples of our own" in said
    assert "the format and 1 worked example of our own" in html(questions_report([answer("1")], examples=1))
    assert "It is simulated and was given the right answers" in ran_on(["simulated-perfect"])
    assert "not on Llama-2-70b" not in ran_on(["meta-llama/Llama-2-70b-hf"])
    report = questions_report(
        [answer("1", False, answer="<b>5"), answer("1", agent="spec:pass_raw", data="triviaqa")]
    )
    page = html(report)
    assert "measured on m, not on Llama-2-70b" in page
    assert [table.name for table in report.tables] == ["table1", "table2", "costs"]
    assert "answered &#x27;&lt;b&gt;5&#x27;" in page
    assert page.count('src="data:image/svg+xml;base64,PHN2Zy') == 2
    assert 'alt="pass-raw-agent"' in page
    assert "Every answer was right." in html(questions_report([answer("1")]))


def test_every_method_of_the_paper_is_there() -> None:
    assert list(METHODS) == list(PAPER)
    assert len(METHODS) == 11 + 1
    assert PAPER["spec:pass"] == ("53.2", "34.7", "57.8")


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    files = written(tmp_path_factory.mktemp("data"))
    questions = [
        one for data in ("gsm8k", "hotpotqa", "triviaqa") for one in read_questions(data, files[data])
    ]
    with (
        SimulatedModel(questions=questions) as model,
        AgentQuestions(None, files["corpus"], limit=60) as asking,
    ):
        yield asking, model, questions


def rights(asking: Asking, agent: str, model: str) -> list[Asked]:
    asked, server, questions = asking
    settings = Settings(model, server.base_url, "none", 0.0, 10)
    return [asked.ask(Job(Subject(agent, settings), one)) for one in questions]


@pytest.mark.parametrize("agent", ["spec:react", "spec:rewoo", "spec:reflexion", "spec:pass", "openai-tools"])
def test_what_the_model_does_not_know_its_tools_tell(agent: str, asking: Asking) -> None:
    made = rights(asking, agent, "simulated-forgets:1")
    assert [(one.right, one.answer, one.error) for one in made if not one.right] == []


def test_without_tools_only_what_it_knows_is_right(asking: Asking) -> None:
    alone = rights(asking, "spec:direct", "simulated-forgets:1")
    hybrid = rights(asking, "spec:direct+react", "simulated-forgets:1")
    assert 0 < sum(one.right for one in alone) < len(alone)
    assert all(one.right for one in hybrid)
    assert [one.iterations > 5 for one in hybrid] == [not one.right for one in alone]


def test_a_loop_is_no_answer_and_an_endpoint_away_is_trouble(asking: Asking) -> None:
    loops = rights(asking, "spec:react", "simulated-loops")
    assert {(one.status, one.right, one.trouble) for one in loops} == {("timeout", False, None)}
    gone = Subject("spec:react", Settings("gone", asking[1].base_url, "none"))
    made = asking[0].ask(Job(gone, asking[2][0]))
    assert (made.status, made.trouble and made.trouble.kind, made.trouble and made.trouble.status) == (
        "crash", "endpoint", 404,
    )  # fmt: skip
