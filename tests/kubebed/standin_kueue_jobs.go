package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kueueJobKind is a kind of job that has a suspension. Those but the Job are
// managed only with a workload that somebody else made for them.
type kueueJobKind struct {
	schema.GroupVersionKind
	suspend []string                                    // path of the field
	ended   func(status map[string]any) (bool, string)  // ended, and whether well
	pods    func(object *unstructured.Unstructured) int // pods that may still run
}

var kueueJobKinds = []kueueJobKind{
	{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, []string{"spec", "suspend"},
		endedBy("Complete", "Failed"), counted("active")},
	{schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, []string{"spec", "suspend"},
		endedBy("Completed", "Failed"), none},
	{schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, []string{"spec", "runPolicy", "suspend"},
		endedBy("Succeeded", "Failed"), none},
	{schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}, []string{"spec", "suspend"}, endedRay, none},
}

// endedBy reads the end of a job off its conditions.
func endedBy(good, bad string) func(map[string]any) (bool, string) {
	return func(status map[string]any) (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(status, "conditions")
		for _, each := range conditions {
			condition, _ := each.(map[string]any)
			if condition["status"] != "True" {
				continue
			}
			if condition["type"] == good {
				return true, "Succeeded"
			}
			if condition["type"] == bad {
				return true, "Failed"
			}
		}
		return false, ""
	}
}

func endedRay(status map[string]any) (bool, string) {
	switch status["jobDeploymentStatus"] {
	case "Complete":
		return true, "Succeeded"
	case "Failed":
		return true, "Failed"
	}
	return false, ""
}

func counted(field string) func(*unstructured.Unstructured) int {
	return func(object *unstructured.Unstructured) int {
		number, _, _ := unstructured.NestedInt64(object.Object, "status", field)
		return int(number)
	}
}

func none(*unstructured.Unstructured) int { return 0 }

// A kueueJob is a job that names a queue.
type kueueJob struct {
	*unstructured.Unstructured
	kind kueueJobKind
}

