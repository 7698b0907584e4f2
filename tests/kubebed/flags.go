package main

import (
	"fmt"
	"os"
	"strings"
)

// controllers are those of the controller manager that jobs of any kind need.
var controllers = []string{
	"job", "cronjob", "garbage-collector", "namespace", "serviceaccount", "serviceaccount-token",
	"root-ca-certificate-publisher", "pod-garbage-collector", "ttl-after-finished", "disruption",
	"statefulset", "replicaset", "deployment", "node-lifecycle", "taint-eviction", "endpointslice",
}

// flags gives the command line of one server, writing the configuration files
// it reads.
func (c *Cluster) flags(server string) ([]string, error) {
	kubeconfig := "--kubeconfig=" + c.path("kubeconfig-cert")
	loopback := "127.0.0.1"
	port := func(name string) string { return fmt.Sprint(c.Ports[name]) }
	switch server {
	case "etcd":
		client, peer := "http://127.0.0.1:"+port("etcd"), "http://127.0.0.1:"+port("etcd-peer")
		return []string{
			"--name=" + c.Name, "--data-dir=" + c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + c.Name + "=" + peer,
		}, nil
	case "apiserver":
		return c.apiserverFlags(), nil
	case "controller-manager":
		names := make([]string, len(controllers))
		for i, name := range controllers {
			names[i] = name + "-controller"
		}
		return []string{
			kubeconfig, "--leader-elect=false", "--bind-address=" + loopback, "--secure-port=" + port(server),
			"--cert-dir=" + c.path("pki", "controller-manager"),
			"--service-account-private-key-file=" + c.path("pki", "service-accounts.key"),
			"--root-ca-file=" + c.path("pki", "ca.crt"), "--use-service-account-credentials=false",
			"--kube-api-qps=2000", "--kube-api-burst=4000", "--concurrent-job-syncs=20",
			"--concurrent-gc-syncs=20", "--concurrent-namespace-syncs=10",
			"--node-monitor-grace-period=40s", "--controllers=" + strings.Join(names, ","),
		}, nil
	case "scheduler":
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" +
			"leaderElection:\n  leaderElect: false\nclientConnection:\n  kubeconfig: " +
			c.path("kubeconfig-cert") + "\n  qps: 2000\n  burst: 4000\n"
		file := c.path("scheduler.yaml")
		return []string{
			"--config=" + file, "--bind-address=" + loopback, "--secure-port=" + port(server),
			"--cert-dir=" + c.path("pki", "scheduler"),
		}, os.WriteFile(file, []byte(text), 0o600)
	case "kwok":
		file := c.path("stages.yaml")
		return []string{
			kubeconfig, "--config=" + file, "--manage-all-nodes=true", "--node-lease-duration-seconds=200",
			fmt.Sprintf("--cidr=10.%d.0.0/16", 100+c.Index%100), "--node-ip=" + loopback,
			"--server-address=127.0.0.1:" + port(server),
		}, os.WriteFile(file, stages, 0o600)
	case "operators":
		return []string{
			kubeconfig, "--cert-dir=" + c.path("pki"), "--webhook-port=" + port("webhook"),
			"--kubelet-port=" + port("kubelet"),
		}, nil
	case "kueue":
		return []string{kubeconfig}, nil
	}
	return nil, fmt.Errorf("no server is named %q", server)
}

func (c *Cluster) apiserverFlags() []string {
	pki := func(file string) string { return c.path("pki", file) }
	flags := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.Ports["etcd"]),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports["apiserver"]),
		"--tls-cert-file=" + pki("tls.crt"), "--tls-private-key-file=" + pki("tls.key"),
		"--client-ca-file=" + pki("ca.crt"), "--token-auth-file=" + pki("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki("service-accounts.key"),
		"--service-account-signing-key-file=" + pki("service-accounts.key"),
		"--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC", "--anonymous-auth=false",
		"--endpoint-reconciler-type=none", "--event-ttl=10m",
		// Tests load this server harder than its defaults allow, and share two cores.
		"--enable-priority-and-fairness=false", "--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
		// Logs are asked of the operators' process, which plays the kubelets.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + pki("admin.crt"), "--kubelet-client-key=" + pki("admin.key"),
	}
	if !c.WatchCache {
		flags = append(flags, "--watch-cache-sizes=jobs.batch#0,pods#0,jobsets.jobset.x-k8s.io#0,"+
			"pytorchjobs.kubeflow.org#0,leaderworkersets.leaderworkerset.x-k8s.io#0,rayjobs.ray.io#0,rayclusters.ray.io#0")
	}
	return flags
}
