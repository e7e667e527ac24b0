"""README.md and docs/tutorial.md, word for word, with the built wheel where nothing else is of ours.

Prints how long a reader's commands take, without installing.
"""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from synth.simulated_model import SimulatedModel
from tests.support.drills import checkout, quiet_port
from tests.support.recipes import Block, blocks, changed

ROOT = Path(__file__).parents[2]
README, PAGE = (ROOT / "README.md").read_text(), (ROOT / "docs" / "tutorial.md").read_text()
UNDERSTOOD, FAILING = "pdoctor runs show", "pytest test_refunds.py"
"""The command that shows the finding, and the one whose first run fails."""
FAILS = {
    UNDERSTOOD: [1],
    FAILING: [1, 0],
    "pdoctor runs list": [1],
    "pdoctor replay test_refunds.jsonl --agent recorded": [1],
}
"""Exit codes of the commands that do not always end with 0, in their order."""
REST_OF_THE_AGENT = """
import os

from openai import OpenAI


def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


tools = [tool("refund_payment"), tool("verify_identity")]
client = OpenAI(base_url=os.environ["MODEL"], api_key="none")
messages = [{"role": "user", "content": "Refund payment p-17"}]
while True:
    asked = client.chat.completions.create(model="replay:r", messages=messages, tools=tools)
    said = asked.choices[0].message
    messages.append(said)
    if not said.tool_calls:
        break
    messages += [{"role": "tool", "tool_call_id": c.id, "content": "ok"} for c in said.tool_calls]
"""
"""What stands below the README's one line: an agent that knows nothing of us."""
MODEL_OF_THE_AGENT = {
    "run_id": "r",
    "calls": [
        {"id": "1", "name": "refund_payment", "arguments": {"payment": "p-17"}},
        {"id": "2", "name": "verify_identity", "arguments": {"customer": "c-4"}},
    ],
}
LEFT_OUT = "..."
VARIES = re.compile(r"[0-9a-f]{32}|127\.0\.0\.1:\d+")


@dataclass(frozen=True)
class Command:
    """A line to type, and what it is to print."""

    line: str
    shown: tuple[str, ...]


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        line, *shown = part.splitlines()
        found.append(Command(line, tuple(shown)))
    return found


def missing(shown: tuple[str, ...], said: str) -> str | None:
    """The first line of `shown` that does not follow the one before, or after `...` any later one."""
    lines = iter([VARIES.sub("-", line).rstrip() for line in said.splitlines()])
    skips = False
    for wanted in (VARIES.sub("-", line) for line in shown):
        if wanted == LEFT_OUT:
            skips = True
        elif skips:
            if wanted not in lines:
                return wanted
            skips = False
        elif next(lines, None) != wanted:
            return wanted
    return None


@pytest.mark.parametrize(
    ("shown", "said", "lacks"),
    [
        pytest.param("a\nb", "a\nb\nc", None, id="the-rest-of-the-output-is-free"),
        pytest.param("a\nc", "a\nb\nc", "c", id="a-line-between"),
        pytest.param("...\nc", "a\nb\nc", None, id="lines-left-out"),
        pytest.param("...\nb\n...\na", "a\nb\nc", "a", id="another-order"),
        pytest.param("at 127.0.0.1:4318", "at 127.0.0.1:5000", None, id="another-port"),
    ],
)
def test_lines_that_do_not_come_are_told(shown: str, said: str, lacks: str | None) -> None:
    assert missing(tuple(shown.splitlines()), said) == lacks


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment with the wheel, and with what it needs from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    made = checkout(folder)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(made)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    programs = folder / "venv" / "bin"
    subprocess.run(
        [*pip, "--python", str(programs / "python"), "install", "--no-deps", str(wheel)], check=True
    )
    (packages,) = (folder / "venv").glob("lib/python3*/site-packages")
    # What is added by a .pth file has none of its own read: not the one that names this checkout.
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    (programs / "pytest").write_text(f"#!{programs}/python\nimport pytest\nraise SystemExit(pytest.main())\n")
    (programs / "pytest").chmod(0o755)
    return programs


