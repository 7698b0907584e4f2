package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type upOptions struct {
	dir        string
	clusters   int
	nodes      int
	prefix     string
	cpu        string
	memory     string
	gpu        string
	operators  bool
	kueueKinds bool
	kueue      bool
	watchCache bool
	ownerPid   int
}

func dirFlag(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", "", "folder that holds the clusters (required)")
	command.MarkFlagRequired("dir")
}

func upCommand() *cobra.Command {
	o := &upOptions{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start clusters and print the kubeconfig of each, a line each, once they are ready",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return up(command.Context(), o) },
	}
	dirFlag(command, &o.dir)
	flags := command.Flags()
	flags.IntVar(&o.clusters, "clusters", 1, "how many")
	flags.IntVar(&o.nodes, "nodes", 10, "nodes of each")
	flags.StringVar(&o.prefix, "prefix", "member-", "names are the prefix and a number from 1")
	flags.StringVar(&o.cpu, "node-cpu", "64", "cpu of a node")
	flags.StringVar(&o.memory, "node-memory", "256Gi", "memory of a node")
	flags.StringVar(&o.gpu, "node-gpu", "8", "nvidia.com/gpu of a node")
	flags.BoolVar(&o.operators, "operators", true, "run the controllers of JobSet, PyTorchJob, LeaderWorkerSet and Ray")
	flags.BoolVar(&o.kueueKinds, "kueue-crds", false, "serve Kueue's kinds")
	flags.BoolVar(&o.kueue, "kueue", false, "serve Kueue's kinds and run our stand-in for Kueue")
	flags.BoolVar(&o.watchCache, "watch-cache", true, "false: `compact` ends watches of the past with 410")
	flags.IntVar(&o.ownerPid, "owner-pid", 0, "end the clusters when this process is gone")
	return command
}

func up(ctx context.Context, o *upOptions) error {
	if o.clusters < 1 || o.clusters > 50 || o.nodes < 0 || o.nodes > 5000 {
		return errors.New("--clusters is 1 to 50, --nodes 0 to 5000")
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	all := make([]*Cluster, o.clusters)
	for i := range all {
		name := fmt.Sprint(o.prefix, i+1)
		all[i] = &Cluster{
			Name: name, Index: i + 1, Nodes: o.nodes, NodeCPU: o.cpu, NodeMemory: o.memory, NodeGPU: o.gpu,
			Operators: o.operators, KueueKinds: o.kueueKinds || o.kueue, Kueue: o.kueue, WatchCache: o.watchCache, dir: filepath.Join(dir, name),
		}
		if _, err := os.Stat(all[i].path("cluster.json")); err == nil {
			return fmt.Errorf("%s holds a cluster already: kubebed down first", all[i].dir)
		}
	}
	if o.ownerPid != 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		guard := &Cluster{Name: "guard", dir: dir}
		if err := guard.spawn("guard", []string{dir, fmt.Sprint(o.ownerPid)}); err != nil {
			return err
		}
	}
	if err := atOnce(all, func(c *Cluster) error { return c.up(ctx) }); err != nil {
		return errors.Join(err, atOnce(all, (*Cluster).stopAll))
	}
	for _, c := range all {
		fmt.Println(c.path("kubeconfig"))
	}
	return nil
}

// atOnce does the same to all clusters in parallel and joins what went wrong.
func atOnce(all []*Cluster, do func(*Cluster) error) error {
	failures := make([]error, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() { failures[i] = do(c) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// up makes a cluster from nothing. Ports that another process took between the
// choice and the start are chosen again. That has happened as well if the apiserver
// of another cluster answers there.
func (c *Cluster) up(ctx context.Context) error {
	var err error
	for try := 0; try < 3; try++ {
		if err = c.tryUp(ctx); err == nil {
			return nil
		}
		var foreign x509.UnknownAuthorityError
		if !errors.As(err, &foreign) && !strings.Contains(err.Error(), "address already in use") {
			return err
		}
		fmt.Fprintf(os.Stderr, "kubebed: %s is made again on other ports: %v\n", c.Name, err)
		c.stopAll()
		os.RemoveAll(c.dir)
	}
	return err
}

func (c *Cluster) tryUp(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	for _, step := range []func() error{c.choosePorts, c.save, c.makeKeys, c.makeTokens, c.writeKubeconfigs} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := c.startControlPlane(ctx); err != nil {
		return err
	}
	if err := c.makeNodes(ctx); err != nil {
		return err
	}
	if c.Operators {
		if err := c.installOperators(ctx); err != nil {
			return err
		}
	}
	return c.startKueue()
}

// startControlPlane starts every server but the operators and Kueue, and waits for the
// apiserver before those that need it. The job kinds come before the controller
// manager: its garbage collector looks for new kinds only every 30 seconds, and a
// foreground deletion of one that it does not know stands still.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	for _, server := range []string{"etcd", "apiserver"} {
		if err := c.start(server); err != nil {
			return err
		}
	}
	if err := c.waitReady(); err != nil {
		return err
	}
	if err := c.dropLeases(ctx); err != nil {
		return err
	}
	if c.Operators {
		if err := c.installKinds(ctx); err != nil {
			return err
		}
	}
	if c.KueueKinds {
		if err := c.installKueueKinds(ctx); err != nil {
			return err
		}
	}
	others := []string{"controller-manager", "scheduler", "kwok"}
	for _, server := range others {
		if err := c.start(server); err != nil {
			return err
		}
	}
	// One that ends at once would else be missed first by the jobs that wait for it.
	for _, server := range others {
		if err := poll(60*time.Second, server+" of "+c.Name, func() error { return c.listens(server, server) }); err != nil {
			return err
		}
	}
	return nil
}

// dropLeases frees the nodes of restored data from the kwok that held them: the
// next one would wait until its leases end.
func (c *Cluster) dropLeases(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return api.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace("kube-node-lease"))
}
