package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var rayJobKind = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}

type rayJobSpec struct {
	Suspend                  bool                    `json:"suspend"`
	ShutdownAfterJobFinishes bool                    `json:"shutdownAfterJobFinishes"`
	TTLSecondsAfterFinished  int32                   `json:"ttlSecondsAfterFinished"`
	ActiveDeadlineSeconds    *int32                  `json:"activeDeadlineSeconds"`
	BackoffLimit             int32                   `json:"backoffLimit"`
	SubmissionMode           string                  `json:"submissionMode"`
	SubmitterPodTemplate     *corev1.PodTemplateSpec `json:"submitterPodTemplate"`
	SubmitterConfig          struct {
		BackoffLimit *int32 `json:"backoffLimit"`
	} `json:"submitterConfig"`
	RayClusterSpec  map[string]any    `json:"rayClusterSpec"`
	ClusterSelector map[string]string `json:"clusterSelector"`
	Entrypoint      string            `json:"entrypoint"`
	JobID           string            `json:"jobId"`
	ManagedBy       string            `json:"managedBy"`
}

type rayJobStatus struct {
	JobID               string           `json:"jobId,omitempty"`
	RayClusterName      string           `json:"rayClusterName,omitempty"`
	JobStatus           string           `json:"jobStatus,omitempty"`
	JobDeploymentStatus string           `json:"jobDeploymentStatus,omitempty"`
	Reason              string           `json:"reason,omitempty"`
	Message             string           `json:"message,omitempty"`
	StartTime           *metav1.Time     `json:"startTime,omitempty"`
	EndTime             *metav1.Time     `json:"endTime,omitempty"`
	Succeeded           int32            `json:"succeeded,omitempty"`
	Failed              int32            `json:"failed,omitempty"`
	RayClusterStatus    rayClusterStatus `json:"rayClusterStatus"`
	ObservedGeneration  int64            `json:"observedGeneration,omitempty"`
}

// rayJobs is a stand-in for KubeRay's RayJob controller, after its API
// reference, in K8sJobMode: a RayCluster, then a Job of one submitter pod, whose
// end is the end of the Ray job (no dashboard answers here). The bed.test
// annotations of a RayJob set how long its submitter runs and how it ends.
type rayJobs struct{ api client.Client }

func addRayJobs(manager ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(manager).Named("rayjob").For(newObject(rayJobKind)).
		Owns(newObject(rayClusterKind)).Owns(&batchv1.Job{}).
		WithOptions(options).Complete(&rayJobs{manager.GetClient()})
}

// A rayRun is one look at a RayJob: what is asked, and the status to be.
type rayRun struct {
	api    client.Client
	object *unstructured.Unstructured
	spec   rayJobSpec
	status rayJobStatus
	again  ctrl.Result
}

func (r *rayJobs) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := newObject(rayJobKind)
	if err := r.api.Get(ctx, request.NamespacedName, object); err != nil || object.GetDeletionTimestamp() != nil {
		return again, client.IgnoreNotFound(err)
	}
	job := &struct {
		Spec   rayJobSpec   `json:"spec"`
		Status rayJobStatus `json:"status"`
	}{}
	if err := decode(object, job); err != nil || managedElsewhere(job.Spec.ManagedBy) {
		return again, err
	}
	run := &rayRun{api: r.api, object: object, spec: job.Spec, status: job.Status}
	if err := run.step(ctx); err != nil {
		return again, err
	}
	run.status.ObservedGeneration = object.GetGeneration()
	return run.again, writeStatus(ctx, r.api, object, &run.status)
}

func (r *rayRun) step(ctx context.Context) error {
	status := &r.status
	if refusal := r.refusal(); refusal != "" {
		status.JobDeploymentStatus, status.Reason, status.Message = "ValidationFailed", "ValidationFailed", refusal
		return nil
	}
	if ended(status) {
		return r.tidy(ctx)
	}
	if r.spec.Suspend {
		return r.suspend(ctx)
	}
	if limit := r.spec.ActiveDeadlineSeconds; limit != nil && status.StartTime != nil {
		left := time.Until(status.StartTime.Add(time.Duration(*limit) * time.Second))
		if left <= 0 {
			r.end("Failed", "DeadlineExceeded", "The RayJob has passed the activeDeadlineSeconds")
			return nil
		}
		r.again.RequeueAfter = left
	}
	switch status.JobDeploymentStatus {
	case "", "Suspended", "Retrying":
		return r.begin(ctx)
	case "Initializing":
		return r.initialize(ctx)
	case "Running":
		return r.follow(ctx)
	}
	return nil
}

// refusal says what this stand-in, or the real controller, does not take.
func (r *rayRun) refusal() string {
	switch {
	case r.spec.SubmissionMode != "" && r.spec.SubmissionMode != "K8sJobMode":
		return "this test bed runs submissionMode K8sJobMode alone"
	case len(r.spec.ClusterSelector) != 0:
		return "this test bed has no clusterSelector"
	case len(r.spec.RayClusterSpec) == 0:
		return "one of rayClusterSpec or clusterSelector must be set"
	case r.spec.Suspend && !r.spec.ShutdownAfterJobFinishes:
		return "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"
	}
	return ""
}

func ended(status *rayJobStatus) bool {
	return status.JobDeploymentStatus == "Complete" || status.JobDeploymentStatus == "Failed"
}

func (r *rayRun) end(deployment, reason, message string) {
	now := metav1.Now()
	r.status.JobDeploymentStatus, r.status.Reason, r.status.Message = deployment, reason, message
	r.status.EndTime = &now
}

