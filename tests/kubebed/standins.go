package main

import (
	"context"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the stand-ins for LeaderWorkerSet and Ray share. They read their objects
// through structs that name the fields they act on, and write status alone.

func newObject(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// decode reads spec and status of an object into structs.
func decode(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

// writeStatus puts a status on the object, if it says anything new.
func writeStatus(ctx context.Context, api client.Client, object *unstructured.Unstructured, status any) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return err
	}
	if before, ok := object.Object["status"].(map[string]any); ok && reflect.DeepEqual(before, fields) {
		return nil
	}
	changed := object.DeepCopy()
	changed.Object["status"] = fields
	return api.Status().Update(ctx, changed)
}

// ownedPods lists the pods in the owner's namespace that carry a label and
// belong to the owner, as the cache knows them.
func ownedPods(ctx context.Context, api client.Client, owner metav1.Object, labels map[string]string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := api.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(labels))
	return list.Items, err
}

// newPod makes a pod from a template, with labels and annotations added to its
// own, owned by owner.
func newPod(name string, template corev1.PodTemplateSpec, labels map[string]string, owner client.Object) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name, owner.GetNamespace()
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, labels)
	kind := owner.GetObjectKind().GroupVersionKind()
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
	return pod
}

func addEnv(spec *corev1.PodSpec, extra ...corev1.EnvVar) {
	for i := range spec.Containers {
		spec.Containers[i].Env = append(spec.Containers[i].Env, extra...)
	}
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ignoreExisting(err error) error { return client.IgnoreAlreadyExists(err) }

// again is the answer of a look that needs no timer.
var again = ctrl.Result{}
