"""A musterd of a test's own in front of the real clusters of a test bed, and what must hold whatever its test did."""
import collections
import glob
import os
import re
import sys

sys.path[1:1] = [os.path.join(os.environ["MUSTER_SOURCE"], "tests", part) for part in ("kubebed", "e2e/daemon")]

from bed_client import MERGE, Bed, Member  # noqa: E402
from muster_server import Server, queues, sql  # noqa: E402
from pod_ledger import PodLedger  # noqa: E402

COLLECTIONS = {"Job": "/apis/batch/v1/jobs", "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
               "PyTorchJob": "/apis/kubeflow.org/v1/pytorchjobs", "RayJob": "/apis/ray.io/v1/rayjobs",
               "RayCluster": "/apis/ray.io/v1/rayclusters",
               "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"}

FINALIZER = "muster.io/record"
LIVE = ("Admitted", "Running")

QUEUES = queues(cpu="2000", memory="4000Gi", gpu="64", image="debian:12", requeue_wait="0s")


class Fleet:
    """members: names of the bed's clusters; flags: further ones of musterd; watched: further clusters that these name."""

    def __init__(self, bed, members, flags=(), watched=(), dispatch="safe"):
        self.bed = bed
        self.members = {name: Member(os.path.join(bed.dir, name)) for name in [*members, *watched]}
        words = []
        for name in members:
            words += ["--member-cluster", f"{name},kubeconfig={bed.dir}/{name}/kubeconfig-tokenfile,dispatch={dispatch}"]
        self.server = Server([*words, *flags])
        self.ledger = PodLedger(self.members)
        self.ended = {}  # job views that were terminal when they were looked at

    def start(self):
        self.server.start()
        self.apply_queues()
        for name in self.members:
            self.wait_healthy(name)
        return self

    def apply_queues(self):
        self.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    def close(self):
        try:
            self.server.close()
        finally:
            self.ledger.close()

    def member_status(self, name):
        """The Healthy condition of a member, as its users see it."""
        status, seen = self.server.get(f"/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/{name}")
        assert status == 200, seen
        conditions = [each for each in seen.get("status", {}).get("conditions", []) if each["type"] == "Healthy"]
        return conditions[0] if conditions else {"status": "Unknown", "message": ""}

    def wait_healthy(self, name, healthy=True):
        self.server.wait(lambda: self.member_status(name)["status"] == str(healthy),
                         what=f"{name} healthy={healthy}, was {self.member_status(name)}")
        return self.member_status(name)["message"]

    def submit(self, manifest, namespace="default"):
        status, job = self.server.call("POST", f"/v1/namespaces/{namespace}/jobs", manifest)
        assert status == 201, job
        return job

    def ends(self, job_id, *states):
        """The job's view once it has ended; in one of these states, if any are given. One that does not end is told with all that is known of it."""
        try:
            job = self.server.wait_state(job_id, "Succeeded", "Failed", "Cancelled")
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.whereabouts(job_id)}") from None
        assert not states or job["state"] in states, job
        return job

    def whereabouts(self, job_id):
        """What Muster and the members know of a job, as text: for a test that has waited in vain."""
        uid = self.server.job(job_id)["uid"]
        lines = [self.server.run("muster", "explain", str(job_id), check=False).stdout, str(self.events(job_id)),
                 str(sql(self.server, f"select cluster, attempt, state, remote_uid, detail from dispatches where job_uid = '{uid}'"))]
        for name, member in self.members.items():
            for path in [*COLLECTIONS.values(), "/api/v1/pods", "/apis/kueue.x-k8s.io/v1beta1/workloads"]:
                if member.status_of("GET", path) != 200:
                    continue
                for item in member.call("GET", f"{path}?labelSelector=muster.io/job-uid={uid}")["items"]:
                    meta = item["metadata"]
                    lines.append(f"{name} {path} {meta['name']} labels={meta['labels']} deleted={meta.get('deletionTimestamp')} "
                                 f"suspend={item['spec'].get('suspend')} status={item.get('status')}")
            for path in sorted(glob.glob(os.path.join(self.bed.dir, name, "*.log"))):
                with open(path, encoding="utf-8", errors="replace") as log:
                    lines += [f"{name} {os.path.basename(path)}: {line.rstrip()}" for line in collections.deque(log, 10)]
        return "\n".join(lines)

    def says(self, job, *words):
        """The job's view once its message has these words."""
        self.server.wait(lambda: all(word in self.server.job(job["id"])["message"] for word in words),
                         what=f"{words} in the message, was {self.server.job(job['id'])}")
        return self.server.job(job["id"])

    def pods(self, job_id):
        status, answer = self.server.get(f"/v1/jobs/{job_id}/pods")
        return answer["items"] if status == 200 else []

    def events(self, job_id):
        return [(event["type"], event["reason"], event["message"]) for event in self.server.get(f"/v1/jobs/{job_id}/events")[1]["items"]]

    def objects(self):
        """(member, kind, object) of everything that carries our instance's labels."""
        found = []
        for name, member in self.members.items():
            for kind, path in COLLECTIONS.items():
                if member.status_of("GET", path) != 200:
                    continue  # a kind that this member does not have
                for item in member.call("GET", path + "?labelSelector=muster.io/instance")["items"]:
                    if not any(owner.get("controller") for owner in item["metadata"].get("ownerReferences", [])):
                        found.append((name, kind, item))
        instance = sql(self.server, "select instance from installation")[0][0]
        return [each for each in found if each[2]["metadata"]["labels"]["muster.io/instance"] == instance]

    def object_of(self, job):
        """(member, object) of a job; (None, None) if no member has one."""
        for name, _, item in self.objects():
            if item["metadata"]["labels"].get("muster.io/job-uid") == job["uid"]:
                return name, item
        return None, None

    def rows(self):
        """{uid of the object: (job uid, attempt, state)} of all dispatch rows that have recorded one."""
        return {uid: (job, int(attempt), int(state))
                for job, attempt, state, uid in sql(self.server, "select job_uid, attempt, state, remote_uid from dispatches where remote_uid <> ''")}

    def end_pods(self, job):
        """Lets the endless pods of a job succeed now."""
        for member in self.members.values():
            pods = "/api/v1/namespaces/%s/pods" % job["namespace"]
            for pod in member.call("GET", f"{pods}?labelSelector=muster.io/job-uid={job['uid']}")["items"]:
                member.call("PATCH", f"{pods}/{pod['metadata']['name']}", {"metadata": {"annotations": {"bed.test/run": "0s"}}}, kind=MERGE)

    def wait_gone(self, job):
        self.server.wait(lambda: self.object_of(job) == (None, None), what=f"the object of {job['name']} goes")

    def remember(self):
        """Takes down what has ended by now: invariant I3 is asked later."""
        for job in self.server.jobs():
            if job["state"] not in LIVE and job["endTime"]:
                self.ended.setdefault(job["uid"], job)

    def assert_invariants(self, test):
        """Rule D20, at rest. I6 is asked of the foreign objects that tests make themselves."""
        test.assertEqual(self.ledger.overlaps(), [], "I1, I7: attempts of one job overlap")
        self.server.wait(lambda: not self.strangers(), what=f"I2, I5: objects without a row: {self.strangers()}")
        jobs = {job["uid"]: job for job in self.server.jobs()}
        for uid, before in self.ended.items():
            same = ("state", "reason", "exitCode", "attempt", "endTime", "cluster")
            test.assertEqual([jobs[uid][key] for key in same], [before[key] for key in same], "I3: a terminal job changed")
        self.server.wait(lambda: self.charged() == self.held(), what=f"I4: quota {self.charged()}, held by live jobs {self.held()}")

    def strangers(self):
        """Objects of ours that no row knows, and those that may run although their row is not that far."""
        seen = self.objects()  # first: a row is written before its object runs
        rows = self.rows()
        found = []
        for member, kind, item in seen:
            meta = item["metadata"]
            state = rows[meta["uid"]][2] if meta["uid"] in rows else None
            if "deletionTimestamp" not in meta and state is None:
                found.append((member, kind, meta["name"], "no row"))
            elif released(kind, item) and state == 1:
                found.append((member, kind, meta["name"], f"released in state {state}"))
        return found

    def charged(self):
        return sum(whole(quota["used"]) for quota in self.server.get("/v1/quotas")[1]["items"] if quota["resource"] == "cpu")

    def held(self):
        return sum(whole(pods["requests"].get("cpu", "0")) * pods["count"] for job in self.server.jobs() if job["state"] in LIVE
                   for pods in job["podSets"])


def released(kind, item):
    spec = item["spec"]
    if kind == "LeaderWorkerSet":
        return spec.get("replicas", 1) > 0
    return not (spec.get("runPolicy", {}) if kind == "PyTorchJob" else spec).get("suspend", False)


def whole(amount):
    """A cpu quantity in thousandths."""
    match = re.fullmatch(r"(\d+)(m?)", amount)
    return int(match.group(1)) * (1 if match.group(2) else 1000)


__all__ = ["Bed", "Fleet", "FINALIZER", "COLLECTIONS", "PodLedger", "sql"]
