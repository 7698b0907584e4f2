"""Members that cannot be used and manifests that a member refuses: one sentence each, and the jobs of others go on."""
import os
import shutil
import unittest

from fleet import Bed, Fleet
from bed_client import JOBS, LWS, SETS
from kube_jobs import at, job, job_set, leader_worker_set

bed = None
PASSWORD = "opensesame"  # what no message may show


def setUpModule():
    global bed
    bed = Bed("--clusters", "2", "--nodes", "2")
    unittest.addModuleCleanup(bed.close)


def read(*parts):
    with open(os.path.join(bed.dir, *parts), encoding="utf-8") as file:
        return file.read()


class Members(unittest.TestCase):
    """One good member among those that cannot be used."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(bed, ["member-1"], flags=cls.bad_members())
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server

    @classmethod
    def bad_members(cls):
        good = read("member-2", "kubeconfig")
        port = good.split("https://127.0.0.1:")[1].split()[0]
        files = {
            "silent": good.replace(f":{port}", ":1"),  # nobody listens there
            "strange": good.replace("member-2/pki/ca.crt", "member-1/pki/ca.crt"),  # another cluster's authority
            "thief": good.replace(os.path.join(bed.dir, "member-2/pki/ca.crt"), "/etc/ssl/certs/ca-certificates.crt"),
            "named": good.replace("token:", f"password: {PASSWORD}\n    username:"),
            "broken": "clusters: [",
        }
        flags = []
        folder = os.path.join(bed.dir, "bad")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for name, text in files.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            more = "" if name == "thief" else f",credentials-dir={bed.dir}"
            flags += ["--member-cluster", f"{name},kubeconfig={path}{more}"]
        flags += ["--member-cluster", f"absent,kubeconfig={folder}/nowhere"]
        flags += ["--member-cluster", f"context,kubeconfig={bed.dir}/member-2/kubeconfig,context=other"]
        return [*flags, "--member-cluster", f"limited,kubeconfig={bed.dir}/member-2/kubeconfig-muster"]

    def says(self, name, *words):
        self.server.wait(lambda: self.fleet.member_status(name)["status"] == "False" and self.fleet.member_status(name)["message"],
                         what=f"{name} says what is wrong, was {self.fleet.member_status(name)}")
        message = self.fleet.member_status(name)["message"]
        for word in words:
            self.assertIn(word, message)
        self.assertNotIn("\n", message)
        self.assertNotIn(PASSWORD, message)
        shown = self.server.run("muster", "get", "memberclusters")
        self.assertIn(message[:40], [line for line in shown.splitlines() if line.startswith(name + " ")][0])

    def test_a_member_that_nobody_answers_for(self):
        self.says("silent", "cannot connect to 127.0.0.1:1:")

    def test_a_member_whose_certificate_is_not_trusted(self):
        self.says("strange", "certificate")

    def test_a_kubeconfig_that_names_a_file_outside_its_directory(self):
        self.says("thief", "certificate-authority")

    def test_a_kubeconfig_with_a_password(self):
        self.says("named", "username")

    def test_a_kubeconfig_that_is_no_yaml_or_is_not_there(self):
        self.says("broken", "YAML")
        self.says("absent", "bad/nowhere")

    def test_a_context_that_is_not_in_the_kubeconfig(self):
        self.says("context", "other")

    def test_a_user_whom_the_member_gives_no_rights(self):
        self.says("limited", "forbidden")

    def test_jobs_run_on_the_member_that_can_be_used(self):
        for name in ("one", "two", "three"):
            ended = self.fleet.ends(self.fleet.submit(job(name, run="100ms"))["id"], "Succeeded")
            self.assertEqual(ended["cluster"], "member-1")

    def test_no_secret_is_in_the_log(self):
        log = self.server.log()
        for secret in (PASSWORD, read("member-1", "admin.token"), read("member-2", "admin.token")):
            self.assertNotIn(secret, log)


class Manifests(unittest.TestCase):
    """A member without the kind LeaderWorkerSet, with a policy and a quota of its own."""

    @classmethod
    def setUpClass(cls):
        cls.member = bed.member("member-2")
        cls.wait_for_controllers()
        cls.member.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/leaderworkersets.leaderworkerset.x-k8s.io")
        cls.forbid()
        cls.fleet = Fleet(bed, ["member-2"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server = cls.fleet.server

    @classmethod
    def wait_for_controllers(cls):
        """One process runs all of the bed's: without the CRD it would wait for that kind before it starts the others."""
        for path, manifest in ((LWS, leader_worker_set("first")), (SETS, job_set("first", run="0s"))):
            cls.member.call("POST", path, manifest)
            cls.member.wait(path + "/first", lambda seen: seen.get("status"))
            cls.member.call("DELETE", path + "/first")

    @classmethod
    def forbid(cls):
        """Jobs with the label forbidden are denied; in the namespace narrow no Job fits the quota."""
        rules = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        cls.member.call("POST", rules, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "house-rule"},
            "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [
                {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]},
                "validations": [{"expression": "!has(object.metadata.labels) || !('forbidden' in object.metadata.labels)",
                                 "message": "the house forbids it"}]}})
        cls.member.call("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "house-rule"},
            "spec": {"policyName": "house-rule", "validationActions": ["Deny"]}})
        cls.member.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "narrow"}})
        quotas = "/api/v1/namespaces/narrow/resourcequotas"
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}}
        made = cls.member.call("POST", quotas, quota)
        made["status"] = {"hard": {"count/jobs.batch": "0"}, "used": {"count/jobs.batch": "0"}}  # no quota controller runs here
        cls.member.call("PUT", quotas + "/none/status", made)

    def refused(self, manifest, *words, namespace="default"):
        submitted = self.fleet.submit(manifest, namespace)
        self.server.wait(lambda: all(word in self.server.job(submitted["id"])["message"] for word in words),
                         what=f"{words} in the message, was {self.server.job(submitted['id'])}")
        seen = self.server.job(submitted["id"])
        self.assertNotIn("\n", seen["message"])
        self.server.run("muster", "delete", "jobs", str(seen["id"]), check=False)
        self.fleet.ends(seen["id"], "Failed", "Cancelled")
        self.assertEqual(self.fleet.ledger.of_job(seen["uid"]), [])

    def test_a_kind_that_the_member_does_not_have(self):
        self.refused(leader_worker_set("unknown"), "LeaderWorkerSet")

    def test_a_job_that_a_policy_of_the_member_denies(self):
        self.refused(at(job("denied"), "label:forbidden", "yes"), "the house forbids it")

    def test_a_job_beyond_a_quota_of_the_member(self):
        self.server.run("muster", "apply", "-f", "-", stdin="""
apiVersion: v1
kind: Namespace
metadata: {name: narrow}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: default, namespace: narrow}
spec: {clusterQueue: main}
""")
        self.refused(job("wide"), "exceeded quota", namespace="narrow")

    def test_others_run_meanwhile(self):
        self.fleet.ends(self.fleet.submit(job("fine", run="100ms"))["id"], "Succeeded")
        self.fleet.ends(self.fleet.submit(job_set("fineset", run="100ms"))["id"], "Succeeded")
        self.assertEqual(self.member.status_of("GET", JOBS + "/fine"), 200)


if __name__ == "__main__":
    unittest.main()
