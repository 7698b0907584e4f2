"""What one job does, as its users see it: the model for linear.py. A state is (phase, comment).

The phases are those of docs/guide/jobs.md, but Admitted and Running are one here, Active: which of both a job is in, its member decides. One that was
held meanwhile is Marked: it is Held if it comes back into its queue. A cancelled job that had begun is Stopping until its member has ended it."""

ABSENT, HELD, PENDING, ACTIVE, MARKED, STOPPING, ENDED, CANCELLED = "absent", "Held", "Pending", "Active", "Marked", "Stopping", "Ended", "Cancelled"
BEGUN = {ACTIVE, MARKED, STOPPING}
SHOWN = {"Held": {HELD}, "Pending": {PENDING}, "Admitted": BEGUN, "Running": BEGUN, "Succeeded": {ENDED}, "Failed": {ENDED}, "Cancelled": {CANCELLED}}
TERMINAL = {ENDED, CANCELLED}
DONE, REFUSED, CONFLICT = "done", "refused", "conflict"


class JobModel:
    """`inert`: nothing admits the job, so it never begins by itself."""

    READS = {"get", "list"}
    start = (ABSENT, "")

    def __init__(self, inert):
        self.inert = inert

    def pure(self, operation):
        return operation.name in self.READS or operation.outcome in (REFUSED, CONFLICT)

    def shows(self, operation):
        return {operation.outcome[1]} if operation.name in self.READS and operation.outcome else set()

    def writes(self, operation):
        return {operation.detail["comment"]} if operation.name == "update" else set()

    def silent(self, state):
        phase, comment = state
        if phase == STOPPING:
            return [(CANCELLED, comment), (ENDED, comment)]
        if self.inert:
            return []
        if phase == PENDING:
            return [(ACTIVE, comment)]
        if phase == ACTIVE:  # also back into its queue, when its member has lost it
            return [(ENDED, comment), (PENDING, comment)]
        if phase == MARKED:
            return [(ENDED, comment), (HELD, comment)]
        return []

    def step(self, state, operation):
        return getattr(self, "_" + operation.name)(state, operation)

    def _submit(self, state, operation):
        """Under a key: the second one finds the job of the first one."""
        phase, comment = state
        if phase != ABSENT:
            return [(phase, comment)]
        return [(HELD if operation.detail.get("hold") else PENDING, operation.detail.get("comment", ""))]

    def _get(self, state, operation):
        phase, comment = state
        if operation.outcome is None:  # there is no such job
            return [state] if phase == ABSENT else []
        shown, said = operation.outcome
        return [state] if phase in SHOWN[shown] and comment == said else []

    _list = _get

    def _change(self, state, operation, allowed, after):
        """A change that is refused has changed nothing, and is refused only where it is not allowed. Of one without an answer both may be true."""
        phase, comment = state
        if phase == ABSENT:
            return []
        if operation.outcome == REFUSED:
            return [] if phase in allowed else [state]
        if phase not in allowed:
            return [] if operation.outcome == DONE else [state]
        return [after(phase, comment)]

    def _hold(self, state, operation):
        phase, comment = state
        if phase in BEGUN:  # it is marked once its object was sent to its member, and refused before
            return [state] if operation.outcome == REFUSED and phase != MARKED else [(MARKED if phase == ACTIVE else phase, comment)]
        return self._change(state, operation, {HELD, PENDING}, lambda _, said: (HELD, said))

    def _release(self, state, operation):
        if state[0] == STOPPING:  # whether it was marked is not followed any more
            return [state]
        return self._change(state, operation, {HELD, PENDING, MARKED}, lambda phase, comment: (ACTIVE if phase == MARKED else PENDING, comment))

    def _cancel(self, state, operation):
        return self._change(state, operation, {HELD, PENDING, *BEGUN}, lambda phase, comment: (STOPPING if phase in BEGUN else CANCELLED, comment))

    def _update(self, state, operation):
        # It is made on the record that was read, and refused if that has changed meanwhile.
        if operation.outcome == CONFLICT:
            return [state]
        # A job that is being stopped cannot be changed any more.
        return self._change(state, operation, {HELD, PENDING, ACTIVE, MARKED}, lambda phase, comment: (phase, operation.detail["comment"]))
