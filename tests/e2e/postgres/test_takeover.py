"""Two daemons on one database: the second one stands by, and takes over from a leader that is killed, stopped or cut off."""
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from muster_server import QUEUES, shell_job
from pg_pair import Postgres, synchronous
from two_daemons import Gate, Peer, key_file

TTL = "2s"


class Takeover(unittest.TestCase):
    def setUp(self):
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.key = key_file()
        self.addCleanup(shutil.rmtree, os.path.dirname(self.key))

    def peer(self, event, *flags, url=None):
        peer = Peer(url or self.postgres.url(), self.key, "--lease-ttl", TTL, *flags)
        self.addCleanup(peer.end)
        return peer.serve(event)

    def pair(self, url=None):
        """The leader, with queues, and its standby, which has a copy."""
        leader = self.peer("ready", url=url)
        leader.run("muster", "apply", "-f", "-", stdin=QUEUES)
        standby = self.peer("standby", "--standby")
        standby.wait(lambda: standby.ask("GET", "/v1/jobs")[0] == 200, what="the standby has a copy")
        return leader, standby

    def submit(self, server, name):
        return server.ask("POST", "/v1/namespaces/default/jobs", shell_job(name, "true"))

    def await_lead(self, server):
        server.wait(lambda: server.ask("GET", "/readyz")[0] == 200, what="it leads")

    def refused(self, server, what):
        """This daemon changes nothing: it sends the request elsewhere, or says that it cannot."""
        status, headers, body = self.submit(server, what)
        self.assertIn(status, (307, 503), (what, body))
        self.assertIn("Muster-Leader", headers)
        self.assertEqual(self.postgres.sql(f"select count(*) from jobs where name = '{what}'"), [["0"]])

    def env(self, *servers):
        return {"MUSTER_URL": ",".join(server.url() for server in servers)}

    def test_a_standby_that_cannot_begin_to_lead_ends_with_a_status_that_says_so(self):
        leader, standby = self.pair()
        directory = standby.dir
        os.rename(directory, directory + ".away")  # it makes a link there when it leads
        try:
            leader.kill()
            self.assertEqual(standby.process.wait(60), 1)
        finally:
            os.rename(directory + ".away", directory)
        self.assertIsNotNone(standby.logged("lead_failed"))

    def test_a_standby_serves_reads_with_their_age_and_sends_the_rest_to_the_leader(self):
        leader, standby = self.pair()
        self.assertEqual(self.submit(leader, "early")[0], 201)
        standby.wait(lambda: b'"early"' in standby.ask("GET", "/v1/jobs")[2], what="the copy has the job")
        status, headers, _ = standby.ask("GET", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main")
        self.assertEqual((status, headers["Muster-Leader"]), (200, leader.url()))
        self.assertGreaterEqual(float(headers["Muster-Copy-Age"]), 0)
        self.assertNotIn("Muster-Copy-Age", leader.ask("GET", "/v1/jobs")[1])
        for method, path in (("POST", "/v1/namespaces/default/jobs?dryRun=true"), ("DELETE", "/v1/jobs/1"), ("GET", "/v1/events?since=0"),
                             ("GET", "/v1/jobs/1/logs"), ("PUT", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main")):
            status, headers, _ = standby.ask(method, path, {} if method != "GET" else None)
            self.assertEqual((status, headers.get("Location")), (307, leader.url() + path), (method, path))
        for server, role in ((leader, "leader"), (standby, "standby")):
            told = server.get("/v1/status")[1]
            self.assertEqual((told["role"], told["leader"]["address"], told["leader"]["epoch"]), (role, leader.url(), 1))
            self.assertIn(f"leader:   {leader.url()} ", server.run("muster", "status"))
        status, answer = standby.get("/readyz")
        self.assertEqual((status, answer["leader"]["address"]), (503, leader.url()))
        # A client goes only where its list allows.
        alone = standby.run("sbatch", "--wrap", "true", check=False, env=self.env(standby))
        self.assertNotEqual(alone.returncode, 0)
        self.assertIn(f"the leader at {leader.url()} is not on the list of servers", alone.stderr)
        self.assertRegex(standby.run("muster", "status"), r"copy:     \d+\.\d s old")
        self.assertIn("Submitted batch job", standby.run("sbatch", "--wrap", "true", env=self.env(standby, leader)))
        self.assertIn("early", standby.run("muster", "get", "jobs", env=self.env(standby, leader)))

    def test_a_stopped_leader_is_replaced_and_changes_nothing_when_it_goes_on(self):
        leader, standby = self.pair()
        told, stop = [], threading.Event()

        def load():
            for i in range(1_000_000):
                if stop.is_set():
                    return
                if self.submit(leader, f"load-{i}")[0] == 201:
                    told.append(f"load-{i}")
        client = threading.Thread(target=load)
        client.start()
        leader.wait(lambda: len(told) > 20, what="acknowledged jobs")
        os.kill(leader.process.pid, signal.SIGSTOP)
        self.await_lead(standby)
        epoch, writes = self.postgres.sql("select epoch, (select count(*) from jobs) from leader")[0]
        os.kill(leader.process.pid, signal.SIGCONT)
        self.refused(leader, "stale")
        stop.set()
        client.join()
        leader.wait(lambda: leader.ask("GET", "/v1/jobs")[1].get("Muster-Leader") == standby.url(), what="it stands by")
        self.assertEqual(self.postgres.sql("select epoch, (select count(*) from jobs) from leader"), [[epoch, writes]])
        there = {name for (name,) in self.postgres.sql("select name from jobs")}
        self.assertEqual([name for name in told if name not in there], [])
        self.assertEqual(self.submit(standby, "later")[0], 201)
        self.assertEqual(self.postgres.sql("select count(*) from (select job_uid from dispatches where state in (1, 2, 3, 4) "
                                           "group by job_uid having count(*) > 1) t"), [["0"]])

    def test_a_leader_that_is_cut_off_fences_itself_before_another_one_leads(self):
        gate = Gate(self.postgres.port)
        self.addCleanup(gate.close)
        leader, standby = self.pair(url=f"postgresql://muster@127.0.0.1:{gate.port}/muster")
        seen, stop = [], threading.Event()

        def watch():
            while not stop.is_set():
                began = time.monotonic()
                # From memory: a read of the database would hang with it.
                status, headers, _ = leader.ask("GET", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/main")
                seen.append((began, status, headers.get("Muster-Copy-Age") if status else None))
                time.sleep(0.02)
        watcher = threading.Thread(target=watch)
        watcher.start()
        leader.wait(lambda: len(seen) > 5, what="reads")
        gate.open.clear()
        self.await_lead(standby)
        led = time.monotonic()
        time.sleep(0.5)
        stop.set()
        watcher.join()
        self.assertEqual(seen[0][1], 200)
        # Asked after the other one led, it answers no read as if it were current.
        late = [(status, age) for began, status, age in seen if began > led]
        self.assertEqual([one for one in late if one[0] not in (0, 200, 503) or (one[0] == 200 and one[1] is None)], [])
        self.assertIn(200, [status for status, _ in late], "it goes on to answer, marked with the age")
        self.assertGreater(max(float(age) for _, age in late if age), 1)
        self.refused(leader, "cut-off")
        gate.open.set()
        leader.wait(lambda: leader.ask("GET", "/v1/jobs")[1].get("Muster-Leader") == standby.url(), what="it stands by")
        self.refused(leader, "back")

    def test_a_leader_whose_commit_waits_for_a_standby_of_the_database_goes_on_to_lead(self):
        reserve = Postgres("reserve", self.postgres)
        self.addCleanup(reserve.close)
        synchronous(self.postgres, reserve)
        leader, standby = self.pair()
        waits = "select pid from pg_stat_activity where application_name = 'musterd writer' and wait_event = 'SyncRep'"
        reserve.signal(signal.SIGSTOP)
        self.postgres.wait(lambda: self.postgres.sql(waits), "a commit waits")
        standby.wait(lambda: "waiting for a synchronous standby" in str(standby.get("/readyz")), what="the standby says what it waits for")
        time.sleep(12)  # longer than the leader waits for its answer
        self.assertEqual([one.ask("GET", "/readyz")[0] for one in (leader, standby)], [503, 503])
        reserve.signal(signal.SIGCONT)
        self.await_lead(leader)
        self.assertEqual(self.submit(leader, "later")[0], 201)
        self.assertIsNone(standby.logged("recovered"), "the other one never led")

    def test_a_killed_leader_is_replaced_and_a_stopped_one_hands_over_at_once(self):
        leader, standby = self.pair()
        leader.kill()
        self.await_lead(standby)
        leader.serve("standby")
        self.assertEqual(standby.stop(), 0)
        self.assertTrue(standby.logged("lease_released"))
        self.await_lead(leader)
        self.assertEqual(self.submit(leader, "back")[0], 201)
        # Its own lease does not keep it out after a crash.
        leader.kill()
        told = len(leader.log())
        leader.serve("ready")
        self.assertIsNone(leader.logged("standby", told))

    def test_commands_pass_over_a_leader_that_is_stopped_and_wait_for_the_next_one(self):
        leader, standby = self.pair()
        servers = self.env(leader, standby)
        large = shell_job("large", "true", requests={"cpu": "100"})  # it waits for more than there is
        job = leader.call("POST", "/v1/namespaces/default/jobs", large)[1]["id"]
        standby.wait(lambda: standby.ask("GET", f"/v1/jobs/{job}")[0] == 200, what="the copy has the job")
        os.kill(leader.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, leader.process.pid, signal.SIGCONT)
        # Without a key: if the stopped one had it, it could not be sent to the other.
        leader.run("muster", "hold", str(job), env=servers)
        self.await_lead(standby)
        self.assertEqual(self.postgres.sql(f"select count(*) from events where job_id = {job} and type = 'JobHeld'"), [["1"]])
        away = os.path.join(leader.dir, ".cache", "muster", "away-servers")
        leader.run("muster", "get", "jobs", env=servers)
        with open(away, encoding="utf-8") as file:
            self.assertIn(leader.url(), file.read())
        self.assertEqual(os.stat(away).st_mode & 0o777, 0o600)
        # A server that is back is no longer passed over, once it was asked.
        os.kill(leader.process.pid, signal.SIGCONT)
        leader.wait(lambda: leader.ask("GET", "/livez")[0] == 200, what="it goes on")
        standby.kill()
        leader.run("muster", "release", str(job), env=servers)
        self.assertEqual(leader.job(job)["state"], "Pending")
        with open(away, encoding="utf-8") as file:
            self.assertNotIn(leader.url(), file.read())

    def test_grpc_goes_to_the_leader_and_waits_for_the_next_one(self):
        leader, standby = self.pair()
        both = {"MUSTER_GRPC": f"127.0.0.1:{standby.grpc_port},127.0.0.1:{leader.grpc_port}"}
        quota = ["muster", "quota", "set", "main", "standard", "cpu", "--nominal"]
        self.assertIn(" 31 ", leader.run(*quota, "31", env=both))
        alone = standby.run(*quota, "30", check=False)
        self.assertEqual(alone.returncode, 1, alone)
        self.assertIn(leader.url(), alone.stderr)
        os.kill(leader.process.pid, signal.SIGSTOP)
        both = {"MUSTER_GRPC": f"127.0.0.1:{leader.grpc_port},127.0.0.1:{standby.grpc_port}"}
        self.assertIn(" 29 ", standby.run(*quota, "29", env=both))
        os.kill(leader.process.pid, signal.SIGCONT)

    def test_followers_of_events_miss_nothing_and_see_nothing_twice(self):
        leader, standby = self.pair()
        servers = self.env(leader, standby)
        first = leader.run("sbatch", "--hold", "--wrap", "true", "--parsable", env=servers).strip()
        waiter = subprocess.Popen(["muster", "wait", first], env=dict(leader.environment(), **servers), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, cwd=leader.dir)
        time.sleep(1)
        os.kill(leader.process.pid, signal.SIGSTOP)
        self.await_lead(standby)
        standby.run("scontrol", "release", first, env=self.env(standby))
        out, err = waiter.communicate(timeout=120)
        self.assertEqual(waiter.returncode, 0, (out, err))
        os.kill(leader.process.pid, signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
