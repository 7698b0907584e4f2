package main

import (
	"flag"
	"fmt"
	"os"

	trainingv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	pytorchhooks "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// runOperators runs the controllers of the job kinds in one manager: JobSet's
// and PyTorchJob's own, and our stand-ins for LeaderWorkerSet and Ray. It also
// plays the kubelets' log endpoint. `kubebed run operators FLAGS`.
func runOperators(args []string) int {
	flags := flag.NewFlagSet("operators", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the cluster")
	certs := flags.String("cert-dir", "", "folder of tls.crt, tls.key and ca.crt")
	webhookPort := flags.Int("webhook-port", 0, "port of the webhooks")
	kubeletPort := flags.Int("kubelet-port", 0, "port of the log endpoint")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctrl.SetLogger(klog.NewKlogr())
	if err := operate(*kubeconfig, *certs, *webhookPort, *kubeletPort); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		return 1
	}
	return 0
}

func operate(kubeconfig, certs string, webhookPort, kubeletPort int) error {
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 2000, 4000
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, jobset.AddToScheme, trainingv1.AddToScheme,
		schedulerplugins.AddToScheme, volcano.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:  scheme,
		Metrics: metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: "127.0.0.1", Port: webhookPort, CertDir: certs, CertName: "tls.crt", KeyName: "tls.key",
		}),
		Controller: ctrlconfig.Controller{MaxConcurrentReconciles: 8},
	})
	if err != nil {
		return err
	}
	ctx := signals.SetupSignalHandler()
	// JobSet.
	if err := jobsetcontrollers.SetupJobSetIndexes(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	if err := jobsetcontrollers.SetupPodIndexes(ctx, manager.GetFieldIndexer()); err != nil {
		return err
	}
	sets := jobsetcontrollers.NewJobSetReconciler(manager.GetClient(), scheme, manager.GetEventRecorder("jobset"))
	if err := sets.SetupWithManager(manager); err != nil {
		return err
	}
	pods := jobsetcontrollers.NewPodReconciler(manager.GetClient(), scheme, manager.GetEventRecorder("pod"))
	if err := pods.SetupWithManager(manager); err != nil {
		return err
	}
	if err := jobsetwebhooks.Setup(manager); err != nil {
		return err
	}
	// PyTorchJob: its init container waits for a DNS name that no one serves, and
	// simulated init containers end at once.
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	gang := common.GenNonGangSchedulerSetupFunc()
	if err := pytorch.NewReconciler(manager, gang).SetupWithManager(manager, 8); err != nil {
		return err
	}
	if err := pytorchhooks.SetupWebhook(manager); err != nil {
		return err
	}
	// Stand-ins.
	options := controller.Options{MaxConcurrentReconciles: 4}
	for _, add := range []func(ctrl.Manager, controller.Options) error{
		addLeaderWorkerSets, addRayClusters, addRayJobs,
	} {
		if err := add(manager, options); err != nil {
			return err
		}
	}
	kubelet, err := newKubelet(manager, certs, kubeletPort)
	if err != nil {
		return err
	}
	if err := manager.Add(kubelet); err != nil {
		return err
	}
	return manager.Start(ctx)
}
