package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func downCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "down",
		Short: "End all clusters of a folder and remove what they left",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return down(dir) },
	}
	dirFlag(command, &dir)
	return command
}

// down ends everything with KILL: nothing of a test cluster is worth keeping,
// and an apiserver with open watches takes long to end by itself.
func down(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	all, err := loadClusters(dir)
	if err != nil {
		return err
	}
	guard := &Cluster{Name: "guard", dir: dir}
	if pid := guard.pid("guard"); pid != 0 && pid != os.Getpid() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	os.Remove(guard.path("guard.pid"))
	for _, c := range all {
		if err := c.stopAll(); err != nil {
			return err
		}
		if err := os.RemoveAll(c.dir); err != nil {
			return err
		}
	}
	return nil
}

// stopAll ends the servers that run, the clients of the apiserver first.
func (c *Cluster) stopAll() error {
	for i := len(servers) - 1; i >= 0; i-- {
		if c.pid(servers[i]) == 0 {
			continue
		}
		if err := c.kill(servers[i]); err != nil {
			return err
		}
	}
	return nil
}

func listCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "list",
		Short: "Print each cluster: name, address, kubeconfig, and the servers that run",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := loadClusters(dir)
			if err != nil {
				return err
			}
			for _, c := range all {
				var up []string
				for _, server := range servers {
					if pid := c.pid(server); pid != 0 {
						up = append(up, server+"="+strconv.Itoa(pid))
					}
				}
				fmt.Println(c.Name, c.url(), c.path("kubeconfig"), strings.Join(up, " "))
			}
			return nil
		},
	}
	dirFlag(command, &dir)
	return command
}

// runGuard ends the clusters of a folder when the process that owns them is
// gone, however it went: `kubebed run guard DIR PID`.
func runGuard(args []string) int {
	if len(args) != 2 {
		return 2
	}
	owner, err := strconv.Atoi(args[1])
	if err != nil {
		return 2
	}
	for syscall.Kill(owner, 0) == nil {
		time.Sleep(200 * time.Millisecond)
	}
	if err := down(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
