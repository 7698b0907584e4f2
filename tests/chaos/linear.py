"""Is a history linearizable? The algorithm of Wing and Gong with Lowe's memory of what was tried: take an operation that began before any other
one had ended, let the model do it, go on with the rest; go back if the model cannot.

A model has `start`, a state that can be hashed, `step(state, operation)`, the states that may follow (none: the operation cannot happen there), and
`silent(state)`, the states that the system may reach by itself. `pure(operation)`: it changes no state, whichever that is. `shows`
and `writes`: the values that an operation has shown to its client, and those that it writes, as sets."""
import math
from dataclasses import dataclass, field
from typing import Any

OPEN = math.inf  # the return of an operation whose outcome is not known: it may happen at any later time, or never


@dataclass
class Operation:
    name: str
    outcome: Any  # what the client was told; None if that is not known
    called: float
    returned: float = OPEN
    detail: dict = field(default_factory=dict)

    def known(self):
        return self.returned != OPEN


class TooMuch(Exception):
    """The search has taken more steps than allowed: no verdict."""


def reach(model, states):
    """These states and all that the system may reach from them by itself."""
    found, fresh = set(states), list(states)
    while fresh:
        for after in model.silent(fresh.pop()):
            if after not in found:
                found.add(after)
                fresh.append(after)
    return frozenset(found)


def worth_trying(operations, model):
    """The operations in the order of their calls, without those that cannot decide anything: a read without an answer, and a write without one
    whose value nobody has seen (leaving it out of a legal order leaves a legal order)."""
    seen = set().union(*(model.shows(one) for one in operations))
    return sorted((one for one in operations if one.known() or not (one.name in model.READS or model.writes(one) - seen)), key=lambda one: one.called)


def linearizable(operations, model, most=300_000):
    """True if some order of the operations, each between its call and its return, is one that the model allows.

    Instead of one state the search carries the set of states that are possible, so silent steps cost no branches. An operation that never changes
    anything is done as soon as it can be without ruling out a state; of open operations that are alike the first one is tried first."""
    operations = worth_trying(operations, model)
    needed = sum(1 << i for i, one in enumerate(operations) if one.known())
    seen, stack = set(), [(0, reach(model, {model.start}))]
    while stack:
        done, states = stack.pop()
        if done & needed == needed:
            return True
        if (done, states) in seen:
            continue
        seen.add((done, states))
        if len(seen) > most:
            raise TooMuch(f"{len(operations)} operations")
        stack.extend(followers(operations, model, done, states))
    return False


def followers(operations, model, done, states):
    """Where the search may go on from here: (done, states), the best last."""
    first_return = min(one.returned for i, one in enumerate(operations) if not done >> i & 1)
    found, alike = [], set()
    for i, one in enumerate(operations):
        if one.called > first_return:
            break
        if done >> i & 1:
            continue
        if not one.known():
            kind = (one.name, *sorted(one.detail.items()))
            if kind in alike:
                continue
            alike.add(kind)
        after = reach(model, {state for before in states for state in model.step(before, one)})
        if after == states and model.pure(one):
            return [(done | 1 << i, states)]
        if after:
            found.append((done | 1 << i, after))
    return found[::-1]
