"""Verbs and nouns of actions by what they say: what gives, what checks, what says the same as another."""

from __future__ import annotations

from collections.abc import Sequence

from synth.policies.action_forms import LIGHT, singular

GIVING = (
    *LIGHT, "set", "send", "write", "issue", "create", "print", "publish", "file", "log", "record", "add",
    "give", "post", "raise", "award", "grant", "place", "mail", "get", "obtain", "request", "submit", "open",
    "start", "pay", "take",
)  # fmt: skip
"""Verbs whose object stands for what they do: `an announcement`, of `post an announcement`."""
GIVEN = (
    "replacement",
    "substitute",
    "refill",
    "reimbursement",
    "compensation",
    "refund",
    "voucher",
    "discount",
)
"""What is given by whatever verb: `a replacement`, of `ship replacement`."""
DENOMINAL = {noun: noun for noun in ("refund", "credit", "discount", "invoice", "bill", "quote")} | {
    "replacement": "replace",
    "compensation": "compensate",
    "reimbursement": "reimburse",
}
"""What is given, by the verb that says so of whatever it is given for: `refund an order`."""
CHECKS = (
    "approve", "verify", "check", "inspect", "review", "confirm", "authorise", "authorize", "validate",
    "test",
)  # fmt: skip
PROPOSES = (
    "submit", "request", "create", "open", "file", "prescribe", "draft", "write", "propose", "raise",
    "report", "register", "order", "quote", "enter", "record", "upload", "commit", "push", "claim", "prepare",
    "assess", "estimate", "appraise", "evaluate", "examine",
)  # fmt: skip
"""What comes before a check of it."""
CHECKED = (
    "approval", "verification", "check", "inspection", "review", "confirmation", "authorisation", "consent",
    "authorization", "test", "audit", "permission", "clearance", "sign-off", "backup",
    "snapshot",
)  # fmt: skip
"""What nobody needs afterwards: `without approval` is without an earlier one."""
PLACING = ("put", "place", "take", "bring", "keep", "set", "mark", "move")
"""Verbs that say nothing without such a tail: `put the order on hold`."""
BOOKING = ("book", "order", "call", "hail", "arrange", "schedule", "request", "hire")
MAKING = ("open", "create", "write", "generate", "draft", "compose", "make", *BOOKING)
"""What is made by such a call is made by it alone: `a ticket must be opened exactly once`."""
OF_EVENTS = ("trigger", "perform", "conduct", "initiate")
"""Verbs of what is another one each time, whatever it is: `trigger a failover`."""
BOOKED = (
    "taxi", "cab", "ride", "courier", "flower", "flowers", "bouquet", "meal", "lunch", "dinner", "breakfast",
    "appointment", "meeting", "flight", "trip", "tour", "transfer", "limousine", "shuttle", "delivery",
)  # fmt: skip
"""What is another one each time it is booked: nobody counts how often the same taxi is."""
ORDERING = (
    *BOOKING, "reserve", "buy", "purchase", "prescribe", "dispense", "administer", "generate", "produce",
    "apply",
    "attach", "trigger", "plan", "offer", "deliver",
)  # fmt: skip
"""Verbs of what is counted as such: `three lab tests per patient`, of `order lab test`."""
GIVEN_TO = (
    "send", "give", "offer", "grant", "issue", "pay", "lend", "show", "write", "mail", "hand", "award",
    "assign", "text", "pass", "sell",
)  # fmt: skip
"""Verbs that may name somebody before their object: `send the customer a receipt`."""
SOMEBODY = (
    "customer", "user", "client", "guest", "caller", "patient", "buyer", "seller", "applicant", "employee",
    "tenant", "passenger", "member", "subscriber", "owner", "recipient", "requester",
)  # fmt: skip
MONEY = (
    r"(?:refund|pay|paid|charge|credit|fee|discount|transfer|deposit|withdraw|invoice|price|amount|budget"
    r"|expense|bonus|debit|donat|loan|reimburse|compensat|advance|bill|fine|worth|value|money)"
)
"""What is spoken of where a number may be an amount."""
ALIKE: tuple[tuple[str, ...], ...] = (
    ("get", "obtain", "receive", "secure"),
    ("issue", "grant", "give", "award"),
    ("run", "execute", "perform", "conduct", "do"),
    ("delete", "remove", "erase"),
    ("book", "reserve"),
    ("verify", "check"),
    ("notify", "inform", "alert"),
    ("change", "modify", "alter"),
    ("create", "make", "generate"),
    ("ship", "dispatch"),
    ("buy", "purchase"),
    ("start", "launch"),
    ("reject", "decline", "refuse"),
    ("inspect", "examine"),
)
"""Verbs that say the same of one object, where a file has but one of them."""
_COMPOUND = {
    f"{verb}{particle}": (verb, particle)
    for particle, verbs in {
        "back": ("roll", "call", "pay", "fall"),
        "up": ("back", "set", "sign", "clean", "start", "scale", "look"),
        "in": ("check", "log", "sign"),
        "out": ("check", "log", "pay", "roll", "sign", "time"),
        "down": ("shut", "take", "tear", "lock", "scale"),
        "off": ("sign", "write"),
        "over": ("hand", "take"),
    }.items()
    for verb in verbs
}
"""Verbs that a name writes as one word: `rollback`, which somebody types as `roll back`."""
OF_TWO_WORDS = {
    "request": ("ask", "for"), "dispatch": ("send", "out"), "cancel": ("call", "off"), **_COMPOUND
}  # fmt: skip
"""Verbs that say the same with a particle."""
NOTING = ("log", "write", "add", "make", "leave", "record")
NOTES = ("note", "entry", "comment", "remark")
APPROVALS = ("approval", "consent", "permission", "authorisation", "authorization", "confirmation")
PROGRAMS = (
    "terraform", "git", "kubectl", "helm", "docker", "npm", "ansible", "gradle", "maven", "cargo", "pulumi",
    "gcloud", "aws", "az", "pip", "yarn", "podman", "dbt", "packer",
)  # fmt: skip
"""Programs, whose name says nothing of what an action does: `terraform plan` is a plan."""
SENDS = ("send", "mail", "post", "email", "issue", "publish", "dispatch", "text", "ship")
MARKING = ("mark", "flag", "set", "declare", "label", "tag", "report")
"""Verbs that may say last what something is then: `mark delivered`, `mark the order paid`."""
PARTICIPLES = ("paid", "sent", "lost", "done", "sold", "shut", "read", "broken", "stolen", "found")
"""Such words that do not end in `ed`."""


def is_another_each_time(verb: str, noun: str) -> bool:
    """Is there no second call for the same thing? `book a taxi`."""
    return verb in OF_EVENTS or (verb in BOOKING and (noun in BOOKED or singular(noun) in BOOKED))


def others_of(verb: str, nouns: Sequence[str], tail: Sequence[str]) -> list[str]:
    """Verbs that say the same of an action's object."""
    found = [other for alike in ALIKE if verb in alike for other in alike if other != verb]
    if nouns and nouns[-1] in NOTES and verb in NOTING:
        found += [other for other in NOTING if other != verb]
    if nouns and nouns[-1] in APPROVALS and verb in ("get", "obtain", "receive"):
        found += ["give", "grant"]
    if verb == "ask" and tail[:1] == ("for",) and len(tail) > 1 and not nouns:
        found += ["request"]
    return list(dict.fromkeys(found))
