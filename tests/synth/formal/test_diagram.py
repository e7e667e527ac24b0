"""State diagrams: every state and arrow of the automaton, and what is special about a state."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from synth.errors import BadInput
from synth.formal.diagram import rows_of, svg_of
from synth.formal.monitor import SHIPPED, monitor_of, shipped

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str) -> tuple[list[str], int, int, int]:
    """(names in the boxes, arrows, dashed boxes, double ones)."""
    top = ET.fromstring(svg)
    rects = [rect for rect in top.findall(f"{SVG}rect") if rect.get("rx")]
    arrows = [path for path in top.findall(f"{SVG}path") if path.get("marker-end")]
    dashed = [rect for rect in rects if rect.get("stroke-dasharray")]
    double = [rect for rect in rects if rect.get("fill") == "none"]
    return [str(text.text) for text in top.findall(f"{SVG}text")], len(arrows), len(dashed), len(double)


def test_the_diagram_of_react_is_that_of_the_paper() -> None:
    names = ["Ques", "Tht", "Act", "Act-Inp", "Obs", "Final-Tht", "Ans"]
    assert drawn(svg_of(shipped("react"))) == (names, 9, 1, 1)


def test_the_diagram_of_pass_has_its_batch() -> None:
    names = ["Ques", "Plan", "Act", "Act-Inp", "Sum", "Final-Tht", "Ans"]
    assert drawn(svg_of(shipped("pass"))) == (names, 11, 1, 1)


def test_the_table_has_the_boxes_and_arrows_of_the_diagram() -> None:
    for name in SHIPPED:
        boxes, arrows, dashed, double = drawn(svg_of(shipped(name)))
        start, *rows = rows_of(shipped(name))
        assert [row[0] for row in rows] == boxes
        assert sum(len(row[2].split(", ")) for row in (start, *rows) if row[2] != "-") == arrows
        assert sum(1 + (row[3] == "yes") for row in rows if row[1] == "environment") == dashed
        assert sum(row[3] == "yes" for row in rows) == double


def test_a_long_name_is_cut() -> None:
    drawn = svg_of(monitor_of(f"(next {'x' * 500} b)"))
    assert f">{'x' * 57}...</text>" in drawn


@pytest.mark.parametrize("name", SHIPPED)
def test_boxes_lie_beside_one_another_and_within_the_picture(name: str) -> None:
    top = ET.fromstring(svg_of(shipped(name)))
    boxes = [rect for rect in top.findall(f"{SVG}rect") if rect.get("rx") and rect.get("fill") != "none"]
    edges = [(float(box.get("x", 0)), float(box.get("x", 0)) + float(box.get("width", 0))) for box in boxes]
    assert all(one[1] < other[0] for one, other in pairwise(edges))
    assert edges[-1][1] <= float(top.get("width", 0))


def test_names_are_text_and_what_is_too_large_is_refused() -> None:
    assert drawn(svg_of(monitor_of("(next <b> &gt x)")))[0] == ["<b>", "&gt", "x"]
    with pytest.raises(BadInput, match="cannot be read"):
        svg_of(monitor_of(f"(next {' '.join(f's{k}' for k in range(101))})"))
