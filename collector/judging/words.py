"""The words of rules, given back to results and findings that are stored without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from collector.judging.policies import PolicyFile, with_words, words_in
from collector.store import catalog

TOLD = ("text", "file", "version")
"""What a finding says of its rule: its words, and where they stand."""


class Words:
    """The words of the policy files and cases of one project, each looked up once."""

    def __init__(self, connection: Any, project: int) -> None:
        self._connection, self._project = connection, project
        self._files: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._paragraphs: dict[str, str | None] = {}

    def result(self, run: str, stored: Mapping[str, Any]) -> dict[str, Any]:
        """A stored result of a policy as it was found about the run with this key."""
        return with_words(run, stored, self._of_file(stored.get("file"), stored.get("version")))

    def findings(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What a stored conclusion says is wrong: `rule`, `explanation`, and of the rule what is `TOLD`."""
        verdict = body["verdict"] or {"findings": ()}
        for found in verdict["findings"]:
            if found["type"] != "note":
                yield {
                    "rule": f"case:{verdict['case_id']}",
                    "explanation": found["explanation"],
                    "text": self._broken(verdict["case_id"], found.get("span")),
                    "file": None,
                    "version": None,
                }
        for stored in body["policies"]:
            if stored["verdict"] == "violated":
                result = self.result("", stored)
                said = {name: result[name] for name in ("explanation", *TOLD)}
                yield {"rule": f"policy:{result['policy']}", **said}

    def _of_file(self, name: str | None, version: int | None) -> Mapping[str, Any]:
        if name is None or version is None:
            return {}
        if (name, version) not in self._files:
            text = catalog.policy_text(self._connection, self._project, name, version)
            found = {} if text is None else words_in(PolicyFile(name, text, version))
            self._files[name, version] = found
        return self._files[name, version]

    def _broken(self, case: str, span: list[int] | None) -> str | None:
        if span is None:
            return None
        if case not in self._paragraphs:
            known = catalog.cases(self._connection, self._project, [case])
            self._paragraphs[case] = orjson.loads(known[case])["paragraph"] if case in known else None
        paragraph = self._paragraphs[case]
        return None if paragraph is None else paragraph[span[0] : span[1]]


def case_is_unknown(case_id: str) -> str:
    """What is said of a run that names a case which is not stored: nothing about what was seen of it."""
    return f"case {case_id} is not known here; post it to /api/v1/cases"
