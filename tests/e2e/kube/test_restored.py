"""The database is restored from a backup while real members moved on (rule D25): what runs is adopted, what the backup does not know is
listed and left alone, nothing is created again by itself."""
import shutil
import unittest

from fleet import Bed, Fleet, sql
from kube_jobs import ENDLESS, job

bed = None


def setUpModule():
    global bed
    bed = Bed("--clusters", "2", "--nodes", "3")
    unittest.addModuleCleanup(bed.close)


class RestoredDatabase(unittest.TestCase):
    def setUp(self):
        self.fleet = Fleet(bed, ["member-1", "member-2"]).start()
        self.addCleanup(self.fleet.close)
        self.server = self.fleet.server

    def submit(self, name, state, cpu="1"):
        manifest = job(name, **ENDLESS)
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        submitted = self.fleet.submit(manifest)
        self.server.wait_state(submitted["id"], state)
        return submitted

    def uids(self):
        return {item["metadata"]["uid"] for _, _, item in self.fleet.objects()}

    def test_what_runs_is_adopted_and_nothing_else_runs_again(self):
        server, fleet = self.server, self.fleet
        goes_on = self.submit("goes-on", "Running")
        deleted = self.submit("deleted", "Running")
        server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "2")
        began, vanished = self.submit("began", "Pending"), self.submit("vanished", "Pending")
        backup = f"{server.dir}/backup"
        server.run("muster", "backup", backup, "--data-dir", server.dir)
        server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "32")
        for each in (began, vanished):
            server.wait_state(each["id"], "Running")
        late = self.submit("late", "Running")
        for each in (deleted, vanished):
            self.assertEqual(server.call("DELETE", f"/apis/batch/v1/namespaces/default/jobs/{each['name']}")[0], 200)
            fleet.wait_gone(each)
        before = self.uids()
        self.assertEqual(len(before), 3)
        server.stop()
        shutil.move(f"{server.dir}/postgres", f"{server.dir}/postgres.lost")
        server.run("muster", "restore", backup, "--data-dir", server.dir)
        server.start()
        server.run("muster", "quota", "set", "main", "standard", "cpu", "--nominal", "32")
        fresh = self.submit("fresh", "Running")
        self.assertGreater(fresh["id"], late["id"] + 1000)
        server.wait(lambda: len(sql(server, "select 1 from set_aside_objects where reason = 1")) == 2, what="both are listed")
        self.assertEqual(server.job(goes_on["id"])["state"], "Running")
        self.assertEqual(server.job(goes_on["id"])["attempt"], 1)
        server.wait_state(deleted["id"], "Failed")
        fleet.says(began, "has attempt 1 of it, which the database does not know")
        for each in (began, vanished):
            self.assertEqual(server.job(each["id"])["state"], "Held")
        uid = fleet.object_of(fresh)[1]["metadata"]["uid"]
        self.assertEqual(self.uids(), before | {uid}, "nothing was created or removed")
        told = server.run("muster", "doctor", "--data-dir", server.dir, check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn(f"of a job with the uid {late['uid']}, which this database does not have", told.stdout)
        self.assertRegex(told.stdout, r"(?m)^member member-\d +off +Quarantined is True")
        # The administrator collects: what the database does not know goes, and what is released runs.
        for name in fleet.members:
            server.run("muster", "cluster", "collect", name)
        fleet.wait_gone(late)
        fleet.wait_gone(began)
        server.run("muster", "release", str(began["id"]), str(vanished["id"]))
        for each in (goes_on, began, vanished, fresh):
            server.wait_state(each["id"], "Running")
        for each in (goes_on, began, vanished, fresh):
            fleet.end_pods(server.job(each["id"]))
            fleet.ends(each["id"], "Succeeded")
        fleet.assert_invariants(self)


if __name__ == "__main__":
    unittest.main()
