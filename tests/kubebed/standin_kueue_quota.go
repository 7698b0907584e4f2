package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	resources "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type kueueGroup struct {
	CoveredResources []corev1.ResourceName `json:"coveredResources"`
	Flavors          []struct {
		Name      string `json:"name"`
		Resources []struct {
			Name         corev1.ResourceName `json:"name"`
			NominalQuota resource.Quantity   `json:"nominalQuota"`
		} `json:"resources"`
	} `json:"flavors"`
}

// A flavorResource is one of a ClusterQueue's quotas.
type flavorResource struct {
	flavor string
	name   corev1.ResourceName
}

type quotas map[flavorResource]resource.Quantity

func (q quotas) add(key flavorResource, amount resource.Quantity) {
	sum := q[key]
	sum.Add(amount)
	q[key] = sum
}

// usage sums what workloads hold in each queue; admitted ones alone, if so asked.
func (r *kueueRound) usage(admitted bool) map[string]quotas {
	used := map[string]quotas{}
	for _, w := range r.workloads {
		if w.Status.Admission == nil || w.is("Finished") || !w.is("QuotaReserved") || (admitted && !w.is("Admitted")) {
			continue
		}
		queue := w.Status.Admission.ClusterQueue
		if used[queue] == nil {
			used[queue] = quotas{}
		}
		for _, set := range w.Status.Admission.PodSetAssignments {
			for name, flavor := range set.Flavors {
				used[queue].add(flavorResource{flavor, corev1.ResourceName(name)}, set.ResourceUsage[corev1.ResourceName(name)])
			}
		}
	}
	return used
}

// admit reserves quota, the higher priority and then the older workload first.
func (r *kueueRound) admit(ctx context.Context) error {
	var pending []*kueueWorkload
	for _, w := range r.workloads {
		if w.active() && w.GetDeletionTimestamp() == nil && !w.is("Finished") && !w.is("QuotaReserved") {
			pending = append(pending, w)
		}
	}
	slices.SortStableFunc(pending, func(a, b *kueueWorkload) int {
		aged := a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), aged, cmp.Compare(a.GetName(), b.GetName()))
	})
	used := r.usage(false)
	blocked := map[string]bool{} // queues whose head waits, in strict order
	var failures []error
	for _, w := range pending {
		queue, obstacle := r.queueOf(w)
		if obstacle != "" {
			w.set("QuotaReserved", false, "Inadmissible", obstacle)
			failures = append(failures, r.save(ctx, w))
			continue
		}
		name := queue.GetName()
		if blocked[name] {
			continue
		}
		if used[name] == nil {
			used[name] = quotas{}
		}
		admission, wants, why := assign(queue, w, used[name])
		if why != "" {
			blocked[name] = queue.Spec.QueueingStrategy == "StrictFIFO"
			w.set("QuotaReserved", false, "Pending", why)
			failures = append(failures, r.save(ctx, w))
			continue
		}
		w.Status.Admission = admission
		w.set("QuotaReserved", true, "QuotaReserved", "Quota reserved in ClusterQueue "+name)
		w.set("Admitted", true, "Admitted", "The workload is admitted")
		if w.is("Evicted") {
			w.set("Evicted", false, "QuotaReserved", "Previously: the workload was evicted")
		}
		// A failed write may have been carried out: it counts until the next look.
		for key, amount := range wants {
			used[name].add(key, amount)
		}
		failures = append(failures, r.save(ctx, w))
	}
	return errors.Join(failures...)
}

// queueOf finds the ClusterQueue of a workload, or says why none takes it.
func (r *kueueRound) queueOf(w *kueueWorkload) (*kueueClusterQueue, string) {
	local := r.locals[client.ObjectKey{Namespace: w.GetNamespace(), Name: w.Spec.QueueName}]
	if local == nil {
		return nil, fmt.Sprintf("LocalQueue %s doesn't exist", w.Spec.QueueName)
	}
	if stopped(local.Spec.StopPolicy) {
		return nil, fmt.Sprintf("LocalQueue %s is inactive", w.Spec.QueueName)
	}
	queue := r.queues[local.Spec.ClusterQueue]
	if queue == nil {
		return nil, fmt.Sprintf("ClusterQueue %s doesn't exist", local.Spec.ClusterQueue)
	}
	if reason, _ := r.inactive(queue); reason != "" {
		return nil, fmt.Sprintf("ClusterQueue %s is inactive", queue.GetName())
	}
	selector, err := metav1.LabelSelectorAsSelector(queue.Spec.NamespaceSelector)
	namespace := r.namespaces[w.GetNamespace()]
	if err != nil || namespace == nil || !selector.Matches(labels.Set(namespace.Labels)) {
		return nil, "Workload namespace doesn't match ClusterQueue selector"
	}
	return queue, ""
}

