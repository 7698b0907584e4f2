package main

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var lwsKind = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}

const (
	lwsName   = "leaderworkerset.sigs.k8s.io/name"
	lwsGroup  = "leaderworkerset.sigs.k8s.io/group-index"
	lwsWorker = "leaderworkerset.sigs.k8s.io/worker-index"
	lwsSize   = "leaderworkerset.sigs.k8s.io/size"
	lwsLeader = "leaderworkerset.sigs.k8s.io/leader-name"
)

type leaderWorkerSet struct {
	Spec struct {
		Replicas             int32 `json:"replicas"`
		LeaderWorkerTemplate struct {
			LeaderTemplate *corev1.PodTemplateSpec `json:"leaderTemplate"`
			WorkerTemplate corev1.PodTemplateSpec  `json:"workerTemplate"`
			Size           int32                   `json:"size"`
			RestartPolicy  string                  `json:"restartPolicy"`
		} `json:"leaderWorkerTemplate"`
		StartupPolicy string `json:"startupPolicy"`
	} `json:"spec"`
	Status lwsStatus `json:"status"`
}

type lwsStatus struct {
	Conditions      []metav1.Condition `json:"conditions,omitempty"`
	Replicas        int32              `json:"replicas"`
	ReadyReplicas   int32              `json:"readyReplicas"`
	UpdatedReplicas int32              `json:"updatedReplicas"`
	HPAPodSelector  string             `json:"hpaPodSelector,omitempty"`
}

// leaderWorkerSets is a stand-in for the LeaderWorkerSet controller, after its
// API reference: pods NAME-G (leader) and NAME-G-W (workers, owned by their
// leader), a group made again when one of its pods ends in failure or goes, groups
// beyond spec.replicas deleted, and the conditions Available and Progressing.
// The two StatefulSets between set and pods are left out.
type leaderWorkerSets struct{ api client.Client }

func addLeaderWorkerSets(manager ctrl.Manager, options controller.Options) error {
	byLabel := func(_ context.Context, pod client.Object) []reconcile.Request {
		name, ok := pod.GetLabels()[lwsName]
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
	}
	return ctrl.NewControllerManagedBy(manager).Named("leaderworkerset").For(newObject(lwsKind)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byLabel)).
		WithOptions(options).Complete(&leaderWorkerSets{manager.GetClient()})
}

func (r *leaderWorkerSets) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := newObject(lwsKind)
	if err := r.api.Get(ctx, request.NamespacedName, object); err != nil || object.GetDeletionTimestamp() != nil {
		return again, client.IgnoreNotFound(err)
	}
	set := &leaderWorkerSet{}
	if err := decode(object, set); err != nil {
		return again, err
	}
	pods, err := ownedPods(ctx, r.api, object, map[string]string{lwsName: object.GetName()})
	if err != nil {
		return again, err
	}
	groups := map[int32]map[int32]*corev1.Pod{}
	for i := range pods {
		group, _ := strconv.Atoi(pods[i].Labels[lwsGroup])
		worker, _ := strconv.Atoi(pods[i].Labels[lwsWorker])
		if groups[int32(group)] == nil {
			groups[int32(group)] = map[int32]*corev1.Pod{}
		}
		groups[int32(group)][int32(worker)] = &pods[i]
	}
	for index, members := range groups {
		if index >= set.Spec.Replicas {
			if err := r.removeGroup(ctx, members); err != nil {
				return again, err
			}
		}
	}
	status := set.Status
	status.Replicas, status.ReadyReplicas, status.UpdatedReplicas = 0, 0, 0
	status.HPAPodSelector = lwsName + "=" + object.GetName() + "," + lwsWorker + "=0"
	for index := range set.Spec.Replicas {
		ready, err := r.group(ctx, object, set, index, groups[index])
		if err != nil {
			return again, err
		}
		if groups[index][0] != nil {
			status.Replicas++
			status.UpdatedReplicas++
		}
		if ready {
			status.ReadyReplicas++
		}
	}
	setLwsConditions(&status, set.Spec.Replicas, object.GetGeneration())
	return again, writeStatus(ctx, r.api, object, &status)
}

func setLwsConditions(status *lwsStatus, wanted int32, generation int64) {
	available := metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: "AllGroupsReady", Message: "All replicas are ready"}
	progressing := metav1.Condition{Type: "Progressing", Status: metav1.ConditionFalse, ObservedGeneration: generation,
		Reason: "GroupsProgressing", Message: "Replicas are progressing"}
	if status.ReadyReplicas < wanted {
		available.Status, progressing.Status = metav1.ConditionFalse, metav1.ConditionTrue
	}
	meta.SetStatusCondition(&status.Conditions, available)
	meta.SetStatusCondition(&status.Conditions, progressing)
}

// removeGroup deletes the leader, whose workers the garbage collector follows up.
func (r *leaderWorkerSets) removeGroup(ctx context.Context, members map[int32]*corev1.Pod) error {
	for _, pod := range members {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if err := r.api.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// group brings one group up to its size and says whether all of it is ready.
func (r *leaderWorkerSets) group(ctx context.Context, object client.Object, set *leaderWorkerSet, index int32,
	members map[int32]*corev1.Pod) (bool, error) {
	template := &set.Spec.LeaderWorkerTemplate
	for _, pod := range members {
		if pod.DeletionTimestamp != nil {
			return false, nil // the group comes back once all of it is gone
		}
		if pod.Status.Phase == corev1.PodFailed && template.RestartPolicy != "None" {
			return false, r.removeGroup(ctx, members)
		}
	}
	leader := members[0]
	if leader == nil {
		if len(members) > 0 {
			return false, r.removeGroup(ctx, members)
		}
		pod := template.WorkerTemplate
		if template.LeaderTemplate != nil {
			pod = *template.LeaderTemplate
		}
		name := fmt.Sprintf("%s-%d", object.GetName(), index)
		return false, r.create(ctx, object, object, set, pod, name, name, index, 0)
	}
	ready := podReady(leader)
	if !ready && set.Spec.StartupPolicy == "LeaderReady" {
		return false, nil
	}
	for worker := int32(1); worker < template.Size; worker++ {
		if pod := members[worker]; pod != nil {
			ready = ready && podReady(pod)
			continue
		}
		ready = false
		leader.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		name := fmt.Sprintf("%s-%d", leader.Name, worker)
		if err := r.create(ctx, object, leader, set, template.WorkerTemplate, name, leader.Name, index, worker); err != nil {
			return false, err
		}
	}
	return ready, nil
}

func (r *leaderWorkerSets) create(ctx context.Context, object, owner client.Object, set *leaderWorkerSet,
	template corev1.PodTemplateSpec, name, leader string, group, worker int32) error {
	size := fmt.Sprint(set.Spec.LeaderWorkerTemplate.Size)
	pod := newPod(name, template, map[string]string{
		lwsName: object.GetName(), lwsGroup: fmt.Sprint(group), lwsWorker: fmt.Sprint(worker),
	}, owner)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[lwsSize] = size
	if worker > 0 {
		pod.Annotations[lwsLeader] = leader
	}
	pod.Spec.Hostname, pod.Spec.Subdomain = name, object.GetName()
	addEnv(&pod.Spec,
		corev1.EnvVar{Name: "LWS_LEADER_ADDRESS", Value: leader + "." + object.GetName() + "." + object.GetNamespace()},
		corev1.EnvVar{Name: "LWS_GROUP_SIZE", Value: size},
		corev1.EnvVar{Name: "LWS_WORKER_INDEX", Value: fmt.Sprint(worker)})
	return ignoreExisting(r.api.Create(ctx, pod))
}
