"""Batch scripts on a Kubernetes member (tests/kubebed: a real API server, controllers and scheduler): what is made for them there, and what their pods do.
The bed's pods run nothing, so pod_process runs their containers here, as the API server has them."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import slurm_site
from pod_process import PodProcess, terminate

sys.path.insert(0, os.path.join(slurm_site.HERE, "..", "kube"))
from fleet import Bed, Fleet  # noqa: E402

CORE = "/api/v1/namespaces/default"
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: default
  namespace: default
  annotations:
    muster.io/default-image: debian:12
    muster.io/tools-image: muster-tools:1
    muster.io/shared-directories: home:/home/shared,sets:/srv/data/sets:ro
spec: {clusterQueue: main}
"""
CLAIMS = ("home", "sets")
SCRIPT = """#!/bin/sh
echo "host $(hostname) of $SLURM_JOB_NODELIST"
for host in $(scontrol show hostnames); do
  getent hosts $host >/dev/null && echo "$host resolves" || echo "$host is unknown"
done
srun -N1 -n2 sh -c 'echo rank $SLURM_PROCID on $(hostname)' | sort
srun -n2 hostname; echo "all nodes: $?"
srun -N1 -n1 -w $(scontrol show hostnames | tail -1) hostname; echo "another node: $?"
for program in sbatch squeue scancel; do command -v $program; done
echo left >left
touch /srv/data/sets/x 2>/dev/null || echo "sets are read only"
"""
REFUSED = "srun: error: the nodes of job {0} share no steps directory: a step can use this one alone (-N1)\n"


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bed = Bed("--clusters", "1", "--nodes", "2")
        cls.addClassCleanup(bed.close)
        cls.fleet = Fleet(bed, ["member-1"])
        cls.addClassCleanup(cls.fleet.close)
        cls.fleet.start()
        cls.server, cls.member = cls.fleet.server, cls.fleet.members["member-1"]
        cls.server.run("muster", "apply", "-f", "-", stdin=QUEUE)
        cls.place = tempfile.mkdtemp(prefix="muster-pods-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.claims = {name: f"{cls.place}/claim-{name}" for name in CLAIMS}
        for name, folder in cls.claims.items():
            os.makedirs(folder)
            cls.make_claim(name)
        # The image of the commands, as `cmake --install` lays it out.
        cls.image = f"{cls.place}/image"
        os.makedirs(f"{cls.image}/libexec/muster")
        shutil.copytree(f"{slurm_site.BIN}/slurm", f"{cls.image}/libexec/muster/slurm", symlinks=True)
        os.makedirs(f"{cls.image}/bin")
        for program in ("muster", "muster-step-agent"):
            shutil.copy2(f"{slurm_site.BIN}/{program}", f"{cls.image}/bin/{program}")

    @classmethod
    def make_claim(cls, name):
        """A claim that is bound; the bed has no controller that would bind it."""
        amount = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        cls.member.call("POST", "/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {**amount, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, "claimRef": {"namespace": "default", "name": name}}})
        cls.member.call("POST", CORE + "/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {**amount, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}})

    def environment(self):
        """Without Muster's programs in PATH, which comes along: pods have them from their own image."""
        return dict(slurm_site.clean_environment(), MUSTER_URL=self.server.url(), HOME=self.server.dir, PATH="/usr/sbin:/usr/bin:/sbin:/bin")

    def run_(self, command, *words, stdin=None):
        return subprocess.run([f"{slurm_site.BIN}/slurm/{command}", *words], env=self.environment(), input=stdin, capture_output=True, text=True, check=True, cwd=self.server.dir, timeout=60).stdout

    def submit(self, *options, script=SCRIPT):
        """The view of the job once all its pods run."""
        job = self.run_("sbatch", "--parsable", "-D", "/home/shared", *options, stdin=script).strip()
        self.fleet.server.wait_state(job, "Running")
        return self.server.job(job)

    def pods(self, job):
        """In the order of their numbers."""
        found = self.member.call("GET", f"{CORE}/pods?labelSelector=muster.io/job-uid={job['uid']}")["items"]
        return sorted(found, key=lambda pod: (pod["metadata"]["labels"]["muster.io/pod-set"] != "main", pod["spec"].get("hostname", "")))

    def hosts(self, service, pods):
        """{full name: address} by the EndpointSlices of the Service, once all pods are in them: what the cluster's DNS answers."""
        def read():
            slices = self.member.call("GET", f"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name={service}")
            names = {f"{one['hostname']}.{service}.default.svc.cluster.local": one["addresses"][0]
                     for each in slices["items"] for one in each["endpoints"] or [] if "hostname" in one}
            return names if len(names) == pods else None
        return self.server.wait(read, what=f"the names of {service}")

    def process(self, job, pod, hosts):
        maps = {one["metadata"]["name"]: one["data"] for one in self.member.call("GET", CORE + "/configmaps")["items"] if "data" in one}
        return PodProcess(pod, f"{self.place}/{pod['metadata']['name']}", self.image, self.claims, maps, hosts)

    def end(self, job, pods):
        """Cancels the job: its pods end, and what was made for it goes."""
        status, answer = self.server.call("DELETE", f"/v1/jobs/{job['id']}")
        self.assertLess(status, 300, answer)
        self.fleet.ends(job["id"], "Cancelled")
        for collection in ("services", "configmaps", "pods"):
            self.server.wait(lambda: not self.left(collection, job), what=f"the {collection} of job {job['id']} go")  # pylint: disable=cell-var-from-loop

    def left(self, collection, job):
        """What is there of a job."""
        labels = [one["metadata"].get("labels", {}) for one in self.member.call("GET", f"{CORE}/{collection}")["items"]]
        return [one for one in labels if one.get("muster.io/job-uid") == job["uid"] or one.get("jobset.sigs.k8s.io/jobset-name") == job["name"]]

    def test_two_nodes(self):
        job = self.submit("-N2", "-n4", "--mem=100M")
        name = job["name"]
        pods = self.pods(job)
        self.assertEqual([pod["spec"]["hostname"] for pod in pods], [f"{name}-0", f"{name}-1"])
        service = self.member.call("GET", f"{CORE}/services/{name}")
        self.assertEqual((service["spec"]["clusterIP"], service["spec"]["selector"]), ("None", {"muster.io/job-uid": job["uid"]}))
        self.assertEqual([(one["kind"], one["name"]) for one in service["metadata"]["ownerReferences"]], [("Job", name)])
        hosts = self.hosts(name, 2)
        self.assertEqual(sorted(hosts.values()), sorted(pod["status"]["podIP"] for pod in pods))
        for pod in pods:
            container = pod["spec"]["containers"][0]
            self.assertEqual((pod["spec"]["subdomain"], pod["spec"]["dnsConfig"]["searches"]), (name, [f"{name}.default.svc.cluster.local"]))
            self.assertEqual(container["image"], "debian:12")
            self.assertEqual([one["image"] for one in pod["spec"]["initContainers"]], ["muster-tools:1"])
            self.assertEqual({one["mountPath"]: one.get("readOnly", False) for one in container["volumeMounts"] if "muster" in one["name"]},
                             {"/tmp/muster-batch": True, "/opt/muster": True, "/home/shared": False, "/srv/data/sets": True})
            variables = {one["name"]: one.get("value") for one in container["env"]}
            self.assertEqual((variables["SLURM_JOB_NODELIST"], variables["SLURM_NTASKS"], variables["SLURM_JOB_NUM_NODES"]), (f"{name}-[0-1]", "4", "2"))
        self.assertEqual(self.run_("scontrol", "show", "hostnames", f"{name}-[0-1]").split(), [pod["spec"]["hostname"] for pod in pods])
        self.assertEqual(self.run_("squeue", "-h", "-j", str(job["id"]), "-o", "%T %N %D"), f"RUNNING {name}-[0-1] 2\n")
        self.see_what_they_do(job, pods, hosts)
        self.end(job, pods)

    def see_what_they_do(self, job, pods, hosts):
        first, second = (self.process(job, pod, hosts) for pod in pods)
        first.prepare()
        second.prepare()
        with second.main() as other, first.main() as script:
            out = script.communicate(timeout=120)[0]
            self.assertEqual(script.returncode, 0, out)
            self.assertIsNone(other.poll(), "the other node is kept while the script runs")
            self.assertEqual(terminate(other), 0)
        name, refused = job["name"], REFUSED.format(job["id"])
        self.assertEqual(out, f"""host {name}-0 of {name}-[0-1]
{name}-0 resolves
{name}-1 resolves
rank 0 on {name}-0
rank 1 on {name}-0
{refused}all nodes: 1
{refused}another node: 1
/opt/muster/slurm/sbatch
/opt/muster/slurm/squeue
/opt/muster/slurm/scancel
sets are read only
""")
        with open(f"{self.claims['home']}/left", encoding="utf-8") as file:
            self.assertEqual(file.read(), "left\n")

    def test_one_node(self):
        job = self.submit("-n2", script="#!/bin/sh\nhostname\nsrun sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS' | sort\necho $1 \\$0 '$(X)'\n")
        pods = self.pods(job)
        self.assertEqual([pod["spec"]["hostname"] for pod in pods], ["member-1"])
        self.assertEqual(self.member.status_of("GET", f"{CORE}/services/{job['name']}"), 404)
        process = self.process(job, pods[0], {})
        process.prepare()
        with process.main() as script:
            self.assertEqual(script.communicate(timeout=60)[0], "member-1\nrank 0 of 2\nrank 1 of 2\n$0 $(X)\n")
        self.end(job, pods)

    def test_components(self):
        job = self.submit(script="""#!/bin/sh
#SBATCH -N2
#SBATCH hetjob
#SBATCH -n1
for group in 0 1; do
  eval "list=\\$SLURM_JOB_NODELIST_HET_GROUP_$group"
  for host in $(scontrol show hostnames $list); do getent hosts $host >/dev/null && echo "$host resolves" || echo "$host is unknown"; done
done
srun --het-group=1 hostname; echo "another component: $?"
""")
        name, pods = job["name"], self.pods(job)
        self.assertEqual([pod["spec"]["hostname"] for pod in pods], [f"{name}-main-0-0", f"{name}-main-0-1", f"{name}-component-1-0-0"])
        hosts = self.hosts(name, 3)
        processes = [self.process(job, pod, hosts) for pod in pods]
        for process in processes:
            process.prepare()
        with processes[2].main() as component, processes[0].main() as script:
            out = script.communicate(timeout=60)[0]
            self.assertEqual(out, f"{name}-main-0-0 resolves\n{name}-main-0-1 resolves\n{name}-component-1-0-0 resolves\n"
                             + REFUSED.format(job["id"]) + "another component: 1\n")
            self.assertIsNone(component.poll())
            self.assertEqual(terminate(component), 0)
        self.end(job, pods)


if __name__ == "__main__":
    unittest.main()
