"""What the cells of S06 are asked in, and how they are counted."""
from s06_actions import ACTIONS, REFUSED
from s06_ways import config_map, local_queue
from teams import OWN, ROOT, SECOND, Teams


class Cells:
    """Counts what is asked, and keeps what is answered otherwise than it should be. all: of every part that has ended."""

    all = []

    def __init__(self):
        self.count, self.wrong = 0, []

    def see(self, what, right, told):
        self.count += 1
        if not right:
            self.wrong.append((what, told))

    def end(self, test, name):
        Cells.all.append((self.count, len(self.wrong)))
        print(f"\nS06, {name}: {self.count} cells, {len(self.wrong)} mismatches")
        test.assertFalse(self.wrong, "\n".join(str(one) for one in self.wrong))


class World:
    """Teams with what the cells name: jobs, one of them a batch script, a ConfigMap, a Secret."""

    def __init__(self, server=None, way="tcp"):
        self.teams = Teams(server, way)
        self.ran = {"own_ran": self.teams.ran(OWN, "team-a")["id"], "mate_ran": self.teams.ran(SECOND, "team-a")["id"]}
        for name, user in (("own_script", OWN), ("mate_script", SECOND)):
            status, told = self.teams.ask(user, "POST", "/v1/namespaces/team-a/jobs", {"script": "#!/bin/sh\ntrue\n", "queue": "main", "hold": True})
            assert status == 201, told
            self.ran[name] = told["id"]
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept", "namespace": "team-a"}, "stringData": {"a": "b"}}
        for path, body in (("/api/v1/namespaces/team-a/configmaps", config_map("given")), ("/api/v1/namespaces/team-a/secrets", secret),
                           ("/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/localqueues", local_queue("default"))):
            status, told = self.teams.ask(ROOT, "POST", path, body)
            assert status == 201, told

    def values(self, text):
        """What the text's {names} stand for, as far as it has them: jobs are made for it alone."""
        out = dict(self.ran)
        for whose, user in (("own", OWN), ("mate", SECOND)):
            if f"{{{whose}}}" in text or f"{{{whose}_name}}" in text:
                job = self.teams.job(user, "team-a")
                out.update({whose: job["id"], f"{whose}_name": job["name"]})
        return out

    def filled(self, text, **more):
        for name, value in {**self.values(text), **more}.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def body(self, wanted):
        if wanted == "job":
            return self.teams.manifest("team-a")
        if wanted == "jobs":
            return [self.teams.manifest("team-a")]
        if wanted == "simulation":
            return {"documents": [self.teams.manifest("team-a")], "namespace": "team-a"}
        if wanted == "new-queue":
            made = self.teams.quota("team-a", lambda spec: None)[1]
            return {**made, "metadata": {"name": "new"}}
        if wanted == "administrator":
            return next(body for name, _, _, body, _ in ACTIONS if name == "make oneself an administrator")
        return self.teams.quota(wanted, lambda spec: None)[1] if isinstance(wanted, str) else wanted


def refused_item(told):
    """A batch answers for each item: refused if all are."""
    return isinstance(told, list) and bool(told) and all(item.get("status") in REFUSED for item in told)


def print_figure():
    """The figure of S06: the sums of all parts."""
    cells, wrong = (sum(column) for column in zip(*Cells.all)) if Cells.all else (0, 0)
    print(f"\nS06: {cells} cells, {wrong} mismatches")
