"""S05: the account of a local client is what the kernel says; a forged one is ignored or refused."""
import os
import pwd
import unittest

from callers import NOBODY, ask, ask_as
from muster_server import QUEUES, Server, shell_job

# Accounts without names, as a container's or a removed user's.
NAMELESS = [60101, 60102]


def name_of(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class PeerAccounts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert os.getuid() == 0, "only root can become other accounts"
        cls.server = Server().start()
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUES)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def whoami(self, uid, way, headers=None, environment=None):
        return ask_as(uid, self.server, way, "GET", "/v1/whoami", headers=headers, environment=environment)

    def test_the_account_is_the_kernels_over_both_ways(self):
        for way, method in (("unix", "unix"), ("tcp", "loopback")):
            for uid in (0, NOBODY, *NAMELESS):
                status, who = self.whoami(uid, way)
                self.assertEqual(status, 200, who)
                self.assertEqual((who["user"], who["uid"], who["method"]), (name_of(uid), uid, method))
                self.assertEqual("system:masters" in who["groups"], uid == 0, who)
                self.assertIn("system:authenticated", who["groups"])

    def test_forged_values_are_never_honoured(self):
        forged = honoured = 0
        headers = [{"X-Muster-User": "root"}, {"Impersonate-User": "root"}, {"Impersonate-User": name_of(NAMELESS[1])},
                   {"Impersonate-User": "root", "Impersonate-Group": "system:masters"}, {"Impersonate-Group": "system:masters"},
                   {"Impersonate-Uid": "0"}, {"X-Remote-User": "root"}, {"X-Forwarded-User": "root"}, {"X-Forwarded-For": "127.0.0.1"},
                   {"Authorization": "Bearer root"}, {"Authorization": "Basic cm9vdDo="}, {"X-Muster-Uid": "0"}]
        environments = [{"USER": "root", "LOGNAME": "root", "SUDO_UID": "0", "HOME": "/root"}]
        for way in ("unix", "tcp"):
            for uid in (NOBODY, NAMELESS[0]):
                for header, environment in [*((one, None) for one in headers), *((None, one) for one in environments)]:
                    status, who = self.whoami(uid, way, header, environment)
                    forged += 1
                    good = status in (400, 401, 403) or (status == 200 and who["user"] == name_of(uid) and who["uid"] == uid
                                                         and "system:masters" not in who["groups"])
                    honoured += 0 if good else 1
                    self.assertTrue(good, (way, uid, header, environment, status, who))
        print(f"\nS05: {forged} forged values, {honoured} honoured")

    def test_a_job_is_its_submitters_whatever_its_body_says(self):
        for way in ("unix", "tcp"):
            for field in ("annotations", "labels"):
                manifest = shell_job(f"forged-{way}-{field}", "true")
                manifest["metadata"][field] = {"muster.io/user": "root"} if field == "annotations" else {"user": "root"}
                status, job = ask_as(NOBODY, self.server, way, "POST", "/v1/namespaces/default/jobs", body=manifest)
                if status == 201:
                    self.assertEqual(job["user"], name_of(NOBODY))
                else:
                    self.assertIn(status, (400, 403), job)

    def test_root_may_act_as_others_and_it_is_shown(self):
        for header in ("X-Muster-User", "Impersonate-User"):
            status, who = ask(self.server, "unix", "GET", "/v1/whoami", headers={header: name_of(NOBODY)})
            self.assertEqual((status, who["user"], who["impersonator"]), (200, name_of(NOBODY), "root"))
            self.assertNotIn("uid", who)
            self.assertNotIn("system:masters", who["groups"])


if __name__ == "__main__":
    unittest.main()
