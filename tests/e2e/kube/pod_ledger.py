"""Every pod that the members have ever had for Muster's jobs, by watches that miss nothing or say that they did."""
import json
import threading
import time
import urllib.error

JOB, ATTEMPT, INSTANCE = "muster.io/job-uid", "muster.io/attempt", "muster.io/instance"


class Pod:
    def __init__(self, member, order, labels):
        self.member, self.born, self.ended = member, order, None  # orders of one member; ended None: it may still run
        self.job, self.attempt, self.instance = labels[JOB], int(labels[ATTEMPT]), labels.get(INSTANCE)
        self.born_at, self.ended_at = time.monotonic(), None


class PodLedger:
    """One thread per member reads it without end, from what it has now; close() ends them."""

    def __init__(self, members):
        self.members = members
        self.pods = {}  # by uid
        self.gaps = []  # names of members whose watch could not be resumed
        self.lock = threading.Lock()
        self.orders = {name: 0 for name in members}
        self.closing = False
        self.threads = [threading.Thread(target=self.follow, args=(name,), daemon=True) for name in members]
        for thread in self.threads:
            thread.start()

    def close(self):
        self.closing = True
        for thread in self.threads:
            thread.join(15)

    def follow(self, name):
        version = None
        while not self.closing:
            try:
                if version is None:
                    page = self.members[name].call("GET", "/api/v1/pods")
                    for pod in page["items"]:
                        self.saw(name, "ADDED", pod)
                    version = page["metadata"]["resourceVersion"]
                version = self.watch(name, version)
            except (urllib.error.URLError, OSError, ValueError):
                time.sleep(0.2)  # the member is being hurt by its test

    def watch(self, name, version):
        """Reads until the stream ends; where to go on, None if that is not known any more."""
        path = f"/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={version}"
        with self.members[name].open("GET", path, timeout=10) as stream:
            for line in stream:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.gaps.append(name)
                    return None
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.saw(name, event["type"], event["object"])
        return version

    def saw(self, member, event, pod):
        labels = pod["metadata"].get("labels", {})
        if JOB not in labels or ATTEMPT not in labels:
            return
        uid = pod["metadata"]["uid"]
        with self.lock:
            self.orders[member] += 1
            entry = self.pods.get(uid)
            if entry is None:
                entry = self.pods[uid] = Pod(member, self.orders[member], labels)
            over = event == "DELETED" or pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
            if over and entry.ended is None:
                entry.ended, entry.ended_at = self.orders[member], time.monotonic()

    def of_job(self, uid, attempt=None):
        with self.lock:
            return [pod for pod in self.pods.values() if pod.job == uid and attempt in (None, pod.attempt)]

    def attempts(self, uid):
        return sorted({pod.attempt for pod in self.of_job(uid)})

    def overlaps(self):
        """What contradicts rule D20, I1 and I7, in words: a pod of a later attempt was there before the earlier one's had
        ended. Two members have no common order of events: there only receipts a second apart count."""
        found = []
        for uid in {pod.job for pod in self.pods.values()}:
            pods = self.of_job(uid)
            for early in pods:
                for late in pods:
                    if early.attempt < late.attempt and self.together(early, late):
                        found.append(f"job {uid}: attempt {late.attempt} on {late.member} before the end of {early.attempt} on {early.member}")
        return found

    @staticmethod
    def together(early, late):
        if early.member == late.member:
            return early.ended is None or early.ended > late.born
        return early.ended_at is None or early.ended_at > late.born_at + 1
