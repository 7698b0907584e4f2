package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The stand-in for Kueue, after its API reference and concepts: what is not in
// it says README.md. It looks at everything again after every change, by lists
// that no cache answers, since two admissions on an old view would both be right.

const (
	kueueQueueName = "kueue.x-k8s.io/queue-name"
	kueuePrebuilt  = "kueue.x-k8s.io/prebuilt-workload-name"
	kueueJobUID    = "kueue.x-k8s.io/job-uid"
	kueueInUse     = "kueue.x-k8s.io/resource-in-use"
)

func kueueKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: kind}
}

type kueueFlavor struct {
	*unstructured.Unstructured
	kueueFlavorFields
}

type kueueFlavorFields struct {
	Spec struct {
		NodeLabels map[string]string `json:"nodeLabels"`
	} `json:"spec"`
}

type kueueClusterQueue struct {
	*unstructured.Unstructured
	kueueClusterQueueFields
}

type kueueClusterQueueFields struct {
	Spec struct {
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
		QueueingStrategy  string                `json:"queueingStrategy"`
		StopPolicy        string                `json:"stopPolicy"`
		ResourceGroups    []kueueGroup          `json:"resourceGroups"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type kueueLocalQueue struct {
	*unstructured.Unstructured
	kueueLocalQueueFields
}

type kueueLocalQueueFields struct {
	Spec struct {
		ClusterQueue string `json:"clusterQueue"`
		StopPolicy   string `json:"stopPolicy"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type kueuePodSet struct {
	Name     string                 `json:"name"`
	Count    int32                  `json:"count"`
	Template corev1.PodTemplateSpec `json:"template"`
}

type kueueAssignment struct {
	Name          string              `json:"name"`
	Flavors       map[string]string   `json:"flavors,omitempty"`
	ResourceUsage corev1.ResourceList `json:"resourceUsage,omitempty"`
	Count         int32               `json:"count"`
}

type kueueAdmission struct {
	ClusterQueue      string            `json:"clusterQueue"`
	PodSetAssignments []kueueAssignment `json:"podSetAssignments"`
}

type kueueWorkload struct {
	*unstructured.Unstructured
	kueueWorkloadFields
}

type kueueWorkloadFields struct {
	Spec struct {
		PodSets   []kueuePodSet `json:"podSets"`
		QueueName string        `json:"queueName"`
		Priority  int32         `json:"priority"`
		Active    *bool         `json:"active"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  *kueueAdmission    `json:"admission"`
	} `json:"status"`
}

func (w *kueueWorkload) is(condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

func (w *kueueWorkload) active() bool { return w.Spec.Active == nil || *w.Spec.Active }

// runs says whether the job of the workload may have pods.
func (w *kueueWorkload) runs() bool {
	return w.is("Admitted") && !w.is("Evicted") && !w.is("Finished") && w.active() && w.GetDeletionTimestamp() == nil
}

// set puts a condition on the workload; it is stored by save.
func (w *kueueWorkload) set(kind string, holds bool, reason, message string) {
	state := metav1.ConditionFalse
	if holds {
		state = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
		Type: kind, Status: state, Reason: reason, Message: message, ObservedGeneration: w.GetGeneration(),
	})
}

// A kueueRound is one look at a cluster: all there was, read once.
type kueueRound struct {
	api        client.Client
	flavors    map[string]*kueueFlavor
	queues     map[string]*kueueClusterQueue
	locals     map[client.ObjectKey]*kueueLocalQueue
	workloads  []*kueueWorkload
	jobs       []*kueueJob
	namespaces map[string]*corev1.Namespace
}

// kueue is the controller; kinds are those of its jobs that are installed here.
type kueue struct {
	api   client.Client
	kinds []kueueJobKind
}

// runKueue runs the stand-in: `kubebed run kueue FLAGS`.
func runKueue(args []string) int {
	flags := flag.NewFlagSet("kueue", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the cluster")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctrl.SetLogger(klog.NewKlogr())
	if err := manageQueues(*kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "kueue:", err)
		return 1
	}
	return 0
}

func manageQueues(kubeconfig string) error {
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 2000, 4000
	manager, err := ctrl.NewManager(rest, ctrl.Options{Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	api, err := client.New(rest, client.Options{})
	if err != nil {
		return err
	}
	k := &kueue{api: api}
	whole := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "all"}}}
	})
	builder := ctrl.NewControllerManagedBy(manager).Named("kueue")
	for _, kind := range []string{"ResourceFlavor", "ClusterQueue", "LocalQueue", "Workload"} {
		builder = builder.Watches(newObject(kueueKind(kind)), whole)
	}
	for _, kind := range kueueJobKinds {
		if _, err := manager.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			continue // not installed here
		}
		builder = builder.Watches(newObject(kind.GroupVersionKind), whole)
		k.kinds = append(k.kinds, kind)
	}
	if err := builder.Complete(k); err != nil {
		return err
	}
	return manager.Start(signals.SetupSignalHandler())
}

func (k *kueue) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	time.Sleep(20 * time.Millisecond) // what comes together is looked at together
	round, err := k.look(ctx)
	if err != nil {
		return again, err
	}
	var failures []error
	for _, step := range []func(context.Context) error{
		round.holdFinalizers, round.followJobs, round.release, round.admit, round.tellQueues,
	} {
		if err := step(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	if err := errors.Join(failures...); err != nil {
		klog.InfoS("looks again", "because", err.Error())
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return again, nil
}

// listAs reads every object of a kind into structs that name the fields used;
// bind joins the two and gives the struct to fill, which has no decoder of its own.
func listAs[T any](ctx context.Context, api client.Client, kind schema.GroupVersionKind,
	bind func(*T, *unstructured.Unstructured) any) ([]*T, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := api.List(ctx, list); err != nil {
		return nil, err
	}
	all := make([]*T, len(list.Items))
	for i := range list.Items {
		all[i] = new(T)
		if err := decode(&list.Items[i], bind(all[i], &list.Items[i])); err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind.Kind, list.Items[i].GetName(), err)
		}
	}
	return all, nil
}

func (k *kueue) look(ctx context.Context) (*kueueRound, error) {
	round := &kueueRound{api: k.api, flavors: map[string]*kueueFlavor{}, queues: map[string]*kueueClusterQueue{},
		locals: map[client.ObjectKey]*kueueLocalQueue{}, namespaces: map[string]*corev1.Namespace{}}
	flavors, err := listAs(ctx, k.api, kueueKind("ResourceFlavor"),
		func(t *kueueFlavor, u *unstructured.Unstructured) any {
			t.Unstructured = u
			return &t.kueueFlavorFields
		})
	if err != nil {
		return nil, err
	}
	for _, flavor := range flavors {
		round.flavors[flavor.GetName()] = flavor
	}
	queues, err := listAs(ctx, k.api, kueueKind("ClusterQueue"),
		func(t *kueueClusterQueue, u *unstructured.Unstructured) any {
			t.Unstructured = u
			return &t.kueueClusterQueueFields
		})
	if err != nil {
		return nil, err
	}
	for _, queue := range queues {
		round.queues[queue.GetName()] = queue
	}
	locals, err := listAs(ctx, k.api, kueueKind("LocalQueue"),
		func(t *kueueLocalQueue, u *unstructured.Unstructured) any {
			t.Unstructured = u
			return &t.kueueLocalQueueFields
		})
	if err != nil {
		return nil, err
	}
	for _, local := range locals {
		round.locals[client.ObjectKeyFromObject(local)] = local
	}
	// Jobs before workloads: a job's workload that is missing here was really gone.
	for _, kind := range k.kinds {
		jobs, err := listJobs(ctx, k.api, kind)
		if err != nil {
			return nil, err
		}
		round.jobs = append(round.jobs, jobs...)
	}
	round.workloads, err = listAs(ctx, k.api, kueueKind("Workload"),
		func(t *kueueWorkload, u *unstructured.Unstructured) any {
			t.Unstructured = u
			return &t.kueueWorkloadFields
		})
	if err != nil {
		return nil, err
	}
	namespaces := &corev1.NamespaceList{}
	if err := k.api.List(ctx, namespaces); err != nil {
		return nil, err
	}
	for i := range namespaces.Items {
		round.namespaces[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	return round, nil
}

// save stores conditions and admission of a workload, if they changed, and leaves
// the rest of its status to others.
func (r *kueueRound) save(ctx context.Context, w *kueueWorkload) error {
	ours, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&w.Status)
	if err != nil {
		return err
	}
	before, _, _ := unstructured.NestedMap(w.Object, "status")
	after := runtime.DeepCopyJSON(before)
	if after == nil {
		after = map[string]any{}
	}
	for _, field := range []string{"conditions", "admission"} {
		delete(after, field)
		if ours[field] != nil {
			after[field] = ours[field]
		}
	}
	return client.IgnoreNotFound(writeStatus(ctx, r.api, w.Unstructured, &after))
}

// holdFinalizers keeps flavors and queues that are in use from going, as Kueue does.
func (r *kueueRound) holdFinalizers(ctx context.Context) error {
	used := map[string]bool{}
	for _, queue := range r.queues {
		for _, group := range queue.Spec.ResourceGroups {
			for _, flavor := range group.Flavors {
				used[flavor.Name] = true
			}
		}
	}
	var failures []error
	for _, flavor := range r.flavors {
		failures = append(failures, r.hold(ctx, flavor.Unstructured, used[flavor.GetName()]))
	}
	reserving := map[string]bool{}
	for _, w := range r.workloads {
		if w.Status.Admission != nil && !w.is("Finished") {
			reserving[w.Status.Admission.ClusterQueue] = true
		}
	}
	for _, queue := range r.queues {
		failures = append(failures, r.hold(ctx, queue.Unstructured, reserving[queue.GetName()]))
	}
	return errors.Join(failures...)
}

// hold puts the finalizer on an object that stays, and takes it off one that goes
// and is not used.
func (r *kueueRound) hold(ctx context.Context, object *unstructured.Unstructured, used bool) error {
	finalizers := object.GetFinalizers()
	has := slices.Contains(finalizers, kueueInUse)
	leaving := object.GetDeletionTimestamp() != nil
	switch {
	case !leaving && !has:
		object.SetFinalizers(append(finalizers, kueueInUse))
	case leaving && has && !used:
		object.SetFinalizers(slices.DeleteFunc(finalizers, func(f string) bool { return f == kueueInUse }))
	default:
		return nil
	}
	return client.IgnoreNotFound(r.api.Update(ctx, object))
}
