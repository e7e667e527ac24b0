"""The text of specifications: the file form of the paper, and errors that show the words."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.formal.monitor import monitor_of, shipped
from synth.formal.specification import State, read_specification, traced

FILE = """; an example
(define small-agent
  (:states
    (Ques (:text "[Question]"))
    (Obs (:text "[\\"Seen\\"; so far]") (:flags :env-input))
    (Ans (:text "[Answer]")))
  (:behavior
    (next Ques (until Obs Ans))) ; until
  (:trace ((result look) Obs) (text) (text Obs)))
"""


def test_the_file_form_is_read() -> None:
    said = read_specification(FILE)
    assert said.name == "small-agent"
    assert said.states == (
        State("Ques", "[Question]"),
        State("Obs", '["Seen"; so far]', env_input=True),
        State("Ans", "[Answer]"),
    )
    assert said.behavior == ("next", "Ques", ("until", "Obs", "Ans"))
    assert said.trace == {("result", "look"): (("Obs",),), ("text", None): ((), ("Obs",))}
    assert monitor_of(FILE).follow(["Ques", "Obs", "Obs", "Ans"]).outcome == "satisfied"


def test_what_a_run_shows_stands_for_states_by_their_names() -> None:
    react = shipped("react").specification
    assert traced(react, "request") == (("Ques",),)
    assert traced(react, "text") == (("Tht",),)
    assert traced(react, "call", "search") == (("Act", "Act-Inp"),)
    assert traced(react, "result") == (("Obs",),)
    assert traced(react, "results") == ((),)
    assert traced(react, "answer") == (("Final-Tht", "Ans"),)
    assert traced(shipped("direct").specification, "call") == ()
    assert traced(shipped("direct").specification, "text") == ((),)
    small = read_specification(FILE)
    assert traced(small, "result", "look") == (("Obs",),)
    assert traced(small, "result", "other") == (("Obs",),)
    assert traced(shipped("reflexion").specification, "call", "evaluate") == (("Prop-Ans",),)
    assert traced(shipped("reflexion").specification, "call", "search") == (("Act", "Act-Inp"),)


MANY = " ".join(f'(S{k} (:text "p{k}"))' for k in range(40))


def changed(old: str, new: str) -> str:
    assert old in FILE
    return FILE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "said", "shown"),
    [
        (changed("(until Obs", "(unitl Obs"), 8, "did you mean until", "unitl"),
        (changed("(next Ques", "(or Ques"), 8, "must begin with next", "or"),
        (changed("(next Ques (until Obs Ans))", "Ques"), 8, "must begin with next", "Ques"),
        (changed("(until Obs Ans)", "(until Obs)"), 8, "until takes two parts, got 1", "(until Obs)"),
        (changed("(until Obs Ans)", "(always Obs Ans)"), 8, "always takes one part", "(always Obs Ans)"),
        (changed("(until Obs Ans)", "(until Obbs Ans)"), 8, "'Obbs'.*did you mean Obs", "Obbs"),
        (changed("(until Obs Ans)", '(until "Obs" Ans)'), 8, "expected a state", '"Obs"'),
        (changed('(Ans (:text "[Answer]"))', "(Ans)"), 6, "Ans has no \\(:text", "(Ans)"),
        (changed("[Answer]", "[Question]"), 6, "same prompt as Ques", '(Ans (:text "[Question]"))'),
        (changed("(Ans (", "(Obs ("), 6, "declared twice", '(Obs (:text "[Answer]"))'),
        (changed("(:flags :env-input)", "(:flags :input)"), 5, "expected \\(NAME", "(:flags :input)"),
        (changed("(text Obs)))", "(text Obs)) :x)"), 9, "expected \\(:states", ":x"),
        (changed("((result look) Obs)", "(reslt Obs)"), 9, "did you mean result", "reslt"),
        (changed("((result look) Obs)", "((text look) Obs)"), 9, "\\(call TOOL\\)", "(text look)"),
        (changed("(text Obs)", "(text Tht)"), 9, "no state is called 'Tht'", "Tht"),
        (changed("; an example", "(:states)"), 2, "text after the end", "("),
        (changed('(:text "[Question]")', '(:text "[Question])'), 4, "", ""),
    ],
    ids=lambda value: None if isinstance(value, int) else "",
)  # fmt: skip
def test_errors_show_the_line_and_underline_the_words(text: str, line: int, said: str, shown: str) -> None:
    with pytest.raises(BadInput, match=f"(?s){said}") as caught:
        read_specification(text)
    assert caught.value.line == line
    if shown:
        _, written, marks = caught.value.message.split("\n")
        assert written[marks.index("^") : marks.rindex("^") + 1] == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(define)", "expected the agent's name"),
        ("(define x (:behavior (next A)))", "no \\(:states"),
        ('(define x (:states (A (:text "a"))))', "no \\(:behavior"),
        ("(define x (:states) (:behavior (next A)))", "declares no state"),
        (
            '(define x (:states (A (:text "a"))) (:states (A (:text "a"))) (:behavior (next A)))',
            "a second :states",
        ),
        ('(define x (:states (A (:text "a"))) (:behavior (next A) (next A)))', "one formula, got 2"),
        (
            '(define x (:states (A (:text "a"))) (:behavior (next A)) (:trace call))',
            "expected \\(EVENT STATE",
        ),
        ('(next a "b', "quotation mark"),
        ("(next a\x01b c)", r"the character '\\x01' is no text"),
        (f"(define x (:states {MANY}) (:behavior (next Sx)))", r"S28, S29, \.\.\.\)"),
    ],
    ids=range(10),
)
def test_what_is_missing_is_said(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        monitor_of(text)
