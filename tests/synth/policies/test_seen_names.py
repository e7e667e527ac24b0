"""Tools that no run shows: a slip of the pen is named and judges nothing; what is truly missing is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, SeenNames, judge_policies, judge_session, lint, load_policies
from synth.policies.near import near
from synth.policies.seen_names import all_tools_in, names_of_runs

OFFERED = (
    "verify_identity",
    "transfer_money",
    "read_file",
    "write_file",
    "send_receipt",
    "getUserInfo",
    "pay",
)


def run(*tools: str, offered: tuple[str, ...] | None = OFFERED, name: str = "r") -> Run:
    calls = (
        ToolCall(
            None, tool, {"id": 1}, result={"id": 1}, start=(i * 10**9,) * 2, end=(i * 10**9 + 5,) * 2, step=i,
            with_text=False,
        )
        for i, tool in enumerate(tools)
    )  # fmt: skip
    return Run(name, tuple(calls), tools=offered)


RUNS = [
    run("verify_identity", "transfer_money", "send_receipt", "read_file", "write_file", "getUserInfo", "pay"),
    run("transfer_money", "verify_identity", "transfer_money", "write_file", "read_file", "transfer_money"),
    run("write_file"),
    run(),
]


def file(rule: str, **tools: str) -> PolicySet:
    """One policy; `rule` is a sentence, or the YAML of another form."""
    actions = ", ".join(f"{phrase.replace('_', ' ')}: {tool!r}" for phrase, tool in tools.items())
    stated = (
        rule if re.match(r"(guard|provenance|contract|behaviour|rule|applies):", rule) else f"rule: {rule!r}"
    )
    body = "\n".join(f"    {line}" for line in stated.splitlines())
    return load_policies(f"actions: {{{actions}}}\npolicies:\n  - id: P\n{body}\n")


TYPOS: list[tuple[PolicySet, str, str]] = [
    (file("Check must happen before move.", check="verify_identity", move="transfer_mony"),
     "transfer_mony", "transfer_money"),
    (file("Check must happen before move.", check="verfy_identity", move="transfer_money"),
     "verfy_identity", "verify_identity"),
    (file("Move must be followed by receipt.", move="transfer_money", receipt="sendReceipt"),
     "sendReceipt", "send_receipt"),
    (file("Move must never happen after pay.", move="money_transfer", pay="pay"),
     "money_transfer", "transfer_money"),
    (file("Move must happen at least 1 time.", move="Transfer_Money"), "Transfer_Money", "transfer_money"),
    (file("Move must happen at most 1 time.", move="transfer-money"), "transfer-money", "transfer_money"),
    (file("Move must never happen.", move="transfer.money"), "transfer.money", "transfer_money"),
    (file("Check must happen immediately before move.", check="verify identity", move="transfer_money"),
     "verify identity", "verify_identity"),
    (file("Move must happen after 22:00.", move="transfermoney"), "transfermoney", "transfer_money"),
    (file("Move must start within 1 second after check.", move="transfer_money", check="identity_verify"),
     "identity_verify", "verify_identity"),
    (file("Move must not overlap pay.", move="tarnsfer_money", pay="pay"),
     "tarnsfer_money", "transfer_money"),
    (file("Move must be alone in its turn.", move="tranfer_mony"), "tranfer_mony", "transfer_money"),
    (file("Info must happen before any tool.", info="get_user_info", any_tool="*"),
     "get_user_info", "getUserInfo"),
    (file("guard: {calls: write, check: 'args.id > 3'}", write="write_fille"), "write_fille", "write_file"),
    (file("guard: {calls: write, check: \"last('raed_file') != null\"}", write="write_file"),
     "raed_file", "read_file"),
    (file("provenance: {calls: write, argument: id, from: read}", write="write_file", read="File-Read"),
     "File-Read", "read_file"),
    (file("provenance: {calls: write_fil, argument: id, from: [read_file]}", write="write_fil"),
     "write_fil", "write_file"),
    (file("contract: {initial: [], tools: {transfer_monei: {provides: p}, send_receipt: {requires: p}}}"),
     "transfer_monei", "transfer_money"),
    (file("behaviour: (next verify_identiti transfer_money)"), "verify_identiti", "verify_identity"),
    (file("rule: Pay must never happen.\napplies: {tools: [transfermoney]}", pay="pay"),
     "transfermoney", "transfer_money"),
    (file("rule: Pay must never happen.\napplies: {calls: move}", pay="pay", move="transfer_monney"),
     "transfer_monney", "transfer_money"),
    (file("Settle must happen at least 1 time.", settle="paj"), "paj", "pay"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("policies", "tool", "meant"), TYPOS, ids=[f"{tool} {i}" for i, (_, tool, _) in enumerate(TYPOS)]
)
def test_a_slip_of_the_pen_is_named_and_judges_no_run(policies: PolicySet, tool: str, meant: str) -> None:
    names = names_of_runs(RUNS, all_tools_in(policies))
    said = f"The policy speaks of the tool {tool!r}, which was never seen; did you mean {meant!r}?"
    for one in RUNS:
        (result,) = judge_policies(policies, one, names=names)
        assert (result.verdict, result.violations, result.explanation) == ("unsupported", (), said)
    assert judge_session(policies, RUNS, names=names)[0].verdict == "unsupported"
    assert [(p.code, p.explanation) for p in lint(policies, names=names)] == [("unknown_tool", said)]


NEVER = "Load must never happen."


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        ("export_data", "import_data"), ("importData", "exportData"), ("lock_account", "unlock_account"),
        ("get_user", "set_user"), ("order.open", "order.reopen"),
    ],
)  # fmt: skip
def test_a_tool_whose_name_says_something_else_is_no_slip(seen: str, named: str) -> None:
    runs = [run(seen, offered=(seen,))]
    policies = file("Load must happen at least 1 time.", load=named)
    (result,) = judge_policies(policies, runs[0], names=names_of_runs(runs))
    assert result.verdict == "violated"
    assert f"The tool {named!r} was never seen; did you mean {seen!r}?" in result.explanation
    assert [problem.code for problem in lint(policies, names=names_of_runs(runs))] == ["never_seen"]


@pytest.mark.parametrize(
    ("seen", "named"), [("export_data", "exprt_data"), ("list_users", "list_user"), ("user_get", "get_user")]
)
def test_a_slip_inside_a_word_is_one(seen: str, named: str) -> None:
    runs = [run(seen, offered=(seen,))]
    (result,) = judge_policies(file(NEVER, load=named), runs[0], names=names_of_runs(runs))
    assert result.verdict == "unsupported"


def test_a_file_says_which_names_are_meant() -> None:
    text = f"actions: {{load: list_user}}\npolicies: [{{id: P, rule: {NEVER}}}]\n"
    runs = [run("list_users", offered=("list_users",))]
    for known, verdict, warned in (("[]", "unsupported", 1), ("[list_user]", "not_applicable", 0)):
        policies = load_policies(f"known_tools: {known}\n{text}")
        assert judge_policies(policies, runs[0], names=names_of_runs(runs))[0].verdict == verdict
        assert len(lint(policies, names=names_of_runs(runs))) == warned
    with pytest.raises(BadInput, match="known_tools: expected a list"):
        load_policies(f"known_tools: list_user\n{text}")


def test_without_names_every_tool_is_taken_as_it_stands() -> None:
    policies = file("Move must happen at least 1 time.", move="Transfer_Money")
    assert judge_policies(policies, RUNS[0])[0].verdict == "violated"
    assert lint(policies) == ()


JUDGED: list[tuple[str, dict[str, str]]] = [
    ("Audit must happen before move.", {"audit": "audit_account", "move": "transfer_money"}),
    ("Move must be followed by note.", {"move": "transfer_money", "note": "notify_customer"}),
    ("Audit must happen at least 1 time.", {"audit": "audit_account"}),
    ("Audit must happen exactly 1 time.", {"audit": "audit_account"}),
    ("Audit must happen immediately before move.", {"audit": "audit_account", "move": "transfer_money"}),
    ("Move must start within 1 second after audit.", {"audit": "audit_account", "move": "transfer_money"}),
    ("guard: {calls: move, check: \"last('audit_account') != null\"}", {"move": "transfer_money"}),
    ("provenance: {calls: move, argument: id, from: audit}",
     {"move": "transfer_money", "audit": "audit_account"}),
    ("contract: {initial: [], tools: {audit_account: {provides: p}, transfer_money: {requires: p}}}", {}),
    ("behaviour: (next audit_account transfer_money)", {}),
    ("Delete must never happen.", {"delete": "delete_everything"}),
    ("Delete must happen at most 1 time.", {"delete": "delete_everything"}),
    ("Delete must never happen after move.", {"delete": "delete_everything", "move": "transfer_money"}),
    ("Check must happen before delete.", {"delete": "delete_everything", "check": "verify_identity"}),
    ("Delete must be alone in its turn.", {"delete": "delete_everything"}),
    ("Delete must not overlap move.", {"delete": "delete_everything", "move": "transfer_money"}),
    ("Delete must happen after 22:00.", {"delete": "delete_everything"}),
    ("guard: {calls: delete, check: args.id > 3}", {"delete": "delete_everything"}),
    ("provenance: {calls: delete, argument: id, from: check}",
     {"delete": "delete_everything", "check": "verify_identity"}),
    ("Deletes must never happen.", {"deletes": "delete_*"}),
    ("Receipt must happen at least 1 time.", {"receipt": "send_receipt"}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "tools"), JUDGED)
def test_what_is_truly_missing_is_judged_as_without_names(rule: str, tools: dict[str, str]) -> None:
    policies = file(rule, **tools)
    names = names_of_runs(RUNS)
    for one in RUNS:
        (before,), (after,) = judge_policies(policies, one), judge_policies(policies, one, names=names)
        assert after.verdict == before.verdict != "unsupported"
        assert after.violations == before.violations
        warned = " ".join(re.findall(r"The tool '\w+' was never seen\.", after.explanation))
        assert after.explanation == f"{before.explanation} {warned}".strip()
        unseen = [
            tool
            for tool in ("audit_account", "notify_customer", "delete_everything")
            if tool in f"{rule}{tools}"
        ]
        assert warned == " ".join(f"The tool {tool!r} was never seen." for tool in unseen)
    missing = [problem for problem in lint(policies, names=names) if problem.code == "never_seen"]
    assert len(missing) == len(unseen)
    assert all(problem.is_warning for problem in missing)


def test_an_agent_that_always_forgets_a_tool_is_convicted() -> None:
    policies = file("Audit must happen before move.", audit="audit_account", move="transfer_money")
    (result,) = judge_policies(policies, RUNS[0], names=names_of_runs(RUNS))
    assert result.verdict == "violated"


def test_a_tool_that_is_offered_and_never_called_is_known() -> None:
    forgets = [run("pay", offered=("pay", "transfer_mony", "transfer_money"))]
    policies = file("Move must happen at least 1 time.", move="transfer_mony")
    (result,) = judge_policies(policies, forgets[0], names=names_of_runs(forgets))
    assert (result.verdict, "never seen" in result.explanation) == ("violated", False)


def test_where_no_run_states_its_tools_a_near_name_is_a_warning_only() -> None:
    runs = [run("transfer_money", offered=None)]
    policies = file("Move must happen at least 1 time.", move="transfer_mony")
    (result,) = judge_policies(policies, runs[0], names=names_of_runs(runs))
    assert result.verdict == "violated"
    warned = (
        "The tool 'transfer_mony' was never seen (no run states its tools); did you mean 'transfer_money'?"
    )
    assert result.explanation.endswith(warned)
    assert [problem.code for problem in lint(policies, names=names_of_runs(runs))] == ["never_seen"]


def test_a_name_that_the_policies_use_themselves_is_no_suggestion() -> None:
    policies = file("Old must happen before new.", old="transfer_mony", new="transfer_money")
    assert judge_policies(policies, RUNS[0], names=names_of_runs(RUNS))[0].verdict == "violated"


def test_a_policy_for_other_runs_is_not_for_this_one_whatever_its_tools_are_called() -> None:
    policies = file("rule: Move must never happen.\napplies: {agent: other}", move="transfer_mony")
    (result,) = judge_policies(policies, RUNS[0], names=names_of_runs(RUNS))
    assert result.verdict == "not_applicable"


def test_reading_ends_where_all_that_is_wanted_was_seen() -> None:
    def endless() -> Iterator[Run]:
        yield RUNS[1]
        yield run("x", offered=("pay",))
        raise AssertionError("read on")

    assert names_of_runs(endless(), {"transfer_money", "x"}).called >= {"transfer_money", "x"}
    assert names_of_runs(endless(), {"pay"}).offered >= {"pay"}


def test_names_say_whether_any_run_states_its_tools() -> None:
    assert names_of_runs([run("x", offered=None)]) == SeenNames(frozenset({"x"}), frozenset(), False)
    assert names_of_runs([run("x", offered=())]).states_tools


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("pay", "pays"), ("pay", "Pay"), ("do_it", "doit"), ("a b", "a-b"), ("get_user", "user.get"),
        ("getUser", "user_get"), ("HTTPGet", "get_http"), ("refund", "refnud"), ("refund", "refunds_"),
        ("refund", "refud"), ("refund", "refnd_"), ("refunds", "efund"),
        ("tool_1", "tool1"), ("überweise", "ueberweise"),
    ],
)  # fmt: skip
def test_near_names(name: str, other: str) -> None:
    assert near(name, [other, "nothing_like_it"]) == other
    assert near(other, [name, "nothing_like_it"]) == name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("pay", "pya"), ("pay", "pay"), ("a", "b"), ("refund", "fun"), ("search_v2", "search_v3"),
        ("delete_user", "delete_order"), ("", "ab"), ("get_user", "get_user_user"),
    ],
)  # fmt: skip
def test_names_apart(name: str, other: str) -> None:
    assert near(name, [other]) is None
    assert near(other, [name]) is None


def test_the_nearest_name_is_suggested() -> None:
    assert near("refund", ["refunnds", "refunds", "re_fund"]) == "re_fund"
    assert near("refund", ["refunnds", "refunds"]) == "refunds"
    assert near("refund", ["brefund", "arefund"]) == "arefund"
