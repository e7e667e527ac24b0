"""Pictures: well-formed SVG whatever the texts, with a table of the same."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.pictures import (
    Bar,
    Edge,
    Line,
    Point,
    Share,
    Tick,
    curve,
    graph,
    lane,
    lines,
    shares,
    sparkline,
    stacked_bars,
)

HOSTILE = "<script>alert(1)</script>\"'&"
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
)
COUNTS = st.integers(0, 10**9)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def kinds(svg: str, tag: str) -> list[str]:
    return [one.get("class", "") for one in parsed(svg).iter(tag)]


def test_bars_stack_from_the_ground_and_lead_somewhere() -> None:
    bars = [Bar("10:00", {"pass": 3, "fail": 1}, "/runs?q=a&b"), Bar("11:00", {})]
    drawn = stacked_bars("t", bars, {"pass": "pass", "fail": "fail"})
    assert kinds(drawn.svg, "rect") == ["pass", "fail"]
    assert [one.get("href") for one in parsed(drawn.svg).iter("a")] == ["/runs?q=a&b"]
    assert (drawn.headers, drawn.rows) == (("From", "pass", "fail"), (("10:00", "3", "1"),))
    low, high = (float(one.get("y", "")) for one in parsed(drawn.svg).iter("rect"))
    assert high < low


LEVELS = [
    (1, ["1", "0"]), (400, ["400", "200", "0"]), (1_000, ["1k", "500", "0"]), (7_000, ["8k", "4k", "0"]),
    (200_000, ["200k", "100k", "0"]), (10**9, ["1G", "500M", "0"]),
]  # fmt: skip


@pytest.mark.parametrize(("most", "said"), LEVELS)
def test_what_the_levels_of_bars_stand_for_is_short_and_not_cut_at_the_top(
    most: int, said: list[str]
) -> None:
    drawn = parsed(stacked_bars("t", [Bar("now", {"pass": most})], {"pass": "pass"}).svg)
    levels = [one for one in drawn.iter() if one.get("text-anchor") == "end" and one.text != "now"]
    assert [one.text for one in levels] == said
    assert min(float(one.get("y", "")) for one in levels) >= 20 * 0.75, "as tall as a capital of 20 units"


@given(st.lists(st.tuples(TEXTS, COUNTS, COUNTS), max_size=60))
def test_bars_of_anything_are_well_formed_and_inside(told: list[tuple[str, int, int]]) -> None:
    bars = [Bar(label, {"pass": good, "fail": bad}) for label, good, bad in told]
    drawn = parsed(stacked_bars("t", bars, {"pass": HOSTILE, "fail": "fail"}).svg)
    for one in drawn.iter("rect"):
        assert float(one.get("y", "")) >= -4
        assert float(one.get("height", "")) > 0


def test_a_share_has_its_interval_as_text() -> None:
    drawn = shares("t", [Share(HOSTILE, 1, 4, 0.25, 0.05, 0.7)])
    assert drawn.rows == ((HOSTILE, "1 of 4", "25.0% (5.0% to 70.0%)"),)
    assert "<script" not in drawn.svg
    assert kinds(drawn.svg, "circle") == ["rate"]


def test_a_curve_breaks_where_nothing_is_known() -> None:
    points = [Point("a", 1.0, 0.5, 1.5), Point("b", None), Point("c", 3.0), Point("d", float("nan"))]
    drawn = curve("t", points)
    assert kinds(drawn.svg, "polyline") == ["line", "line"]
    assert kinds(drawn.svg, "polygon") == ["band"]
    assert parsed(curve("t", []).svg) is not None


@given(st.lists(COUNTS, max_size=50))
def test_a_sparkline_has_a_bar_for_each_that_is_not_nothing(counts: list[int]) -> None:
    assert len(kinds(sparkline("t", counts), "rect")) == sum(map(bool, counts))


def test_a_stretch_is_outlined_where_only_bounds_are_known() -> None:
    drawn = lane((250.0, 500.0), "call", inferred=True, bad=True, mark=750.0)
    assert kinds(drawn, "rect") == ["stretch call inferred bad"]
    assert kinds(drawn, "path") == ["grid", "dead"]
    assert [(r.get("x"), r.get("width")) for r in parsed(drawn).iter("rect")] == [("250", "500")]
    assert kinds(lane(None, "call"), "rect") == []


def test_what_must_come_first_stands_further_left_and_broken_edges_are_marked() -> None:
    drawn = graph("t", {"a": "A", "b": HOSTILE, "c": "C"}, [Edge("a", "b"), Edge("b", "c", True, 2)])
    assert drawn is not None
    places = [float(r.get("x", "")) for r in parsed(drawn.svg).iter("rect")]
    assert places == sorted(places)
    assert [k for k in kinds(drawn.svg, "path") if "edge" in k] == ["edge", "edge broken"]
    assert drawn.rows[1] == (HOSTILE, "C", "broken")
    assert graph("t", {str(at): "x" for at in range(100)}, []) is None


def test_a_circle_of_orders_is_drawn_all_the_same() -> None:
    assert graph("t", {"a": "A", "b": "B"}, [Edge("a", "b"), Edge("b", "a")]) is not None


def test_lines_have_a_scale_a_strip_of_marked_steps_and_a_table() -> None:
    drawn = lines(HOSTILE, [Line("progress", "Progress", (0, 0.5, 1)), Line("a", HOSTILE, (0.0, 0.0))], (2,))
    assert drawn.headers == ("After", "Progress", HOSTILE)
    assert drawn.rows == (("call 0", "0%", "0%"), ("call 1", "50%", "0%"), ("call 2", "100%", "-"))
    assert kinds(drawn.svg, "polyline") == ["progress", "a"]
    assert "marked" in kinds(drawn.svg, "path")
    texts = {one.text: one for one in parsed(drawn.svg).iter("text")}
    assert {"0%", "50%", "100%", "call 0", "call 2"} <= texts.keys()
    wide, tall = (float(texts["100%"].get(name, "")) for name in ("x", "y"))
    assert (wide >= 20 * 2.9, tall >= 20 * 0.75) == (True, True), "as wide and tall as letters of 20 units"


def test_the_table_of_very_many_steps_has_those_at_which_a_line_bends() -> None:
    rates = [0.0] * 400 + [1.0] * 601
    drawn = lines("x", [Line("progress", "Progress", rates)])
    assert [row[0] for row in drawn.rows] == ["call 0", "call 400", "call 1000"]


def test_the_interval_of_a_point_alone_is_seen() -> None:
    alone = curve("x", [Point("a", None), Point("b", 2.0, 1.0, 3.0), Point("c", None)])
    assert "interval" in kinds(alone.svg, "path")


def test_curves_that_are_compared_have_one_scale() -> None:
    low = curve("x", [Point("a", 1.0), Point("b", 2.0)], scale=(0.0, 10.0))
    assert "10" in [one.text for one in parsed(low.svg).iter("text")]


def test_instants_are_marked_below_the_bars_where_they_are_and_levels_stand_at_both_ends() -> None:
    ticks = [Tick(0.0, "26 Nov"), Tick(0.25, "06:00"), Tick(0.99, "27 Nov")]
    bars = [Bar(str(at), {"pass": 4}) for at in range(4)]
    drawn = [
        parsed(stacked_bars("t", bars, {"pass": "pass"}, ticks=ticks).svg),
        parsed(curve("t", [Point(str(at), 4.0) for at in range(4)], ticks=ticks).svg),
    ]
    for svg, begins, ends in zip(drawn, (44.0, 70.0), (1000.0, 988.0), strict=True):
        found = {
            str(one.text): (float(one.get("x", "")), one.get("text-anchor"))
            for one in svg.iter()
            if one.text and one.get("x")
        }
        wide = ends - begins
        assert found["26 Nov"] == (begins, "start")
        assert found["06:00"] == (pytest.approx(begins + wide / 4, abs=0.01), "middle")
        assert found["27 Nov"] == (pytest.approx(begins + wide * 0.99, abs=0.01), "end")
        again = [one for one in svg.iter() if one.get("class") == "again"]
        assert [one.get("display") for one in again] == ["none"] * len(again)
        assert "4" in [text.text for one in again for text in one]
    seconds = [float(one.get("x", "")) for one in drawn[0].iter() if one.get("class") == "pass"]
    assert seconds[1] == pytest.approx(44 + 956 / 4 + 956 / 4 * 0.08, abs=0.01)  # right of its tick
    dots = [float(one.get("cx", "")) for one in drawn[1].iter() if one.get("class") == "rate"]
    assert dots == [pytest.approx(70 + 918 / 4 * (at + 0.5), abs=0.01) for at in range(4)]
