"""The README and the pages of docs/ say what the code says, and lead where they say."""

from __future__ import annotations

import re
import tomllib

import pytest

from collector.ui.help import anchor
from pdoctor_trace.command import VERBS, _exists
from synth.policies import load_policies
from tests.docs import PARTS, README, ROOT, renewed
from tests.support.recipes import blocks

PAGES = {str(file.relative_to(ROOT)): file.read_text() for file in [README, *sorted(ROOT.glob("docs/*.md"))]}
MOST_LINES = 150
"""Of the README."""


def test_the_readme_is_read_in_minutes() -> None:
    assert len(PAGES["README.md"].splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PARTS)
def test_the_generated_parts_are_current(page: str) -> None:
    assert renewed(PAGES[page], PARTS[page]) == PAGES[page], "run `make docs`"


def test_a_stale_table_is_noticed() -> None:
    text, parts = PAGES["docs/settings.md"], PARTS["docs/settings.md"]
    stale = text.replace("PDOCTOR_ENDPOINT`", "PDOCTOR_END_POINT`")
    assert stale != text
    assert renewed(stale, parts) != stale


def test_every_verb_in_an_example_exists() -> None:
    used = {
        match
        for text in PAGES.values()
        for block in blocks(text)
        if block.kind == "console"
        for match in re.findall(r"^\$ pdoctor ([\w-]+)", block.text, re.M)
    }
    assert len(used) > 5
    assert {verb for verb in used if verb not in VERBS or not _exists(verb)} == set()


def test_the_policy_file_of_the_first_screen_loads() -> None:
    (example,) = [block.text for block in blocks(PAGES["README.md"]) if block.kind == "yaml"]
    assert [policy.id for policy in load_policies(example).policies] == ["verified"]


def test_the_extras_that_are_installed_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {name for text in PAGES.values() for name in re.findall(r"pdoctor-trace\[(\w+)\]", text)}
    assert "all" in named
    assert named <= project["optional-dependencies"].keys()


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    wrong = []
    for page, text in PAGES.items():
        for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", without_code(text)):
            path, _, heading = target.partition("#")
            file = (ROOT / page).parent / path if path else ROOT / page
            if not file.exists() or (heading and heading not in headings(file.read_text())):
                wrong.append(f"{page}: {target}")
    assert wrong == []


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def headings(text: str) -> set[str]:
    return {anchor(one) for one in re.findall(r"^#+ (.+)$", without_code(text), re.M)}


def test_every_page_is_reached_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/\w+\.md)[)#]", PAGES["README.md"]))
    for page in linked.copy():
        linked |= {f"docs/{name}" for name in re.findall(r"\]\((\w+\.md)[)#]", PAGES[page])}
    assert linked == PAGES.keys() - {"README.md"}, "link the page where its readers are"


def test_the_pinned_versions_hold_no_download_address() -> None:
    pins = (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin)] == []
