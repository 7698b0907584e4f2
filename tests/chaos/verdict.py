"""Compares what clients were told with what the database has. Pure: rows in, findings out, so that a planted fault can be shown to it."""


class Accepts:
    """I1: every acknowledged job is there, once for its key.

    acknowledged: key to the ids that clients were told. rows: (id, name) of every job; the name is the key.
    left: keys of which an answer said that nothing was written, and which were not sent again."""

    def __init__(self, acknowledged, rows, left=()):
        names = {}
        for job, name in rows:
            names.setdefault(name, []).append(int(job))
        there = {int(job): name for job, name in rows}
        self.count = len(acknowledged)
        self.lost = sorted(key for key, ids in acknowledged.items() if any(there.get(int(job)) != key for job in ids))
        twice_told = {key for key, ids in acknowledged.items() if len(set(ids)) > 1}
        twice_made = {name for name, ids in names.items() if len(ids) > 1}
        owners = {}
        for key, ids in acknowledged.items():
            for job in set(ids):
                owners.setdefault(job, set()).add(key)
        shared = {key for keys in owners.values() if len(keys) > 1 for key in keys}
        self.doubled = sorted(twice_told | twice_made | shared)
        self.falsely_refused = sorted(key for key in left if key in names)

    def sound(self):
        return not (self.lost or self.doubled or self.falsely_refused)

    def __str__(self):
        text = f"{len(self.lost)} lost, {len(self.doubled)} doubled of {self.count} acknowledged"
        if self.falsely_refused:
            text += f", {len(self.falsely_refused)} refused and there"
        for what in ("lost", "doubled", "falsely_refused"):
            if found := getattr(self, what):
                text += f" [{what}: {', '.join(found[:5])}]"
        return text


def accepts(server_sql, acknowledged, left=()):
    """server_sql: a function from a statement to rows of texts."""
    return Accepts(acknowledged, server_sql("select id, coalesce(display_name, name) from jobs"), left)


# What holds once every job has ended, each as a statement that finds the offenders. `not exists` is a hash join; `not in` of a million rows takes hours.
SETTLED = {
    "I4: quota is still in use": "select cluster_queue, flavor, resource, amount from quota_usage where amount <> 0",
    "I8: an attempt of an ended job is open": "select a.job_id, a.attempt from attempts a join job_state s using (job_id) "
                                              "where s.terminal and a.end_time is null",
    "I8: an attempt ended before it began": "select job_id, attempt from attempts where end_time < start_time or end_time < admit_time",
    "I2: two live dispatches of one job": "select job_uid from dispatches where live group by job_uid having count(*) > 1",
    "I9: an ended job has a live dispatch": "select d.job_id, d.attempt, d.state from dispatches d join job_state s using (job_id) where s.terminal and d.live",
    "I5: a job without its state": "select id from jobs where not exists (select from job_state s where s.job_id = jobs.id)",
    "I1: a key without its job": "select key from idempotency_keys k where not exists (select from jobs where id = k.job_id)",
}


def unsettled(server_sql):
    """Offenders of the invariants of SETTLED, as sentences."""
    found = []
    for name, statement in SETTLED.items():
        if rows := server_sql(statement):
            found.append(f"{name}: {len(rows)}, such as {rows[:3]}")
    return found


def settle(server, server_sql, timeout=300):
    """Waits until all jobs have ended, then looks; the findings, with that of the audit trail's chain."""
    try:
        server.wait(lambda: server_sql("select count(*) from job_state where not terminal") == [["0"]], timeout=timeout, what="all jobs have ended")
    except AssertionError as error:
        left = server_sql("select * from job_state where not terminal limit 3")
        raise AssertionError(f"{error}; left: {left}") from error
    server.wait(lambda: not unsettled(server_sql), timeout=30, what=f"invariants of a settled world: {unsettled(server_sql)}")
    verified = server.run("muster", "audit", "--verify", check=False)
    return [] if verified.returncode == 0 else [f"muster audit --verify: {verified.stdout}{verified.stderr}"]
