"""Which name was meant: names that differ as slips of the pen do."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORT = 5
"""Names with fewer letters may differ by one only, longer ones by two."""

VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    accept activate add allow append approve archive assign attach ban begin bill block book buy call
    cancel change charge check claim clear clone close commit confirm connect copy count create credit
    cut deactivate debit delete deny deploy detach disable dispatch download drop edit enable end evict
    exit export extend fetch file fill find finish fix flag forward free freeze get give go grant hide
    hold import include insert install invite issue join kill leave list load lock log login logout mail
    make mark merge mount move mute notify open order pause pay pin place plan play poll pop post print
    pull push put quit quote raise read rebook receive refund reject release remove rename reopen
    reorder repay replace reply report request resend reserve reset restart restore resume return revoke
    run save schedule search sell send serve set settle share ship show shut sign skip sort split start
    stop store submit swap sync tag take tell test top track transfer trash unban unblock undo unfreeze
    unlink unlock unmount unmute unpin untag update upgrade upload use validate verify view void vote
    wait wake withdraw write zip
        """,
    )
)
"""Words that one name has in the place of another's, and that change what it means."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+")
_SEPARATORS = re.compile(r"[_\-.\s]+")


def near(name: str, others: Iterable[str]) -> str | None:
    """The one of `others` that `name` is most likely a slip of; None where none is near.

    Near is what is equal but for case and separators, has the same words in another order, or is one or
    two letters away. Digits are no letters: `search_v2` is not a slip of `search_v3`.
    """
    found = [(far, other) for other in set(others) - {name} if (far := _far(name, other)) is not None]
    return min(found)[1] if found else None


def is_another(name: str, other: str) -> bool:
    """Do two names differ in whole words that say what is done? Then neither is a slip of the other."""
    words, others = _words(name), _words(other)
    if len(words) != len(others) or sorted(words) == sorted(others):
        return False
    differ = {word for pair in zip(words, others, strict=True) if pair[0] != pair[1] for word in pair}
    return differ <= VERBS


def _far(a: str, b: str) -> int | None:
    """How far two names are apart; None where they are different names."""
    if len(_words(a)) == len(_words(b)) and sorted(_words(a)) == sorted(_words(b)):
        return 0
    plain, other = ("".join(_SEPARATORS.split(name.casefold())) for name in (a, b))
    if plain == other:
        return 0
    if re.findall(r"\d+", plain) != re.findall(r"\d+", other):
        return None
    shorter = min(len(plain), len(other))
    most = min(1 if shorter < SHORT else 2, shorter - 1)
    edits = _edits(plain, other, most)
    return edits if edits <= most else None


def _words(name: str) -> list[str]:
    """`getUserInfo` and `get-user.info` have the same words."""
    return [word.casefold() for word in _WORD.findall(name)]


def _edits(a: str, b: str, most: int) -> int:
    """Letters to add, drop or change to make one of the other; more than `most` is not counted further."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
        if min(row) > most:
            return most + 1
    return row[-1]