func stopped(policy string) bool { return policy != "" && policy != "None" }

// inactive says why a ClusterQueue takes nothing: reason and message, or nothing.
func (r *kueueRound) inactive(queue *kueueClusterQueue) (string, string) {
	if queue.GetDeletionTimestamp() != nil {
		return "Terminating", "Can't admit new workloads; clusterQueue is terminating"
	}
	if stopped(queue.Spec.StopPolicy) {
		return "Stopped", "Can't admit new workloads: is stopped."
	}
	var missing []string
	for _, group := range queue.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			if r.flavors[flavor.Name] == nil {
				missing = append(missing, flavor.Name)
			}
		}
	}
	if len(missing) != 0 {
		return "FlavorNotFound", fmt.Sprintf("Can't admit new workloads: references missing ResourceFlavor(s): %s.",
			strings.Join(missing, ","))
	}
	return "", ""
}

// assign finds a flavor for every resource of every pod set, in the queue's order;
// what that would hold, or why it can't be had.
func assign(queue *kueueClusterQueue, w *kueueWorkload, used quotas) (*kueueAdmission, quotas, string) {
	admission := &kueueAdmission{ClusterQueue: queue.GetName()}
	wants := quotas{}
	for i := range w.Spec.PodSets {
		set := &w.Spec.PodSets[i]
		assignment, why := assignSet(queue, set, used, wants)
		if why != "" {
			return nil, nil, fmt.Sprintf("couldn't assign flavors to pod set %s: %s", set.Name, why)
		}
		admission.PodSetAssignments = append(admission.PodSetAssignments, assignment)
	}
	return admission, wants, ""
}

func assignSet(queue *kueueClusterQueue, set *kueuePodSet, used, wants quotas) (kueueAssignment, string) {
	assignment := kueueAssignment{Name: set.Name, Count: set.Count, Flavors: map[string]string{}, ResourceUsage: corev1.ResourceList{}}
	requests := podSetRequests(set)
	if covers(queue, corev1.ResourcePods) {
		requests[corev1.ResourcePods] = *resource.NewQuantity(int64(set.Count), resource.DecimalSI)
	}
	for _, group := range queue.Spec.ResourceGroups {
		var asked []corev1.ResourceName
		for _, name := range group.CoveredResources {
			if _, ok := requests[name]; ok {
				asked = append(asked, name)
			}
		}
		flavor, why := pickFlavor(group, asked, requests, used, wants)
		if why != "" {
			return assignment, why
		}
		for _, name := range asked {
			assignment.Flavors[string(name)] = flavor
			assignment.ResourceUsage[name] = requests[name]
			wants.add(flavorResource{flavor, name}, requests[name])
			delete(requests, name)
		}
	}
	for name, amount := range requests {
		if !amount.IsZero() {
			return assignment, fmt.Sprintf("resource %s unavailable in ClusterQueue", name)
		}
	}
	return assignment, ""
}

func covers(queue *kueueClusterQueue, name corev1.ResourceName) bool {
	return slices.ContainsFunc(queue.Spec.ResourceGroups, func(group kueueGroup) bool {
		return slices.Contains(group.CoveredResources, name)
	})
}

// podSetRequests is what all pods of a set ask for, limits standing in for
// requests that are missing.
func podSetRequests(set *kueuePodSet) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *set.Template.Spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			asks := corev1.ResourceList{}
			for name, amount := range containers[i].Resources.Limits {
				asks[name] = amount
			}
			for name, amount := range containers[i].Resources.Requests {
				asks[name] = amount
			}
			containers[i].Resources.Requests = asks
		}
	}
	total := corev1.ResourceList{}
	for name, amount := range resources.PodRequests(pod, resources.PodResourcesOptions{}) {
		amount.Mul(int64(set.Count))
		total[name] = amount
	}
	return total
}

// pickFlavor takes the first flavor of a group with room for all that is asked of it.
func pickFlavor(group kueueGroup, asked []corev1.ResourceName, requests corev1.ResourceList, used, wants quotas) (string, string) {
	if len(asked) == 0 {
		return "", ""
	}
	var obstacles []string
	for _, flavor := range group.Flavors {
		fits := true
		for _, quota := range flavor.Resources {
			if !slices.Contains(asked, quota.Name) {
				continue
			}
			key := flavorResource{flavor.Name, quota.Name}
			before, request := wants[key], requests[quota.Name]
			needed := before.DeepCopy()
			needed.Add(request)
			taken := used[key]
			short := needed.DeepCopy()
			short.Add(taken)
			short.Sub(quota.NominalQuota)
			if needed.Cmp(quota.NominalQuota) > 0 {
				obstacles = append(obstacles, fmt.Sprintf("insufficient quota for %s in flavor %s, previously considered podsets "+
					"requests (%s) + current podset request (%s) > maximum capacity (%s)",
					quota.Name, flavor.Name, before.String(), request.String(), quota.NominalQuota.String()))
			} else if short.Sign() > 0 {
				obstacles = append(obstacles, fmt.Sprintf("insufficient unused quota for %s in flavor %s, %s more needed",
					quota.Name, flavor.Name, short.String()))
			} else {
				continue
			}
			fits = false
		}
		if fits {
			return flavor.Name, ""
		}
	}
	return "", strings.Join(obstacles, ", ")
}

