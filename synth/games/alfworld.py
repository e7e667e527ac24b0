"""ALFWorld: household tasks by text commands, over the installed package `alfworld` and the user's games.

A game is a folder `trial_...` with `game.tw-pddl` and `traj_data.json`, as `alfworld-download` leaves them.
Written against alfworld 0.4.2.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from synth.errors import BadInput
from synth.games.model import NOTHING, Action, Observation, Supplies

RULES = (
    "Do a task in a household by commands, one at a time: go to R, open R, close R, take O from R, move O "
    "to R, clean O with R, heat O with R, cool O with R, use O, examine O, look, inventory; R is a place and "
    "O a thing, each with its number as in: take apple 1 from fridge 1."
)
HOW = (
    "alfworld needs the package alfworld (pip install alfworld) and its games: alfworld-download fetches "
    "them into $ALFWORLD_DATA, which is ~/.cache/alfworld where it is not set; --data names another folder"
)
UNSEEN = "json_2.1.1/valid_unseen"
"""The split that is played where the data has it, as is usual in evaluations."""
CHANGES = {
    "pick_clean_then_place_in_recep": "clean", "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}  # fmt: skip
"""Type of task -> what is to be done to the thing."""
_TAKEN = re.compile(r"You pick up the (\w+) (\d+)\b")
_CHANGED = re.compile(r"You (clean|heat|cool) the (\w+) \d+\b")
_LIT = re.compile(r"You turn on the (\w+) \d+\b")


class Alfworld:
    """One game; progress is the share of what its task takes: things taken, changed, lit, and the end.

    The paper's milestones were set by hand and are not published in it; these follow from the type of the
    task in `traj_data.json`.
    """

    def __init__(self, env: Any, task: dict[str, Any]) -> None:
        """`env` is a TextWorld environment, `task` the contents of `traj_data.json`."""
        self._env, self._kind = env, str(task["task_type"])
        wanted = task["pddl_params"]
        self._thing, self._lamp = (str(wanted[name]).lower() for name in ("object_target", "toggle_target"))
        self._reached: set[str] = set()

    @classmethod
    def drawn(cls, seed: int, supplies: Supplies = NOTHING) -> Alfworld:
        """The game of a seed. BadInput says how to get what is missing."""
        folder = supplies.data or Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()
        try:
            textworld = import_module("textworld")
            wrapper = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
        except ImportError as problem:
            raise BadInput(f"{HOW}; missing is {problem.name or problem}", field="game") from None
        game = _game(folder, seed)
        infos = textworld.EnvInfos(won=True, feedback=True)
        try:
            env = textworld.start(str(game), request_infos=infos, wrappers=[wrapper()])
        except ImportError as problem:  # the planner in TextWorld's extra `pddl`
            raise BadInput(f"{HOW}; missing is {problem}", field="game") from None
        return cls(env, _json(game.with_name("traj_data.json")))

    def reset(self) -> Observation:
        """The rules, the room and the task."""
        self._reached = set()
        return Observation(f"{RULES}\n\n{self._env.reset()['feedback'].strip()}")

    def step(self, action: Action) -> Observation:
        """What the command brought about."""
        state, _, done = self._env.step(" ".join(action.text.split()))
        seen, won = str(state["feedback"]).strip(), bool(state["won"])
        self._reached |= {*self._reached_by(seen), *(["won"] if won else [])}
        return Observation(seen, done=bool(done) or won, success=won)

    @property
    def state(self) -> dict[str, Any]:
        """The type of the task and the milestones that were reached."""
        return {"task": self._kind, "reached": sorted(self._reached)}

    @property
    def progress(self) -> float:
        """Reached milestones / milestones."""
        if "won" in self._reached:
            return 1.0
        taken = [one for one in self._reached if one.startswith("take")]
        most = 2 if self._kind == "pick_two_obj_and_place" else 1
        others = {"change", "light"} & self._reached
        return (min(len(taken), most) + len(others)) / self._milestones

    @property
    def _milestones(self) -> int:
        two = self._kind == "pick_two_obj_and_place"
        more = self._kind in CHANGES or self._kind == "look_at_obj_in_light"
        return 1 + (2 if two else 1) + more

    def _reached_by(self, seen: str) -> Iterator[str]:
        if (taken := _TAKEN.search(seen)) and taken[1] == self._thing:
            yield f"take {taken[1]} {taken[2]}"
        if (changed := _CHANGED.search(seen)) and changed.groups() == (CHANGES.get(self._kind), self._thing):
            yield "change"
        if (lit := _LIT.search(seen)) and self._kind == "look_at_obj_in_light" and lit[1] == self._lamp:
            yield "light"


def _game(folder: Path, seed: int) -> Path:
    """The game file of a seed, among those that can be solved and that the package supports."""
    root = folder / UNSEEN if (folder / UNSEEN).is_dir() else folder
    games = sorted(filter(_is_supported, root.rglob("game.tw-pddl")))
    for at in range(len(games)):
        game = games[(seed + at) % len(games)]
        if _json(game).get("solvable"):
            return game
    raise BadInput(f"{HOW}; there is no game in {root}", field="data")


def _is_supported(game: Path) -> bool:
    odd = "movable" in str(game) or "Sliced" in str(game)
    return not odd and game.with_name("traj_data.json").exists()


def _json(file: Path) -> dict[str, Any]:
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise BadInput(f"cannot be read: {problem}", file=str(file)) from None
    if not isinstance(said, dict):
        raise BadInput("is no JSON object", file=str(file))
    return said
