package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
)

// runServer becomes one server of a cluster: `kubebed run NAME FLAGS...`. It
// returns the exit status when that server ends.
func runServer(name string, args []string) int {
	switch name {
	case "etcd":
		etcdmain.Main(append([]string{"etcd"}, args...))
		return 0
	case "apiserver":
		return runCobra(apiserver.NewAPIServerCommand(), args)
	case "controller-manager":
		return runCobra(controllermanager.NewControllerManagerCommand(), args)
	case "scheduler":
		return runCobra(scheduler.NewSchedulerCommand(), args)
	case "kwok":
		return runKwok(args)
	case "operators":
		return runOperators(args)
	case "kueue":
		return runKueue(args)
	case "guard":
		return runGuard(args)
	}
	fmt.Fprintf(os.Stderr, "kubebed: no server is named %q\n", name)
	return 2
}

func runCobra(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}

func runKwok(args []string) int {
	// KWOK reads its configuration flag straight from os.Args, and component-base
	// registers a --version on the global set that would collide with KWOK's.
	os.Args = append([]string{"kwok"}, args...)
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("config", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, err := kwokconfig.InitFlags(signals.SetupSignalHandler(), flags)
	if err == nil {
		command := kwokcmd.NewCommand(ctx)
		command.PersistentFlags().AddFlagSet(flags)
		command.SetArgs(args)
		err = command.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}
