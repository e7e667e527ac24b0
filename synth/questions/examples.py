"""Worked examples for prompts, three of each data set's kind; none is a question of any data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth.questions.model import CALCULATOR, LOOKUP, SEARCH

MOST = 3
"""Examples of each data set."""


@dataclass(frozen=True, slots=True)
class Action:
    """One use of a tool."""

    tool: str
    given: str
    """Its input; `#E1` stands for the result of the first action, as in ReWOO."""
    result: str


@dataclass(frozen=True, slots=True)
class Step:
    """A thought and the actions that follow from it, none of which waits for another."""

    thought: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the way to its answer with tools, and without."""

    question: str
    steps: tuple[Step, ...]
    conclusion: str
    """The last thought before the answer."""
    reasoning: str
    """All thoughts of one who has no tools."""
    answer: str


def _sum(given: str, result: str) -> Action:
    return Action(CALCULATOR, given, result)


_ROLLS = Example(
    "A baker makes 14 trays of 12 rolls each and sells 130 rolls. How many rolls are left?",
    (
        Step("First I need the number of rolls that were made.", (_sum("14 * 12", "168"),)),
        Step("From these the rolls that were sold are taken away.", (_sum("#E1 - 130", "38"),)),
    ),
    "168 rolls were made, and 38 of them are left.",
    "14 trays of 12 rolls are 14 * 12 = 168 rolls. 130 are sold, so 168 - 130 = 38 are left.",
    "38",
)
_PAGES = Example(
    "Mia reads 25 pages on each of five working days and 40 pages on each of two free days. How many pages "
    "does she read in this week?",
    (
        Step(
            "I need the pages of the working days and those of the free days.",
            (_sum("5 * 25", "125"), _sum("2 * 40", "80")),
        ),
        Step("Both together are the pages of the week.", (_sum("#E1 + #E2", "205"),)),
    ),
    "125 and 80 pages are 205 pages.",
    "On working days she reads 5 * 25 = 125 pages, on free days 2 * 40 = 80. Together 125 + 80 = 205.",
    "205",
)
_RIDES = Example(
    "A bus ride costs $2.40, a pass for the month $60. After how many rides does the pass cost no more than "
    "the single rides?",
    (Step("I divide the price of the pass by that of a ride.", (_sum("60 / 2.40", "25"),)),),
    "After 25 rides both cost the same.",
    "The pass costs as much as 60 / 2.40 = 25 rides.",
    "25",
)

_THAMES = "The River Thames flows through the south of England. It is 346 km long."
_SEVERN = "The River Severn rises in Wales and ends in the Bristol Channel. It is 354 km long."
_RIVERS = Example(
    "Which river is longer, the Thames or the Severn?",
    (
        Step(
            "I need the length of each river.",
            (Action(SEARCH, "River Thames", _THAMES), Action(SEARCH, "River Severn", _SEVERN)),
        ),
    ),
    "The Severn has 354 km, the Thames 346 km.",
    "The Thames is about 346 km long, the Severn about 354 km. The Severn is longer.",
    "the Severn",
)
_NIGHT = "The Starry Night is an oil painting of June 1889 by Vincent van Gogh. It shows a village at night."
_PAINTER = "Vincent van Gogh was a Dutch painter. He was born in Zundert, in the Netherlands."
_BORN = Example(
    "In which town was the painter of The Starry Night born?",
    (
        Step("First I need the painter.", (Action(SEARCH, "The Starry Night", _NIGHT),)),
        Step("Then I need where the painter was born.", (Action(SEARCH, "Vincent van Gogh", _PAINTER),)),
    ),
    "Vincent van Gogh painted it, and he was born in Zundert.",
    "The Starry Night is by Vincent van Gogh. Vincent van Gogh was born in Zundert.",
    "Zundert",
)
_LAKES = Example(
    "Do Lake Como and Lake Garda lie in the same country?",
    (
        Step(
            "I need the country of each lake.",
            (
                Action(SEARCH, "Lake Como", "Lake Como is a lake in the north of Italy, below the Alps."),
                Action(SEARCH, "Lake Garda", "Lake Garda is the largest lake of Italy."),
            ),
        ),
    ),
    "Both lakes lie in Italy.",
    "Lake Como lies in Italy. Lake Garda lies in Italy, too.",
    "yes",
)

_TUNGSTEN = Example(
    "Which letter is the chemical symbol of tungsten?",
    (
        Step(
            "The page about tungsten names its symbol.",
            (Action(SEARCH, "Tungsten", "Tungsten is a hard metal. Its symbol is W, its atomic number 74."),),
        ),
    ),
    "The symbol is W.",
    "Tungsten is also called wolfram, and its symbol is W.",
    "W",
)
_STRAIT = Example(
    "Which strait lies between Sicily and the mainland of Italy?",
    (
        Step(
            "The page about Sicily may name it.",
            (
                Action(
                    SEARCH, "Sicily",
                    "Sicily is the largest island of the Mediterranean Sea. The Strait of Messina parts it "
                    "from the mainland.",
                ),
            ),
        ),
    ),
    "It is the Strait of Messina.",
    "Sicily is parted from Calabria by the Strait of Messina.",
    "Strait of Messina",
)  # fmt: skip
_NOVEL = Example(
    "Who wrote the novel Dracula?",
    (
        Step(
            "The page about the novel names its author.",
            (Action(SEARCH, "Dracula", "Dracula is a Gothic novel of 1897. It is told in letters."),),
        ),
        Step(
            "Its first sentences do not, so I look for the word.",
            (Action(LOOKUP, "author", "Its author is Bram Stoker, who was born in Dublin."),),
        ),
    ),
    "Bram Stoker wrote it.",
    "Dracula is a novel by Bram Stoker.",
    "Bram Stoker",
)

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "gsm8k": (_ROLLS, _PAGES, _RIDES),
    "hotpotqa": (_RIVERS, _BORN, _LAKES),
    "triviaqa": (_TUNGSTEN, _STRAIT, _NOVEL),
}
"""Data set -> its examples, in the order in which they are taken."""
