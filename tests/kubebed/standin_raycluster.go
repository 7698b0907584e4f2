package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resources "k8s.io/component-helpers/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var rayClusterKind = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}

const (
	rayCluster  = "ray.io/cluster"
	rayNodeType = "ray.io/node-type"
	rayGroup    = "ray.io/group"
	rayIsNode   = "ray.io/is-ray-node"
)

type rayWorkerGroup struct {
	GroupName   string                 `json:"groupName"`
	Replicas    *int32                 `json:"replicas"`
	MinReplicas *int32                 `json:"minReplicas"`
	MaxReplicas *int32                 `json:"maxReplicas"`
	NumOfHosts  int32                  `json:"numOfHosts"`
	Suspend     bool                   `json:"suspend"`
	Template    corev1.PodTemplateSpec `json:"template"`
}

// pods is how many pods a group asks for.
func (g *rayWorkerGroup) pods() int32 {
	if g.Suspend || g.Replicas == nil {
		return 0
	}
	return *g.Replicas * max(g.NumOfHosts, 1)
}

type rayClusterSpec struct {
	HeadGroupSpec struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"headGroupSpec"`
	WorkerGroupSpecs []rayWorkerGroup `json:"workerGroupSpecs"`
	Suspend          bool             `json:"suspend"`
	ManagedBy        string           `json:"managedBy"`
}

type rayHead struct {
	PodIP   string `json:"podIP,omitempty"`
	PodName string `json:"podName,omitempty"`
}

type rayClusterStatus struct {
	State                   string                 `json:"state,omitempty"`
	Reason                  string                 `json:"reason,omitempty"`
	Conditions              []metav1.Condition     `json:"conditions,omitempty"`
	DesiredWorkerReplicas   int32                  `json:"desiredWorkerReplicas,omitempty"`
	AvailableWorkerReplicas int32                  `json:"availableWorkerReplicas,omitempty"`
	ReadyWorkerReplicas     int32                  `json:"readyWorkerReplicas,omitempty"`
	DesiredCPU              string                 `json:"desiredCPU,omitempty"`
	DesiredMemory           string                 `json:"desiredMemory,omitempty"`
	DesiredGPU              string                 `json:"desiredGPU,omitempty"`
	Head                    rayHead                `json:"head"`
	StateTransitionTimes    map[string]metav1.Time `json:"stateTransitionTimes,omitempty"`
	ObservedGeneration      int64                  `json:"observedGeneration,omitempty"`
}

// rayClusters is a stand-in for KubeRay's RayCluster controller, after its API
// reference: a head pod and the pods of each worker group, none while suspended,
// failed pods made again, and the status of these.
type rayClusters struct{ api client.Client }

func addRayClusters(manager ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(manager).Named("raycluster").For(newObject(rayClusterKind)).
		Owns(&corev1.Pod{}).WithOptions(options).Complete(&rayClusters{manager.GetClient()})
}

func managedElsewhere(by string) bool { return by != "" && by != "ray.io/kuberay-operator" }

func (r *rayClusters) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := newObject(rayClusterKind)
	if err := r.api.Get(ctx, request.NamespacedName, object); err != nil || object.GetDeletionTimestamp() != nil {
		return again, client.IgnoreNotFound(err)
	}
	cluster := &struct {
		Spec   rayClusterSpec   `json:"spec"`
		Status rayClusterStatus `json:"status"`
	}{}
	if err := decode(object, cluster); err != nil || managedElsewhere(cluster.Spec.ManagedBy) {
		return again, err
	}
	list, err := ownedPods(ctx, r.api, object, map[string]string{rayCluster: object.GetName()})
	if err != nil {
		return again, err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list {
		pods[list[i].Name] = &list[i]
	}
	wanted := r.wanted(object, &cluster.Spec)
	for name, pod := range pods {
		_, keep := wanted[name]
		if (!keep || podEnded(pod)) && pod.DeletionTimestamp == nil {
			if err := r.api.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
				return again, err
			}
		}
	}
	for name, pod := range wanted {
		if pods[name] == nil {
			if err := ignoreExisting(r.api.Create(ctx, pod)); err != nil {
				return again, err
			}
		}
	}
	status := cluster.Status
	fillRayStatus(&status, &cluster.Spec, object, wanted, pods)
	return again, writeStatus(ctx, r.api, object, &status)
}

// wanted gives the pods the cluster should have, by name.
func (r *rayClusters) wanted(object client.Object, spec *rayClusterSpec) map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	if spec.Suspend {
		return pods
	}
	add := func(name, kind, group string, template corev1.PodTemplateSpec) {
		pods[name] = newPod(name, template, map[string]string{
			rayCluster: object.GetName(), rayNodeType: kind, rayGroup: group, rayIsNode: "yes",
		}, object)
	}
	add(object.GetName()+"-head", "head", "headgroup", spec.HeadGroupSpec.Template)
	for i := range spec.WorkerGroupSpecs {
		group := &spec.WorkerGroupSpecs[i]
		for worker := range group.pods() {
			add(fmt.Sprintf("%s-%s-worker-%d", object.GetName(), group.GroupName, worker), "worker", group.GroupName, group.Template)
		}
	}
	return pods
}

func fillRayStatus(status *rayClusterStatus, spec *rayClusterSpec, object client.Object,
	wanted, pods map[string]*corev1.Pod) {
	headName := object.GetName() + "-head"
	head := pods[headName]
	headReady := head != nil && podReady(head)
	status.ObservedGeneration = object.GetGeneration()
	status.DesiredWorkerReplicas, status.AvailableWorkerReplicas, status.ReadyWorkerReplicas = 0, 0, 0
	total := corev1.ResourceList{}
	for name, pod := range wanted {
		for kind, amount := range resources.PodRequests(pod, resources.PodResourcesOptions{}) {
			sum := total[kind]
			sum.Add(amount)
			total[kind] = sum
		}
		if name == headName {
			continue
		}
		status.DesiredWorkerReplicas++
		if have := pods[name]; have != nil && have.Status.Phase == corev1.PodRunning {
			status.AvailableWorkerReplicas++
			if podReady(have) {
				status.ReadyWorkerReplicas++
			}
		}
	}
	status.DesiredCPU, status.DesiredMemory = amount(total, "cpu"), amount(total, "memory")
	status.DesiredGPU = amount(total, "nvidia.com/gpu")
	status.Head = rayHead{}
	if head != nil {
		status.Head = rayHead{PodIP: head.Status.PodIP, PodName: head.Name}
	}
	condition := func(kind string, holds bool, reason string) {
		state := metav1.ConditionFalse
		if holds {
			state = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: kind, Status: state, Reason: reason,
			ObservedGeneration: object.GetGeneration()})
	}
	allReady := headReady && status.ReadyWorkerReplicas == status.DesiredWorkerReplicas
	state := status.State
	switch {
	case spec.Suspend && len(pods) == 0:
		state = "suspended"
		condition("RayClusterSuspended", true, "RayClusterSuspended")
		condition("RayClusterProvisioned", false, "RayClusterPodsProvisioning")
	case spec.Suspend:
		condition("RayClusterSuspending", true, "RayClusterSuspending")
	case allReady:
		state = "ready"
		condition("RayClusterProvisioned", true, "AllPodRunningAndReadyFirstTime")
	case state == "suspended":
		state = ""
	}
	if !spec.Suspend || len(pods) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, "RayClusterSuspending")
	}
	if !spec.Suspend {
		meta.RemoveStatusCondition(&status.Conditions, "RayClusterSuspended")
	}
	if headReady {
		condition("HeadPodReady", true, "HeadPodRunningAndReady")
	} else {
		condition("HeadPodReady", false, "HeadPodNotFound")
	}
	if state != status.State && state != "" {
		if status.StateTransitionTimes == nil {
			status.StateTransitionTimes = map[string]metav1.Time{}
		}
		status.StateTransitionTimes[state] = metav1.Now()
	}
	status.State = state
}

func amount(total corev1.ResourceList, name corev1.ResourceName) string {
	quantity, ok := total[name]
	if !ok {
		quantity = resource.MustParse("0")
	}
	return quantity.String()
}
