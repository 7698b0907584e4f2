package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed stages.yaml
var stages []byte

//go:embed crds/leaderworkersets.yaml
var leaderWorkerSetCRD []byte

//go:embed crds/rayclusters.yaml
var rayClusterCRD []byte

//go:embed crds/rayjobs.yaml
var rayJobCRD []byte

// upstream are the manifests that build.sh takes out of the module
// cache and puts beside the program, in manifests/.
var upstream = []string{"jobset-crd.yaml", "pytorchjob-crd.yaml", "jobset-webhooks.yaml", "training-webhooks.yaml"}

func (c *Cluster) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("kubeconfig-cert"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 1000
	// Keys by value: a cluster that is made once more has others in the same files, which
	// client-go reads again at times of its own.
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	return config, nil
}

func (c *Cluster) client() (client.Client, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
}

// makeNodes creates the simulated nodes: half of them in each of two zones, four
// to a rack, so that topology has something to see.
func (c *Cluster) makeNodes(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	size := corev1.ResourceList{"pods": resource.MustParse("110")}
	for name, amount := range map[corev1.ResourceName]string{
		"cpu": c.NodeCPU, "memory": c.NodeMemory, "nvidia.com/gpu": c.NodeGPU,
	} {
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return fmt.Errorf("%s of a node: %w", name, err)
		}
		size[name] = quantity
	}
	for i := range c.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        name,
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
				Labels: map[string]string{
					"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
					"topology.kubernetes.io/zone": fmt.Sprint("zone-", i%2+1),
					"bed.test/rack":               fmt.Sprint("rack-", i/4+1),
				},
			},
			Status: corev1.NodeStatus{
				Capacity: size, Allocatable: size,
				Addresses: []corev1.NodeAddress{
					{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name},
				},
				DaemonEndpoints: corev1.NodeDaemonEndpoints{
					KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(c.Ports["kubelet"])},
				},
				NodeInfo: corev1.NodeSystemInfo{
					Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.36.3",
					ContainerRuntimeVersion: "simulated", OSImage: "simulated",
				},
			},
		}
		if err := api.Create(ctx, node); err != nil {
			return err
		}
	}
	return poll(120*time.Second, "the nodes of "+c.Name, func() error { return nodesReady(ctx, api) })
}

func nodesReady(ctx context.Context, api client.Client) error {
	nodes := &corev1.NodeList{}
	if err := api.List(ctx, nodes); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		ready := len(node.Spec.Taints) == 0
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				ready = false
			}
		}
		if !ready || len(node.Status.Conditions) == 0 {
			return fmt.Errorf("%s is not ready", node.Name)
		}
	}
	return nil
}

// installKinds creates the job kinds and waits until they are served.
func (c *Cluster) installKinds(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	files, err := readUpstream()
	if err != nil {
		return err
	}
	for _, text := range [][]byte{files["jobset-crd.yaml"], files["pytorchjob-crd.yaml"], leaderWorkerSetCRD, rayClusterCRD, rayJobCRD} {
		if err := applyAll(ctx, api, text, nil); err != nil {
			return err
		}
	}
	for _, path := range []string{
		"/apis/jobset.x-k8s.io/v1alpha2/jobsets", "/apis/kubeflow.org/v1/pytorchjobs",
		"/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets", "/apis/ray.io/v1/rayjobs", "/apis/ray.io/v1/rayclusters",
	} {
		if err := poll(60*time.Second, path, func() error { return c.get(path) }); err != nil {
			return err
		}
	}
	return nil
}

// installOperators starts the controllers of the job kinds, and only then the
// webhooks that call them.
func (c *Cluster) installOperators(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	files, err := readUpstream()
	if err != nil {
		return err
	}
	if err := c.start("operators"); err != nil {
		return err
	}
	if err := poll(60*time.Second, "the operators of "+c.Name, c.operatorsReady); err != nil {
		return err
	}
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	for file, prefix := range map[string]string{"jobset-webhooks.yaml": "jobset", "training-webhooks.yaml": "training"} {
		edit := func(object *unstructured.Unstructured) error {
			object.SetName(prefix + "-" + object.GetName())
			return c.pointWebhooks(object, ca)
		}
		if err := applyAll(ctx, api, files[file], edit); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) operatorsReady() error {
	return errors.Join(c.listens("operators", "webhook"), c.listens("operators", "kubelet"))
}

func readUpstream() (map[string][]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range upstream {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(self), "manifests", name))
		if err != nil {
			return nil, fmt.Errorf("build kubebed by its script, which puts manifests beside it: %w", err)
		}
		files[name] = text
	}
	return files, nil
}

// applyAll creates every object of a YAML stream, edited first; a nil edit
// leaves them. Objects that are there already stay.
func applyAll(ctx context.Context, api client.Client, text []byte, edit func(*unstructured.Unstructured) error) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		if edit != nil {
			if err := edit(object); err != nil {
				return err
			}
		}
		if err := api.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// pointWebhooks makes the webhooks of a configuration call the operators'
// process directly, since no Service has a route here, and drops those of kinds
// that are not installed.
func (c *Cluster) pointWebhooks(object *unstructured.Unstructured, ca []byte) error {
	hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	var kept []any
	for _, each := range hooks {
		hook := each.(map[string]any)
		path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
		if strings.Contains(path, "kubeflow-org") && !strings.Contains(path, "pytorchjob") {
			continue
		}
		hook["clientConfig"] = map[string]any{
			"url":      fmt.Sprintf("https://127.0.0.1:%d%s", c.Ports["webhook"], path),
			"caBundle": base64.StdEncoding.EncodeToString(ca),
		}
		kept = append(kept, hook)
	}
	object.Object["webhooks"] = kept
	return nil
}
