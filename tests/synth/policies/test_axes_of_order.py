"""The ways to say one order: each subject in each frame, each thing before it and behind it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from synth.errors import BadInput
from synth.policies.names import Names, Tools
from tests.support.readings import demanded, unlike

ACTIONS = {
    "collect fee": "collect_fee",
    "grant exemption": "grant_exemption",
    "sign loan": "sign_loan",
    "inspect book": "inspect_book",
    "lend book": "lend_book",
    "page librarian": "page_librarian",
    "any tool": "*",
}
NAMES = Names({phrase: Tools(phrase, (tool,)) for phrase, tool in ACTIONS.items()})
BANS = (
    "a loan must not be signed",
    "no loan may be signed",
    "do not sign any loan",
    "the agent cannot sign a loan",
    "signing a loan is off limits",
    "no loan signing",
)
LEAVE = ("a loan may be signed", "the agent can sign a loan", "signing a loan is allowed")
BOTH = (
    "a fee has been collected {j} an exemption has been granted",
    "a fee has been collected {j} an exemption granted",
    "the agent has collected a fee {j} granted an exemption",
    "there has been a fee collection {j} an exemption grant",
)
NEITHER = (
    "neither a fee has been collected nor an exemption granted",
    "the agent has neither collected a fee nor granted an exemption",
    "no fee has been collected and no exemption has been granted",
)
DUTIES = (
    "an exemption must be granted",
    "the agent has to grant an exemption",
    "grant exemption must happen",
    "an exemption grant is due",
)
AFTER = (
    "after a fee has been collected",
    "whenever a fee is collected",
    "each time the agent collects a fee",
    "after every fee collection",
    "once a fee has been collected",
)
SOON = (
    "within 30 minutes",
    "in under 30 minutes after that",
    "no later than 30 minutes afterwards",
    "within the next half hour",
    "in less than half an hour",
)
DONE = ("after a fee collection", "once a fee has been collected", "when a fee has been collected")
ALONE = (
    "nothing but page librarian may be called",
    "no other tool than page librarian may be used",
    "every tool except page librarian is forbidden",
    "the only call allowed is page librarian",
    "the agent cannot do anything other than page a librarian",
    "nothing may happen except a librarian page",
    "no further calls are allowed, except page librarian",
)
BUT = ("anything but", "any call other than", "any other tool than", "any tool except")
SPANS = (
    "between collecting a fee and granting an exemption",
    "in the time between fee collection and exemption grant",
    "at any point between a fee collection and an exemption grant",
    "in between a fee collection and the exemption grant that follows it",
)


def _needs(joint: str) -> Iterator[str]:
    facts = [one.format(j=joint) for one in BOTH]
    yield from (f"{ban} {word} {fact}" for ban, word, fact in product(BANS, ("unless", "until"), facts))
    yield from (f"{word} {fact}, {ban}" for ban, word, fact in product(BANS, ("unless", "until"), facts))
    yield from (f"{ban} without a fee collected {joint} an exemption granted beforehand" for ban in BANS)
    yield from (f"{leave} only after {fact}" for leave, fact in product(LEAVE, facts))
    yield from (f"{leave} once {fact}, not earlier" for leave, fact in product(LEAVE, facts))
    yield from (f"loans: sign only after {fact}" for fact in facts)
    yield from (f"signing a loan has to wait until {fact}" for fact in facts)
    yield f"sign loan: a fee collected {joint} an exemption granted first"
    yield f"before a loan is signed, a fee must be collected {joint} an exemption granted"
    yield f"make sure that a fee is collected {joint} an exemption is granted before a loan is signed"


def _neither() -> Iterator[str]:
    yield from (f"{word} {fact}, {ban}" for word, fact, ban in product(("if", "as long as"), NEITHER, BANS))


def _answered() -> Iterator[str]:
    later = ("afterwards", "later in the run", "before the run ends")
    yield from (f"{when}, {duty} {then}" for when, duty, then in product(AFTER, DUTIES, later))
    yield from (f"collect fee: {duty} {then}" for duty, then in product(DUTIES, later))
    for ban in ("no fee collection", "never collect a fee", "the agent must not collect a fee"):
        yield from (f"{ban} without granting an exemption {then}" for then in later)
    yield "follow up every fee collection with an exemption grant"
    yield "a run may not end with a fee collection that is not followed by an exemption grant"
    yield "it is forbidden to collect a fee and not grant an exemption afterwards"


def _soon() -> Iterator[str]:
    yield from (f"{when}, {duty} {soon}" for when, duty, soon in product(AFTER, DUTIES, SOON))
    after = ("less than 30 minutes after", "within half an hour after", "at most 30 minutes after")
    yield from (f"{duty} {soon} every fee collection" for duty, soon in product(DUTIES[:3], after))
    yield "do not let 30 minutes go by after a fee collection without granting an exemption"


def _alone() -> Iterator[str]:
    yield from (f"{done}, {alone}" for done, alone in product(DONE, ALONE))
    yield from (f"{alone} {done}" for done, alone in product(DONE, ALONE))
    yield from (f"apart from page librarian, no tool may be called {done}" for done in DONE)
    yield from (f"{done}, the agent may only page a librarian" for done in DONE)
    yield "collect fee must never be followed by any tool other than page librarian"
    yield "the only tool that may be used after collect fee is page librarian"


def _begun(order: str, begin: str) -> Iterator[str]:
    bans = ("never", "do not", "it is forbidden to", "the agent must not")
    yield from (f"{ban} {begin} a run with {but} page librarian" for ban, but in product(bans, BUT))
    runs = ("a run", "every run", "the agent")
    yield from (f"{run} may only {begin} with page librarian" for run in runs)
    for step in ("call", "step", "thing the agent does"):
        yield f"the very {order} {step} must be page librarian"
        yield f"page librarian has to be the {order} {step}"
    yield f"as its {order} call, the agent must page a librarian"
    yield f"the agent's {order} action should always be a librarian page"


def _between() -> Iterator[str]:
    yield from (f"{ban} {span}" for ban, span in product(BANS, SPANS))
    yield from (f"{span}, {ban}" for ban, span in product(BANS, SPANS))
    yield from (f"sign loan: never {span}" for span in SPANS)
    yield "keep the time between fee collection and exemption grant free of loan signings"


MEANINGS: dict[str, tuple[str, Iterator[str]]] = {
    "both": ("Collect fee and grant exemption must happen before sign loan.", _needs("and")),
    "either": ("Collect fee or grant exemption must happen before sign loan.", _needs("or")),
    "neither": ("Collect fee or grant exemption must happen before sign loan.", _neither()),
    "answer": ("Collect fee must be followed by grant exemption.", _answered()),
    "soon": ("Collect fee must be followed by grant exemption within 30 minutes.", _soon()),
    "alone": ("Any tool but page librarian must never happen after collect fee.", _alone()),
    "first": ("The first call must be page librarian.", _begun("first", "start")),
    "last": ("The last call must be page librarian.", _begun("last", "end")),
    "between": ("Sign loan must never happen between collect fee and grant exemption.", _between()),
}


@pytest.mark.parametrize(("rule", "said"), MEANINGS.values(), ids=MEANINGS)
def test_what_says_an_order_composes(rule: str, said: Iterator[str]) -> None:
    assert unlike(said, rule, NAMES) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Once a fee has been collected and an exemption has been granted, page a librarian.",
        "Once the agent has collected a fee and granted an exemption, a loan must never be signed.",
        "Once a fee has been collected and an exemption has been granted, a loan must never be signed.",
        "After a fee collection, an exemption may only be granted.",
        "Only page librarian may be called after collect fee.",
        "Do not collect a fee and do not grant an exemption afterwards.",
        "Never collect a fee but grant an exemption afterwards.",
        "No fee collection without an exemption grant.",
        "Never collect a fee without granting an exemption.",
        "Collecting a fee requires granting an exemption.",
        "Collect fee: grant exemption",
        "The agent may begin with page librarian.",
        "The last call may be page librarian.",
        "Anything but page librarian may come first.",
        "Only sign a loan between fee collection and exemption grant.",
    ],
)
def test_what_is_near_an_order_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        demanded(sentence, NAMES)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("An uninspected book must not be lent.", "Inspect book must happen before lend book"),
        ("Never lend an uninspected book.", "Inspect book must happen before lend book"),
        ("Each book has to be inspected before being lent.", "Inspect book must happen before lend book"),
        ("lend book: inspection of the same book needed first", "Inspect book must happen before lend book"),
    ],
)
def test_what_was_not_done_to_a_thing_is_needed_for_that_thing(sentence: str, rule: str) -> None:
    assert demanded(sentence, NAMES) == demanded(f"{rule} with the same book.", NAMES)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Grant an exemption after every fee collection.", "Collect fee must be followed by grant exemption"),
        ("After collect fee, grant exemption must come sooner or later.",
         "Collect fee must be followed by grant exemption"),
        ("A fee collection must be followed within 30 minutes by an exemption grant.",
         "Collect fee must be followed by grant exemption within 30 minutes"),
        ("Fee collection: an exemption to be granted in under 30 minutes",
         "Collect fee must be followed by grant exemption within 30 minutes"),
        ("Both a fee collection and an exemption grant are prerequisites for signing a loan.",
         "Collect fee and grant exemption must happen before sign loan"),
        ("Nothing else than page librarian after collect fee.",
         "Any tool but page librarian must never happen after collect fee"),
    ],
)  # fmt: skip
def test_an_order_is_read_as_it_is_meant(sentence: str, rule: str) -> None:
    assert demanded(sentence, NAMES) == demanded(f"{rule}.", NAMES)


def test_what_stands_behind_no_tool_is_not_left_out() -> None:
    until = "After collect fee, nothing may happen until grant exemption."
    assert demanded(until, NAMES) == demanded(
        "Any tool must never happen after collect fee until grant exemption.", NAMES
    )