// begin names what the run will make; the name is durable before it is used.
func (r *rayRun) begin(ctx context.Context) error {
	gone, err := r.clear(ctx)
	if err != nil || !gone {
		return err
	}
	now := metav1.Now()
	status := &r.status
	suffix := strings.ToLower(fmt.Sprintf("%x", now.UnixNano()))[8:]
	status.RayClusterName = r.object.GetName() + "-" + suffix
	status.JobID = r.spec.JobID
	if status.JobID == "" {
		status.JobID = r.object.GetName() + "-" + suffix
	}
	status.JobStatus, status.JobDeploymentStatus, status.Reason, status.Message = "", "Initializing", "", ""
	if status.StartTime == nil {
		status.StartTime = &now
	}
	return nil
}

func (r *rayRun) owned(object client.Object, name string) {
	object.SetName(name)
	object.SetNamespace(r.object.GetNamespace())
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(r.object, rayJobKind)})
}

func (r *rayRun) initialize(ctx context.Context) error {
	cluster := newObject(rayClusterKind)
	name := types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.status.RayClusterName}
	if err := r.api.Get(ctx, name, cluster); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		r.owned(cluster, name.Name)
		cluster.SetLabels(map[string]string{"ray.io/originated-from-cr-name": r.object.GetName(), "ray.io/originated-from-crd": "RayJob"})
		cluster.Object["spec"] = r.spec.RayClusterSpec
		return ignoreExisting(r.api.Create(ctx, cluster))
	}
	seen := &struct {
		Status rayClusterStatus `json:"status"`
	}{}
	if err := decode(cluster, seen); err != nil {
		return err
	}
	r.status.RayClusterStatus = seen.Status
	if seen.Status.State != "ready" {
		return nil
	}
	if err := r.submit(ctx); err != nil {
		return err
	}
	r.status.JobDeploymentStatus, r.status.JobStatus = "Running", "PENDING"
	return nil
}

// submit makes the submitter's Job: the template given, or the head's image
// with the entrypoint.
func (r *rayRun) submit(ctx context.Context) error {
	template := corev1.PodTemplateSpec{}
	if r.spec.SubmitterPodTemplate != nil {
		template = *r.spec.SubmitterPodTemplate.DeepCopy()
	} else {
		template.Spec.Containers = []corev1.Container{{
			Name: "ray-job-submitter", Image: "ray", Command: []string{"ray", "job", "submit", "--", r.spec.Entrypoint},
		}}
	}
	if template.Spec.RestartPolicy == "" || template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	for key, value := range r.object.GetAnnotations() {
		if _, set := template.Annotations[key]; strings.HasPrefix(key, "bed.test/") && !set {
			template.Annotations[key] = value
		}
	}
	retries := int32(2)
	if r.spec.SubmitterConfig.BackoffLimit != nil {
		retries = *r.spec.SubmitterConfig.BackoffLimit
	}
	job := &batchv1.Job{Spec: batchv1.JobSpec{Template: template, BackoffLimit: &retries}}
	r.owned(job, r.status.RayClusterName)
	job.Labels = map[string]string{"ray.io/originated-from-cr-name": r.object.GetName()}
	return ignoreExisting(r.api.Create(ctx, job))
}

func (r *rayRun) follow(ctx context.Context) error {
	job := &batchv1.Job{}
	name := types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.status.RayClusterName}
	if err := r.api.Get(ctx, name, job); err != nil {
		return client.IgnoreNotFound(err)
	}
	if job.Status.Active > 0 {
		r.status.JobStatus = "RUNNING"
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			r.status.JobStatus = "SUCCEEDED"
			r.status.Succeeded++
			r.end("Complete", "", "Job finished successfully.")
		case batchv1.JobFailed:
			r.status.JobStatus = "FAILED"
			r.status.Failed++
			if r.status.Failed <= r.spec.BackoffLimit {
				r.status.JobDeploymentStatus = "Retrying"
				return nil
			}
			r.end("Failed", "AppFailed", "Job failed: "+condition.Message)
		}
	}
	return nil
}

// suspend takes everything down and waits until it is gone.
func (r *rayRun) suspend(ctx context.Context) error {
	if r.status.JobDeploymentStatus == "Suspended" {
		return nil
	}
	gone, err := r.clear(ctx)
	if err != nil {
		return err
	}
	r.status.JobDeploymentStatus = "Suspending"
	if gone {
		r.status = rayJobStatus{JobDeploymentStatus: "Suspended", Failed: r.status.Failed}
	}
	return nil
}

// clear deletes the run's cluster and submitter, and says whether both are gone.
func (r *rayRun) clear(ctx context.Context) (bool, error) {
	if r.status.RayClusterName == "" {
		return true, nil
	}
	gone := true
	for _, object := range []client.Object{newObject(rayClusterKind), &batchv1.Job{}} {
		name := types.NamespacedName{Namespace: r.object.GetNamespace(), Name: r.status.RayClusterName}
		err := r.api.Get(ctx, name, object)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if err != nil {
			continue
		}
		gone = false
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		if err := r.api.Delete(ctx, object, background); client.IgnoreNotFound(err) != nil {
			return false, err
		}
	}
	return gone, nil
}

// tidy deletes the cluster of an ended run when that was asked, after its time.
func (r *rayRun) tidy(ctx context.Context) error {
	if !r.spec.ShutdownAfterJobFinishes || r.status.EndTime == nil {
		return nil
	}
	left := time.Until(r.status.EndTime.Add(time.Duration(r.spec.TTLSecondsAfterFinished) * time.Second))
	if left > 0 {
		r.again.RequeueAfter = left
		return nil
	}
	cluster := newObject(rayClusterKind)
	cluster.SetName(r.status.RayClusterName)
	cluster.SetNamespace(r.object.GetNamespace())
	return client.IgnoreNotFound(r.api.Delete(ctx, cluster))
}
