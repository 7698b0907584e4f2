"""Topology aware flavors on a member whose machines were declared."""
import json
import unittest

from muster_server import Server, shell_job, workload_name

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
MEMBER = "/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/east"
MERGE = "application/merge-patch+json"
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"

RACKS = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: racks}}
spec:
  levels:
  - nodeLabel: {RACK}
  - nodeLabel: {HOST}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: machines}}
spec:
  nodeLabels: {{pool: racked}}
  topologyName: racks
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: racked}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors:
    - name: machines
      resources: [{{name: cpu, nominalQuota: 32}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: default, namespace: default}}
spec: {{clusterQueue: racked}}
"""


def machines(*names):
    """4 cpu each; the first letter is the rack."""
    return json.dumps([{"name": name, "labels": {"pool": "racked", RACK: f"rack-{name[0]}"},
                        "allocatable": {"cpu": "4", "pods": "20"}} for name in names])


class Topologies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--local-cluster", "east,cpu=32,memory=64Gi"]).start()
        cls.server.run("muster", "apply", "-f", "-", stdin=RACKS)
        cls.declare(machines("a1", "a2", "b1", "b2"))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @classmethod
    def declare(cls, nodes):
        status, answer = cls.server.call("PATCH", MEMBER, {"metadata": {"annotations": {"muster.io/nodes": nodes}}}, MERGE)
        assert status == 200, answer

    def gang(self, name, pods, cpu, gate):
        job = shell_job(name, self.server.gate(gate), parallelism=pods, completions=pods, completionMode="Indexed",
                        requests={"cpu": cpu})
        job["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}}
        status, made = self.server.call("POST", "/v1/namespaces/default/jobs", job)
        self.assertEqual(status, 201, made)
        return made["id"]

    def assignment(self, name, version="v1beta2"):
        workload = self.server.get(f"/apis/kueue.x-k8s.io/{version}/namespaces/default/workloads/"
                                   f"{workload_name(self.server, name)}")[1]
        return workload["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]

    def test_gangs_go_into_one_rack_each_and_the_next_waits_for_a_rack(self):
        self.assertIn(f"{RACK} > {HOST}", self.server.run("muster", "get", "topologies"))
        first = self.gang("first", 4, "2", "topology")
        second = self.gang("second", 3, "2", "topology")
        for job in (first, second):
            self.server.wait_state(job, "Running")
        racks = set()
        for name, pods in (("first", 4), ("second", 3)):
            plain = self.assignment(name, "v1beta1")
            self.assertEqual((plain["levels"], sum(one["count"] for one in plain["domains"])), ([HOST], pods))
            of_machines = {one["values"][0][0] for one in plain["domains"]}
            self.assertEqual(len(of_machines), 1, plain)
            racks |= of_machines
            slices = self.assignment(name)
            self.assertEqual(slices["levels"], [HOST])
            self.assertEqual(sum(one["domainCount"] for one in slices["slices"]), len(plain["domains"]))
        self.assertEqual(racks, {"a", "b"})
        third = self.gang("third", 2, "2", "topology")  # 2 cpu are free, of one rack
        self.server.wait(lambda: 'topology "racks" allows to fit only 1 out of 2 pod(s)' in self.server.job(third)["message"],
                         what="its reason")
        # One more machine in a rack makes room, at once.
        self.declare(machines("a1", "a2", "b1", "b2", "b3"))
        self.server.wait_state(third, "Running")
        self.assertEqual([one["values"] for one in self.assignment("third", "v1beta1")["domains"]], [["b3"]])
        self.server.open_gate("topology")
        for job in (first, second, third):
            self.assertEqual(self.server.wait_state(job, "Succeeded", "Failed")["state"], "Succeeded")

    def test_of_a_member_the_flags_say_the_rest(self):
        for body in ({"metadata": {"labels": {"zone": "a"}}}, {"metadata": {"annotations": {"muster.io/allocatable": "{}"}}},
                     {"spec": {"taints": []}, "metadata": {"annotations": {"muster.io/nodes": "no list"}}}):
            status, answer = self.server.call("PATCH", MEMBER, body, MERGE)
            self.assertEqual(status, 400, answer)


if __name__ == "__main__":
    unittest.main()
