"""One grammar of rule sentences: clauses about actions, and what they depend on.

`read(sentence, names)` gives the sentences of the language that are meant by one which no other reader
knows. A sentence is taken apart as a whole, in every way that leaves no word: where all ways say the same it
is read, where two say different things it has two meanings.

- `spelling`: contractions, numbers in words, clock times, quoted values.
- `matching`: patterns of words and of other patterns, over a text, with all ways in which they match.
- `phrases`: the words of an action's name.
- `events`: how a sentence names an action: by its verb in every form, by a noun, by what is done to it.
- `words`, `small`: the words of clauses, and what is said in a few of them.
- `facts`, `adjuncts`, `demands`: what has happened, what a demand depends on, what is demanded, as patterns.
- `attempts`: what is demanded of how often, again, first and last, side by side.
- `moods`: what is forbidden and what is free, in each frame.
- `failing`, `waiting`: what is said of failed calls; of pauses.
- `clock`, `spans`, `durations`, `together`, `just_before`: hours and days; how far apart, how long, what runs
  at once, what stands directly before.
- `nobody`, `deadlines`, `aftermath`: what nobody does, no sooner and no later than something, what a failure
  is followed by and forbids.
- `counts`, `varieties`, `amounts`, `one_thing`: how often, how many different, how much, of which thing.
- `actions_together`: several actions counted as one, all tool calls.
- `quotas`, `ceilings`, `at_least`, `kinds_of_things`, `totals`: limits in each frame, with each word for a
  number.
- `beyond_the_number`, `spenders`, `as_often`: what is said behind a number of what is too many, who may do so
  much in all, as many of one as of another.
- `frames`: more ways to demand: needs, answers, bans, how runs begin and end.
- `joined`: several things that have happened, or have not: `A was done and B was`, `neither A nor B`.
- `following`, `between`, `openings`, `nothing_but`: what must follow and how soon, what lies between, how
  runs begin and end, what alone may still be called.
- `order`, `exclusion`, `shared_verbs`: order, and what excludes what, as they are typed in passing.
- `prerequisites`, `next_calls`: what is needed first, and what the next call must be, as they are typed.
- `so_many_first`: so many of it before, and by how many different people.
- `conditions_first`: what is needed first, its words in other places; what lies between two of one action.
- `never_both`, `once_done`, `for_whom`, `trying_again`: of two only one, what is over then, what is only for
  such as were verified, when what failed may be tried again.
- `bounds`, `values`, `subjects`, `bans`, `statements`, `givens`: what calls may be given in itself.
- `argument_words`, `conditions`, `values_first`, `fitting`, `pairs`, `depending`: that in every frame;
  what such calls need first, what must be as it was.
- `meaning`, `ways`, `ways_of_order`, `ways_of_following`: what these are about, and how the language says
  it.
"""

from synth.policies.clausal.reader import read

__all__ = ["read"]
