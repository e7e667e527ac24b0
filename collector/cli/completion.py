"""`pdoctor completion`: a script by which a shell completes verbs, their parts and their options."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import click

from collector.cli.console import clear_errors

OWN = {
    "run": ["--endpoint"],
    "status": ["--json"],
    "mcp-proxy": ["--policies", "--mode", "--max-message", "--url", "--host", "--port"],
}
"""Options of the verbs that need nothing but the tracer."""

BASH = """\
_pdoctor() {{
  local words="${{COMP_WORDS[*]:1:COMP_CWORD-1}}" found=""
  while [ -n "$words" ] && [ -z "$found" ]; do
    case "$words" in
{cases}
      *" "*) words="${{words% *}}" ;;
      *) words="" ;;
    esac
  done
  [ "$COMP_CWORD" -eq 1 ] && found="{verbs}"
  COMPREPLY=($(compgen -W "$found" -- "${{COMP_WORDS[COMP_CWORD]}}"))
  [ ${{#COMPREPLY[@]}} -eq 0 ] && COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -F _pdoctor pdoctor
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Write the script that completes `pdoctor` in SHELL.

    \b
    source <(pdoctor completion bash)        # in ~/.bashrc
    source <(pdoctor completion zsh)         # in ~/.zshrc
    pdoctor completion fish > ~/.config/fish/completions/pdoctor.fish
    """
    with clear_errors():
        known = dict(words_by_place())
        click.echo(
            fish(known) if shell == "fish" else (ZSH if shell == "zsh" else "") + bash(known), nl=False
        )


def words_by_place() -> Iterator[tuple[str, list[str]]]:
    """What may follow: `""` -> the verbs, `runs` -> its parts, `runs list` -> its options."""
    from importlib.resources import files

    modules = sorted(path.name.removesuffix(".py") for path in files("collector.cli").iterdir())
    verbs = {name: made for name in modules if (made := _command(name)) is not None}
    yield "", sorted([*verbs, *OWN])
    yield from OWN.items()
    for verb, made in verbs.items():
        yield from _places(verb, made)


def _command(module: str) -> click.Command | None:
    """The click command of a verb; None for what is no verb, or needs more than is installed."""
    try:
        found: Any = getattr(importlib.import_module(f"collector.cli.{module}"), "command", None)
    except ImportError:
        return None
    return found if isinstance(found, click.Command) and found.name == module else None


def _places(place: str, made: click.Command) -> Iterator[tuple[str, list[str]]]:
    options = [name for param in made.params for name in param.opts if name.startswith("--")]
    parts = getattr(made, "commands", {})
    yield place, [*parts, *options, "--help"]
    for name, part in parts.items():
        yield from _places(f"{place} {name}", part)


def bash(known: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'      "{place}") found="{" ".join(words)}" ;;' for place, words in known.items() if place
    )
    return BASH.format(cases=cases, verbs=" ".join(known[""]))


def fish(known: dict[str, list[str]]) -> str:
    lines = [f"complete -c pdoctor -n __fish_use_subcommand -f -a '{' '.join(known[''])}'"]
    for place, words in known.items():
        if not place:
            continue
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in place.split())
        parts = [word for word in words if not word.startswith("--")]
        if parts:
            lines.append(f"complete -c pdoctor -n '{seen}' -f -a '{' '.join(parts)}'")
        lines += [f"complete -c pdoctor -n '{seen}' -l {word[2:]}" for word in words if word.startswith("--")]
    return "\n".join(lines) + "\n"
