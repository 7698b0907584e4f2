package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// faultCommands are what a test does to one cluster: `kubebed pause --dir D
// --cluster member-1 apiserver`.
func faultCommands() []*cobra.Command {
	return []*cobra.Command{
		serverCommand("pause", "Freeze servers: they hold their connections and answer nothing",
			func(c *Cluster, server string) error { return c.signal(server, syscall.SIGSTOP) }),
		serverCommand("resume", "Let frozen servers go on",
			func(c *Cluster, server string) error { return c.signal(server, syscall.SIGCONT) }),
		serverCommand("kill", "End servers at once", (*Cluster).kill),
		serverCommand("start", "Start servers that were killed", (*Cluster).start),
		clusterCommand("compact", "Compact etcd up to now; with --watch-cache=false old versions then answer 410",
			func(c *Cluster) error { return c.compact() }),
		clusterCommand("snapshot", "Keep a copy of all objects for a later restore", (*Cluster).snapshot),
		clusterCommand("restore", "Go back to the snapshot, as after the loss of a disk", (*Cluster).restore),
		clusterCommand("wipe", "Lose every object: the cluster is made anew under the same address and keys", (*Cluster).wipe),
		clusterCommand("rotate", "Give every token user a new token; the old ones end", (*Cluster).rotate),
	}
}

func clusterCommand(name, short string, do func(*Cluster) error) *cobra.Command {
	var dir, cluster string
	command := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := openCluster(dir, cluster)
			if err != nil {
				return err
			}
			return do(c)
		},
	}
	dirFlag(command, &dir)
	command.Flags().StringVar(&cluster, "cluster", "member-1", "which")
	return command
}

func serverCommand(name, short string, do func(*Cluster, string) error) *cobra.Command {
	var dir, cluster string
	command := &cobra.Command{
		Use: name + " [SERVER...]", Short: short + " (all of the cluster without a name)",
		Long: "Servers: " + strings.Join(servers, ", "),
		RunE: func(_ *cobra.Command, names []string) error {
			c, err := openCluster(dir, cluster)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				names = c.servers()
			}
			for _, server := range names {
				if !slices.Contains(servers, server) {
					return fmt.Errorf("no server is named %q; there are %s", server, strings.Join(servers, ", "))
				}
				if err := do(c, server); err != nil {
					return err
				}
			}
			if name == "start" && slices.Contains(names, "apiserver") {
				return c.waitReady()
			}
			return nil
		},
	}
	dirFlag(command, &dir)
	command.Flags().StringVar(&cluster, "cluster", "member-1", "which")
	return command
}

func openCluster(dir, name string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return loadCluster(dir, name)
}

func (c *Cluster) servers() []string {
	var ours []string
	for _, server := range servers {
		if (server != "operators" || c.Operators) && (server != "kueue" || c.Kueue) {
			ours = append(ours, server)
		}
	}
	return ours
}

func (c *Cluster) etcdClient() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{fmt.Sprintf("http://127.0.0.1:%d", c.Ports["etcd"])}, DialTimeout: 5 * time.Second,
	})
}

func (c *Cluster) compact() error {
	client, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now, err := client.Get(ctx, "now")
	if err != nil {
		return err
	}
	_, err = client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	return err
}

// snapshot copies etcd's folder while etcd stands still: with --unsafe-no-fsync
// its files are whole only in the page cache, which a copy reads.
func (c *Cluster) snapshot() error {
	if err := c.stopEtcd(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.path("snapshot")); err != nil {
		return err
	}
	if err := os.CopyFS(c.path("snapshot"), os.DirFS(c.path("etcd"))); err != nil {
		return err
	}
	return c.startStorage()
}

func (c *Cluster) restore() error {
	if _, err := os.Stat(c.path("snapshot")); err != nil {
		return errors.New("there is no snapshot: kubebed snapshot first")
	}
	return c.replaceData(func() error {
		return os.CopyFS(c.path("etcd"), os.DirFS(c.path("snapshot")))
	})
}

// replaceData stops the whole cluster, puts other data in etcd's place, and
// starts it again. The apiserver's caches must not outlive their data.
func (c *Cluster) replaceData(fill func() error) error {
	if err := c.stopAll(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	if err := c.startControlPlane(context.Background()); err != nil {
		return err
	}
	if c.Operators {
		if err := c.start("operators"); err != nil {
			return err
		}
	}
	return c.startKueue()
}

func (c *Cluster) wipe() error {
	if err := c.stopAll(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		return err
	}
	if err := c.startControlPlane(context.Background()); err != nil {
		return err
	}
	if err := c.makeNodes(context.Background()); err != nil {
		return err
	}
	if c.Operators {
		if err := c.installOperators(context.Background()); err != nil {
			return err
		}
	}
	return c.startKueue()
}

func (c *Cluster) rotate() error {
	if err := c.makeTokens(); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if err := c.kill("apiserver"); err != nil {
		return err
	}
	if err := c.start("apiserver"); err != nil {
		return err
	}
	return c.waitReady()
}

func (c *Cluster) stopEtcd() error {
	for _, server := range []string{"apiserver", "etcd"} {
		if err := c.kill(server); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startStorage() error {
	for _, server := range []string{"etcd", "apiserver"} {
		if err := c.start(server); err != nil {
			return err
		}
	}
	return c.waitReady()
}
