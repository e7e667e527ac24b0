"""The commands of docs/production.md, in their order; what they install is the drill of the image's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.deployed import DEPLOY
from tests.support.drills import Image, Running, environment_file, mapped, own, plain, quiet_port

PAGE = (DEPLOY.parent / "docs" / "production.md").read_text()
BLOCKS = re.findall(r"^```console([^\n]*)\n(.*?)^```", PAGE, re.S | re.M)
NEED_MORE = (
    "useradd", "install -d", "cp deploy/systemd", "systemctl", "systemd-analyze", "export",
    "make release &&", "cd deploy", "(umask", "docker", "kubectl", "helm",
)  # fmt: skip
"""What the commands that are not run begin with."""
KINDS = {" run", " not run", " run by the image"}


def commands(kind: str) -> Iterator[str]:
    for said, block in BLOCKS:
        for line in block.splitlines():
            assert line[:2] in ("# ", "$ "), line
            if said == kind:
                yield line[2:]


def test_every_block_says_whether_it_is_run() -> None:
    assert {kind for kind, _ in BLOCKS} == KINDS
    assert len(BLOCKS) == PAGE.count("\n```\n")
    assert len([*commands(" run")]) >= 12
    for line in commands(" not run"):
        assert line.startswith(NEED_MORE), line


def test_what_the_page_installs_the_image_installs() -> None:
    steps = (DEPLOY / "Dockerfile").read_text()
    for line in commands(" run by the image"):
        for word in line.split()[2:]:
            assert word.replace("0.1.0-py3-none-any", "*") in steps, word


def test_every_file_that_the_page_names_is_there() -> None:
    named = {one.rstrip("/.") for one in re.findall(r"\b(?:deploy|tests)/[\w./-]+", PAGE)}
    assert len(named) > 8
    for path in named:
        assert (DEPLOY.parent / path).exists(), path


@pytest.mark.heavy
def test_the_commands_of_the_page_work_in_their_order(image: Image, folder: Path) -> None:
    port = str(quiet_port())
    places = {
        "/opt/pdoctor": str(image.root / "opt" / "pdoctor"), "/etc/pdoctor": f"{folder}/etc", "4318": port,
        "/var/lib/pdoctor": f"{folder}/state", "/var/backups/pdoctor": f"{folder}/backups",
    }  # fmt: skip
    for name in ("state", "backups", "etc"):
        own(folder / name)
    path = f"{image.environment['PATH']}:{os.environ['PATH']}"
    environment = {"PATH": path, "PDOCTOR_SERVE_HTTP_PORT": port, "PDOCTOR_SERVE_GRPC_PORT": "off"}
    serving: list[Running] = []
    try:
        for line in commands(" run"):
            command = mapped(line, places)
            if line.startswith("set -a"):
                said = environment_file(folder / "etc" / "collector.env")
                environment |= {name: mapped(value, places) for name, value in said.items()}
            elif line == "pdoctor serve":
                log = folder / "log"
                serving.append(
                    Running(
                        plain("bash", "-c", f"exec {command}"), log=log, env=environment, cwd=folder / "state"
                    )
                )
            elif line.startswith("curl"):
                serving[0].healthy(["bash", "-c", f"{command} -f"], env={**environment, "no_proxy": "*"})
            else:
                beside = "promtool" in line or "cp deploy" in line  # of the checkout, not of the service's
                told = ["bash", "-ec", command] if beside else plain("bash", "-ec", command)
                where = DEPLOY.parent if beside else folder / "state"
                done = subprocess.run(told, cwd=where, env=environment, capture_output=True, text=True)
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
                if " keys create " in line:
                    assert done.stdout.startswith("pdk_")
        assert {path.name for path in (folder / "backups").iterdir()} == {"today.backup", "before.backup"}
        assert serving[0].end() == 0, serving[0].said()
    finally:
        for one in serving:
            one.end()
