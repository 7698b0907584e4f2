// Kubebed runs real Kubernetes clusters for tests: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, KWOK's simulated nodes and pods, the
// controllers of JobSet and PyTorchJob, and stand-ins for LeaderWorkerSet, Ray
// and Kueue. One program: it starts itself again for each server process.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "run" {
		os.Exit(runServer(os.Args[2], os.Args[3:]))
	}
	root := &cobra.Command{
		Use:           "kubebed",
		Short:         "Real Kubernetes clusters for tests, without containers",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(), downCommand(), listCommand())
	root.AddCommand(faultCommands()...)
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "kubebed:", err)
		os.Exit(1)
	}
}
