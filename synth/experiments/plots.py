"""Figures: success over the number of actions (paper, Fig. 8 and 9). Needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.errors import MissingExtra
from synth.experiments.capability import SUCCESS_LIMIT, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

MARKERS = "osv^Dx+*"


def capability_figure(curves: Sequence[Curve], title: str) -> Figure:
    """A panel a model: success rate with its 95 % interval over the number of actions."""
    models = list(dict.fromkeys(curve.model for curve in curves)) or [""]
    figure = _figure(len(models))
    panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
    sizes = [point.actions for curve in curves for point in curve.points] or [1]
    for axes, model in zip(panels, models, strict=True):
        _panel(axes, [curve for curve in curves if curve.model == model])
        axes.set(title=model, xlabel="number of actions", ylim=(-0.02, 1.02))
        axes.set_xlim(min(sizes) - 0.5, max(sizes) + 0.5)
    panels[0].set(ylabel="success rate")
    figure.suptitle(title)
    return figure


def _panel(axes: Axes, curves: Sequence[Curve]) -> None:
    """The curves of one model."""
    for number, curve in enumerate(curves):
        points = [point for point in curve.points if point.rate.value is not None]
        rates = [point.rate.value or 0.0 for point in points]
        bounds = [point.rate.interval for point in points]
        # Rounding may put a bound a hair on the wrong side of the rate.
        below = [max(0.0, rate - low) for rate, (low, _) in zip(rates, bounds, strict=True)]
        above = [max(0.0, high - rate) for rate, (_, high) in zip(rates, bounds, strict=True)]
        aside = 0.06 * (number - (len(curves) - 1) / 2)
        axes.errorbar(
            [point.actions + aside for point in points],
            rates,
            yerr=[below, above],
            marker=MARKERS[number % len(MARKERS)],
            capsize=3,
            label=f"{curve.agent}{_left_out(curve)}",
        )
    axes.axhline(SUCCESS_LIMIT, color="grey", linestyle="--", linewidth=1)
    axes.xaxis.set_major_locator(_whole_numbers())
    if curves:
        axes.legend(fontsize="small", facecolor="none")


def _left_out(curve: Curve) -> str:
    return f" ({curve.errors} in error left out)" if curve.errors else ""


def rates_figure(curves: Sequence[tuple[str, Sequence[float], Sequence[float]]], title: str) -> Figure:
    """Progress (lines) and repetition (dashes) over the steps, for each (player, PR, RR)."""
    figure = _figure()
    axes = figure.add_subplot()
    for number, (player, reached, again) in enumerate(curves):
        steps, colour = range(1, len(reached) + 1), f"C{number}"
        axes.plot(steps, reached, color=colour, label=f"{player}: progress")
        axes.plot(steps, again, color=colour, linestyle="--", label=f"{player}: repetition")
    axes.set(title=title, xlabel="step", ylabel="rate", ylim=(-0.02, 1.02))
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.legend(fontsize="small")
    return figure


def repeated_figure(games: Sequence[tuple[str, Sequence[bool]]], steps: int, title: str) -> Figure:
    """A line of cells for each game: light for a new action, dark for one that was done before."""
    figure = _figure()
    axes = figure.add_subplot()
    for line, (_, repeated) in enumerate(games):
        for wanted, colour in ((False, "#c6d8e8"), (True, "#7a1f2b")):
            at = [(step - 0.5, 1) for step, again in enumerate(repeated, 1) if again is wanted]
            axes.broken_barh(at, (line - 0.4, 0.8), facecolors=colour, edgecolors="white", linewidth=0.5)
    axes.set(title=title, xlabel="step", xlim=(0.5, steps + 0.5), ylim=(len(games) - 0.5, -0.5))
    axes.set_yticks(range(len(games)), [name for name, _ in games])
    axes.xaxis.set_major_locator(_whole_numbers())
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=144)
    return stream.getvalue()


OWN_COLOURS = (
    "<style>svg { color: #1b1f24; fill: currentColor; } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6edf3; } }</style>"
)
"""Text and axes are dark on light pages and light on dark ones."""


def svg(figure: Figure) -> str:
    """The figure as an SVG picture without a background: the same bytes for the same figure."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "pdoctor"}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    drawn = stream.getvalue()
    at = drawn.index("<defs>")
    return drawn[:at] + OWN_COLOURS + drawn[at:].replace("#000000", "currentColor")


def _figure(panels: int = 1) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("a figure", "report") from error
    return Figure(figsize=(7.0 if panels == 1 else 4.5 * panels, 4.2), layout="constrained")


def _whole_numbers() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)