func listJobs(ctx context.Context, api client.Client, kind kueueJobKind) ([]*kueueJob, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	if err := api.List(ctx, list); err != nil {
		return nil, err
	}
	var jobs []*kueueJob
	for i := range list.Items {
		if job := (&kueueJob{&list.Items[i], kind}); job.queue() != "" {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

func (j *kueueJob) queue() string {
	if name := j.GetLabels()[kueueQueueName]; name != "" {
		return name
	}
	return j.GetAnnotations()[kueueQueueName]
}

func (j *kueueJob) suspended() bool {
	suspended, _, _ := unstructured.NestedBool(j.Object, j.kind.suspend...)
	return suspended
}

func (j *kueueJob) end() (bool, string) {
	status, _, _ := unstructured.NestedMap(j.Object, "status")
	return j.kind.ended(status)
}

// podSets of a batch Job; nil for the other kinds.
func (j *kueueJob) podSets() ([]kueuePodSet, error) {
	if j.kind.Kind != "Job" {
		return nil, nil
	}
	job := &batchv1.Job{}
	if err := decode(j.Unstructured, job); err != nil {
		return nil, err
	}
	count := int32(1)
	if job.Spec.Parallelism != nil {
		count = *job.Spec.Parallelism
	}
	if job.Spec.Completions != nil {
		count = min(count, *job.Spec.Completions)
	}
	return []kueuePodSet{{Name: "main", Count: count, Template: job.Spec.Template}}, nil
}

// followJobs gives every job its workload, and lets it run as that says.
func (r *kueueRound) followJobs(ctx context.Context) error {
	byOwner := map[types.UID]*kueueWorkload{}
	byName := map[client.ObjectKey]*kueueWorkload{}
	for _, w := range r.workloads {
		byName[client.ObjectKeyFromObject(w)] = w
		if owner := metav1.GetControllerOf(w); owner != nil {
			byOwner[owner.UID] = w
		}
	}
	var failures []error
	for _, job := range r.jobs {
		w := byOwner[job.GetUID()]
		if name := job.GetLabels()[kueuePrebuilt]; name != "" {
			w = byName[client.ObjectKey{Namespace: job.GetNamespace(), Name: name}]
		}
		if err := r.follow(ctx, job, w); err != nil {
			failures = append(failures, fmt.Errorf("%s %s: %w", job.kind.Kind, job.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

func (r *kueueRound) follow(ctx context.Context, job *kueueJob, w *kueueWorkload) error {
	if job.GetDeletionTimestamp() != nil {
		return nil // its workload goes with it
	}
	if ended, how := job.end(); ended {
		if w == nil || w.is("Finished") {
			return nil
		}
		w.set("Finished", true, how, "Job finished")
		return r.save(ctx, w)
	}
	prebuilt := job.GetLabels()[kueuePrebuilt]
	if w == nil {
		if err := r.stop(ctx, job); err != nil || prebuilt != "" {
			return err // a workload that somebody makes is waited for
		}
		return r.makeWorkload(ctx, job)
	}
	owner := metav1.GetControllerOf(w)
	if owner != nil && owner.UID != job.GetUID() {
		return errors.Join(r.stop(ctx, job), fmt.Errorf("workload %s belongs to %s", w.GetName(), owner.Name))
	}
	if owner == nil && w.GetDeletionTimestamp() == nil {
		if err := r.own(ctx, job, w.Unstructured); err != nil {
			return err
		}
	}
	same, err := matches(job, w)
	if err != nil {
		return err
	}
	if !same && !w.is("Finished") {
		w.set("Finished", true, "OutOfSync", "The prebuilt workload is out of sync with its user job")
		if err := r.save(ctx, w); err != nil {
			return err
		}
	}
	if !w.runs() {
		return r.stop(ctx, job)
	}
	return r.startJob(ctx, job, w)
}

// matches compares as Kueue did up to v0.14 at least: count and whole containers.
func matches(job *kueueJob, w *kueueWorkload) (bool, error) {
	wanted, err := job.podSets()
	if err != nil || wanted == nil {
		return true, err
	}
	if len(wanted) != len(w.Spec.PodSets) {
		return false, nil
	}
	for i, want := range wanted {
		have, spec := w.Spec.PodSets[i], want.Template.Spec
		if have.Count != want.Count ||
			!equality.Semantic.DeepEqual(have.Template.Spec.Containers, spec.Containers) ||
			!equality.Semantic.DeepEqual(have.Template.Spec.InitContainers, spec.InitContainers) {
			return false, nil
		}
	}
	return true, nil
}

func (r *kueueRound) makeWorkload(ctx context.Context, job *kueueJob) error {
	sets, err := job.podSets()
	if err != nil || sets == nil {
		return err
	}
	list := make([]any, len(sets))
	for i := range sets {
		if list[i], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&sets[i]); err != nil {
			return err
		}
	}
	w := newObject(kueueKind("Workload"))
	w.SetNamespace(job.GetNamespace())
	w.SetName(fmt.Sprintf("job-%.40s-%.5s", job.GetName(), job.GetUID()))
	w.Object["spec"] = map[string]any{"podSets": list, "queueName": job.queue(), "priority": int64(0), "active": true}
	brand(job, w)
	return ignoreExisting(r.api.Create(ctx, w))
}

func (r *kueueRound) own(ctx context.Context, job *kueueJob, w *unstructured.Unstructured) error {
	brand(job, w)
	return r.api.Update(ctx, w)
}

// brand makes a workload the job's.
func brand(job *kueueJob, w *unstructured.Unstructured) {
	w.SetOwnerReferences(append(w.GetOwnerReferences(), *metav1.NewControllerRef(job, job.kind.GroupVersionKind)))
	if finalizers := w.GetFinalizers(); !slices.Contains(finalizers, kueueInUse) {
		w.SetFinalizers(append(finalizers, kueueInUse))
	}
	labels := map[string]string{}
	maps.Copy(labels, w.GetLabels())
	labels[kueueJobUID] = string(job.GetUID())
	w.SetLabels(labels)
}

func (r *kueueRound) stop(ctx context.Context, job *kueueJob) error {
	if job.suspended() {
		return nil
	}
	return r.suspend(ctx, job, true)
}

// startJob ends the suspension, with the node labels of the flavors on the pods.
func (r *kueueRound) startJob(ctx context.Context, job *kueueJob, w *kueueWorkload) error {
	if !job.suspended() {
		return nil
	}
	if job.kind.Kind == "Job" {
		at := []string{"spec", "template", "spec", "nodeSelector"}
		selector := map[string]string{}
		maps.Copy(selector, w.Spec.PodSets[0].Template.Spec.NodeSelector)
		for _, flavor := range w.Status.Admission.PodSetAssignments[0].Flavors {
			if known := r.flavors[flavor]; known != nil {
				maps.Copy(selector, known.Spec.NodeLabels)
			}
		}
		if len(selector) != 0 {
			if err := unstructured.SetNestedStringMap(job.Object, selector, at...); err != nil {
				return err
			}
		}
	}
	return r.suspend(ctx, job, false)
}

func (r *kueueRound) suspend(ctx context.Context, job *kueueJob, value bool) error {
	if err := unstructured.SetNestedField(job.Object, value, job.kind.suspend...); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.api.Update(ctx, job.Unstructured))
}

// release takes the quota of workloads that were evicted and whose jobs stand
// still, and lets those go that are deleted.
func (r *kueueRound) release(ctx context.Context) error {
	jobs := map[types.UID]*kueueJob{}
	for _, job := range r.jobs {
		jobs[job.GetUID()] = job
	}
	var failures []error
	for _, w := range r.workloads {
		var job *kueueJob
		if owner := metav1.GetControllerOf(w); owner != nil {
			job = jobs[owner.UID]
		}
		// As Kueue does, it lets the workload of a job go that is being deleted:
		// in the foreground the job waits for its workload, and is not
		// suspended any more.
		still := job == nil || job.GetDeletionTimestamp() != nil || (job.suspended() && job.kind.pods(job.Unstructured) == 0)
		failures = append(failures, r.releaseOne(ctx, w, still))
	}
	return errors.Join(failures...)
}

func (r *kueueRound) releaseOne(ctx context.Context, w *kueueWorkload, still bool) error {
	if w.GetDeletionTimestamp() != nil {
		finalizers := w.GetFinalizers()
		if !still && !w.is("Finished") || !slices.Contains(finalizers, kueueInUse) {
			return nil
		}
		w.SetFinalizers(slices.DeleteFunc(finalizers, func(f string) bool { return f == kueueInUse }))
		return client.IgnoreNotFound(r.api.Update(ctx, w.Unstructured))
	}
	if w.is("Finished") || !w.is("QuotaReserved") || w.Status.Admission == nil {
		return nil
	}
	drained := false
	if queue := r.queues[w.Status.Admission.ClusterQueue]; queue != nil {
		drained = queue.Spec.StopPolicy == "HoldAndDrain"
	}
	if !w.is("Evicted") && !w.active() {
		w.set("Evicted", true, "Deactivated", "The workload is deactivated")
	} else if !w.is("Evicted") && drained {
		w.set("Evicted", true, "ClusterQueueStopped", "The ClusterQueue is stopped")
	}
	if w.is("Evicted") && still {
		w.Status.Admission = nil
		w.set("QuotaReserved", false, "Pending", "The workload was evicted")
		w.set("Admitted", false, "NoReservation", "The workload has no reservation")
		w.set("Requeued", w.active(), "Pending", "The workload was evicted")
	}
	return r.save(ctx, w)
}
