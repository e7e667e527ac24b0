"""The names of tools that each project has shown, by which a misspelt one in a policy is known."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from collector.judging.policies import Policies, PolicyFile, load_all, readable, stored_files
from collector.model import Run
from collector.store import Store, catalog, seen
from collector.store.seen import LONGEST_NAME, MOST_NAMES, Name
from synth.policies import PolicySet, SeenNames, doubtful

log = logging.getLogger("collector.policies")


def seen_names(found: Collection[Name]) -> SeenNames | None:
    """What is known by these names; None = nothing: there are none yet, or more than are kept.

    Then every name in a policy is taken as it stands.
    """
    if not found or len(found) >= MOST_NAMES:
        return None
    called, offered = (
        frozenset(tool for tool, how in found if how == word) for word in ("called", "offered")
    )
    return SeenNames(called, offered, states_tools=bool(offered))


def warnings(policies: PolicySet, names: SeenNames | None) -> list[dict[str, Any]]:
    """The tools of a policy file that no run of the project shows, as the API tells them."""
    return [{**doubt.to_json(), "policies": list(about)} for doubt, about in doubtful(policies, names)]


def names_of(connection: Any, project: int) -> SeenNames | None:
    return seen_names(seen.names(connection, project))


def misspelt_tools(connection: Any, project: int) -> list[dict[str, Any]]:
    """The warnings of the active policy files that keep policies from being judged."""
    files = tuple(stored_files(catalog.active_policies(connection, project)))
    names = names_of(connection, project) if files else None
    told = (warning for file in _read(files).files for warning in warnings(file, names))
    return [warning for warning in told if warning["code"] == "unknown_tool"]


@lru_cache(maxsize=16)
def _read(files: tuple[PolicyFile, ...]) -> Policies:
    """Reading takes long, and pages ask often."""
    return load_all(readable(files))


def names_in(run: Run) -> set[Name]:
    shown = {(call.tool, "called") for call in run.calls} | {(tool, "offered") for tool in run.tools or ()}
    return {(tool, how) for tool, how in shown if len(tool) <= LONGEST_NAME}


class NamesOfProjects:
    """Keeps what one process knows of them; only a name that it does not know is written."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[frozenset[Name], SeenNames | None]] = {}
        self.owing = True
        """May runs have to be looked at again? A predecessor may have died before it came to that."""

    def refresh(self, connection: Any, projects: Collection[int]) -> None:
        """Read the names of the projects that have others than are known here."""
        counts = seen.counts(connection, projects)
        for project in projects:
            known, _ = self._known.get(project, (None, None))
            if known is None or len(known) != counts.get(project, 0):
                self._keep(project, seen.names(connection, project))

    def learn(
        self, store: Store, shown: Iterable[tuple[int, Run]], policies: Mapping[int, Policies]
    ) -> Mapping[int, SeenNames | None]:
        """Keep the names in runs, (project, run) each; project -> all that its runs have shown by now.

        Where a policy speaks of a new name, the runs that waited for it will be judged again.
        """
        found: dict[int, set[Name]] = {}
        for project, run in shown:
            own = found.setdefault(project, set())
            so_far = self._known[project][1]
            if so_far is None or not so_far.has_all_of(run):
                own |= names_in(run)
        for project, names in found.items():
            known = self._known[project][0]
            if new := sorted(names - known)[: max(0, MOST_NAMES - len(known))]:
                tools = {tool for tool, _ in new}.difference(tool for tool, _ in known)
                owing = [tool for tool in tools if policies[project].about(tool)]
                seen.add(store, project, new, owing)
                self._keep(project, known.union(new))
                self.owing |= bool(owing)
        return {project: self._known[project][1] for project in found}

    def _keep(self, project: int, names: frozenset[Name]) -> None:
        self._known[project] = names, seen_names(names)
        if len(names) >= MOST_NAMES:
            log.warning(
                "a project shows %d names of tools: more are not kept, and no tool of a policy "
                "is taken for misspelt there any more", len(names), extra={"project": project},
            )  # fmt: skip
