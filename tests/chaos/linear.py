"""Is a history linearizable? The algorithm of Wing and Gong with Lowe's memory of what was tried: take an operation that began before any other
one had ended, let the model do it, go on with the rest; go back if the model cannot.

A model has `start`, a state that can be hashed, `step(state, operation)`, the states that may follow (none: the operation cannot happen there), and
`silent(state)`, the states that the system may reach by itself."""
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


def linearizable(operations, model, most=300_000):
    """True if some order of the operations, each between its call and its return, is one that the model allows.

    Instead of one state the search carries the set of states that are possible, so silent steps cost no branches."""
    # A read of which nothing is known says nothing.
    operations = sorted((one for one in operations if one.known() or one.name not in model.READS), key=lambda one: one.called)
    needed = sum(1 << i for i, one in enumerate(operations) if one.known())
    seen, stack, steps = set(), [(0, reach(model, {model.start}))], 0
    while stack:
        done, states = stack.pop()
        if done & needed == needed:
            return True
        if (done, states) in seen:
            continue
        seen.add((done, states))
        steps += 1
        if steps > most:
            raise TooMuch(f"{len(operations)} operations")
        first_return = min(one.returned for i, one in enumerate(operations) if not done >> i & 1)
        for i, one in reversed(list(enumerate(operations))):
            if done >> i & 1 or one.called > first_return:
                continue
            after = set()
            for state in states:
                after.update(model.step(state, one))
            if after:
                stack.append((done | 1 << i, reach(model, after)))
    return False