type kueueUsage struct {
	Name      string               `json:"name"`
	Resources []kueueResourceTotal `json:"resources"`
}

type kueueResourceTotal struct {
	Name  corev1.ResourceName `json:"name"`
	Total resource.Quantity   `json:"total"`
}

type kueueQueueStatus struct {
	Conditions         []metav1.Condition `json:"conditions"`
	Pending            int32              `json:"pendingWorkloads"`
	Reserving          int32              `json:"reservingWorkloads"`
	Admitted           int32              `json:"admittedWorkloads"`
	FlavorsReservation []kueueUsage       `json:"flavorsReservation,omitempty"`
	FlavorsUsage       []kueueUsage       `json:"flavorsUsage,omitempty"`
}

func (s *kueueQueueStatus) count(w *kueueWorkload) {
	switch {
	case w.is("Finished"):
	case !w.is("QuotaReserved"):
		s.Pending++
	default:
		s.Reserving++
		if w.is("Admitted") {
			s.Admitted++
		}
	}
}

func (s *kueueQueueStatus) activeness(generation int64, inactive, message, active string) {
	state := metav1.Condition{Type: "Active", Status: metav1.ConditionTrue, Reason: "Ready", Message: active, ObservedGeneration: generation}
	if inactive != "" {
		state.Status, state.Reason, state.Message = metav1.ConditionFalse, inactive, message
	}
	meta.SetStatusCondition(&s.Conditions, state)
}

// tellQueues writes the status of ClusterQueues and LocalQueues.
func (r *kueueRound) tellQueues(ctx context.Context) error {
	statuses := map[string]*kueueQueueStatus{}
	locals := map[client.ObjectKey]*kueueQueueStatus{}
	for name, queue := range r.queues {
		statuses[name] = &kueueQueueStatus{Conditions: queue.Status.Conditions}
	}
	for key, local := range r.locals {
		locals[key] = &kueueQueueStatus{Conditions: local.Status.Conditions}
	}
	for _, w := range r.workloads {
		key := client.ObjectKey{Namespace: w.GetNamespace(), Name: w.Spec.QueueName}
		if locals[key] == nil {
			continue
		}
		locals[key].count(w)
		if status := statuses[r.locals[key].Spec.ClusterQueue]; status != nil {
			status.count(w)
		}
	}
	reserved, used := r.usage(false), r.usage(true)
	var failures []error
	for name, queue := range r.queues {
		reason, message := r.inactive(queue)
		statuses[name].activeness(queue.GetGeneration(), reason, message, "Can admit new workloads")
		statuses[name].FlavorsReservation = totals(queue, reserved[name])
		statuses[name].FlavorsUsage = totals(queue, used[name])
		failures = append(failures, r.tell(ctx, queue.Unstructured, statuses[name]))
	}
	for key, local := range r.locals {
		reason, message := "", "Can't submit new workloads to clusterQueue"
		if queue := r.queues[local.Spec.ClusterQueue]; stopped(local.Spec.StopPolicy) {
			reason, message = "Stopped", "LocalQueue is stopped"
		} else if queue == nil {
			reason = "ClusterQueueDoesNotExist"
		} else if why, _ := r.inactive(queue); why != "" {
			reason = "ClusterQueueIsInactive"
		}
		locals[key].activeness(local.GetGeneration(), reason, message, "Can submit new workloads to localQueue")
		failures = append(failures, r.tell(ctx, local.Unstructured, locals[key]))
	}
	return errors.Join(failures...)
}

func (r *kueueRound) tell(ctx context.Context, object *unstructured.Unstructured, status *kueueQueueStatus) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(writeStatus(ctx, r.api, object, &fields))
}

// totals lists what is held of every quota of a queue, in the queue's order.
func totals(queue *kueueClusterQueue, held quotas) []kueueUsage {
	var all []kueueUsage
	for _, group := range queue.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			usage := kueueUsage{Name: flavor.Name}
			for _, quota := range flavor.Resources {
				usage.Resources = append(usage.Resources, kueueResourceTotal{quota.Name, held[flavorResource{flavor.Name, quota.Name}]})
			}
			all = append(all, usage)
		}
	}
	return all
}