def surroundings(programs: Path, folder: Path) -> dict[str, str]:
    """Those of a reader: no variable of these tests, and a port that is free."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PDOCTOR"))}
    kept.pop("PYTHONPATH", None)
    port = quiet_port()
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PDOCTOR_CACHE": str(folder / "cache"),
        "PDOCTOR_ENDPOINT": f"http://127.0.0.1:{port}",
        "PDOCTOR_SERVE_HTTP_PORT": str(port),
        "PDOCTOR_SERVE_GRPC_PORT": "off",
    }


@contextmanager
def served(command: Command, folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """The collector in its own terminal, once it has said what the page shows."""
    with subprocess.Popen(
        command.line.split(), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert missing(command.shown, process.stdout.readline()) is None
            yield
        finally:
            process.terminate()


def put(folder: Path, block: Block) -> None:
    file = folder / block.about
    file.write_text(changed(file.read_text(), block.text) if block.kind == "diff" else block.text)


@pytest.mark.heavy
def test_the_tutorial_is_true_from_the_first_command_to_the_last(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reached = followed(PAGE, tmp_path, surroundings(installed, tmp_path))
    with capsys.disabled():
        sys.stdout.write(
            f"\ntutorial: understood after {reached[UNDERSTOOD]:.0f} s, a failing test after "
            f"{reached[FAILING]:.0f} s\n"
        )


@pytest.mark.heavy
def test_every_command_of_the_readme_does_what_it_shows(installed: Path, tmp_path: Path) -> None:
    (first,) = [block.text for block in blocks(README) if block.about == "my_agent.py"]
    page = README.replace(first, first + REST_OF_THE_AGENT)
    with SimulatedModel(records=(MODEL_OF_THE_AGENT,)) as model:
        environment = surroundings(installed, tmp_path) | {"MODEL": model.base_url}
        reached = followed(page, tmp_path, environment)
    assert reached.keys() == {command.line for command in to_run(README)}


@pytest.mark.heavy
def test_an_installed_collector_has_its_pages(installed: Path, tmp_path: Path) -> None:
    asked = "from collector.ui.help import docs, folder; print(folder(), *sorted(docs()), sep='\\n')"
    done = subprocess.run(
        [installed / "python", "-c", asked], cwd=tmp_path, env=surroundings(installed, tmp_path),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    place, *names = done.stdout.split("\n")[:-1]
    assert Path(place).is_relative_to(installed.parent)
    assert names == sorted(file.stem for file in (ROOT / "docs").glob("*.md"))
    assert (Path(place) / "order-error.png").is_file()


def to_run(page: str) -> list[Command]:
    """The commands of a page but the installation, which the environment is, and the collector."""
    told = [command for block in blocks(page) if block.kind == "console" for command in commands(block)]
    return [one for one in told if not one.line.startswith(("pip install", "pdoctor serve"))]


def followed(page: str, folder: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Do what a page says, compare what it shows; when each command was first done, in seconds."""
    how = subprocess.run(
        ["python", "-c", "import synth; print(synth.__file__)"], env=environment, cwd=folder,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not how.stdout.startswith(str(ROOT)), "the checkout, not the wheel"
    codes = {line: iter(found) for line, found in FAILS.items()}
    reached: dict[str, float] = {}
    began = time.monotonic()
    with ExitStack() as opened:
        for block in blocks(page):
            if block.about:
                put(folder, block)
                continue
            for command in commands(block):
                if command.line.startswith("pip install"):
                    continue
                if command.line.startswith("pdoctor serve"):
                    opened.enter_context(served(command, folder, environment))
                    continue
                done = subprocess.run(
                    command.line, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
                    timeout=300,
                )  # fmt: skip
                told = f"$ {command.line}\n{done.stdout}{done.stderr}"
                assert done.returncode == next(codes.get(command.line, iter([0])), 0), told
                assert missing(command.shown, done.stdout) is None, told
                reached.setdefault(command.line, time.monotonic() - began)
    return reached


@pytest.mark.parametrize("page", [README, PAGE], ids=["readme", "tutorial"])
def test_the_screen_of_the_finding_has_the_rule_the_calls_and_the_repair(page: str) -> None:
    (shown,) = ["\n".join(one.shown) for one in to_run(page) if one.line == UNDERSTOOD]
    for words in ("rule: “Verify identity must happen before", "!0    refund_", "would have worked:"):
        assert words in shown
