package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// A Cluster is one Kubernetes cluster of the bed. All it is lives in one folder:
// keys, configuration, etcd's data, logs, and a file with the process id of each
// server, so that any later kubebed command can find it again.
type Cluster struct {
	Name  string         `json:"name"`
	Index int            `json:"index"`
	Nodes int            `json:"nodes"`
	Ports map[string]int `json:"ports"`
	// NodeCPU, NodeMemory and NodeGPU size every node, as Kubernetes quantities.
	NodeCPU    string `json:"nodeCPU"`
	NodeMemory string `json:"nodeMemory"`
	NodeGPU    string `json:"nodeGPU"`
	// Operators says whether JobSet, PyTorchJob and the stand-ins run here.
	Operators bool `json:"operators"`
	// KueueKinds and Kueue say whether Kueue's kinds are served and its stand-in runs here.
	KueueKinds bool `json:"kueueKinds"`
	Kueue      bool `json:"kueue"`
	// WatchCache false turns the apiserver's watch cache off for Jobs, so that a
	// compaction of etcd really ends watches and lists of the past with a 410.
	WatchCache bool `json:"watchCache"`

	dir string
}

// servers are the processes of a cluster in the order they start.
var servers = []string{"etcd", "apiserver", "controller-manager", "scheduler", "kwok", "operators", "kueue"}

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

func (c *Cluster) url() string { return fmt.Sprintf("https://127.0.0.1:%d", c.Ports["apiserver"]) }

func (c *Cluster) save() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("cluster.json"), text, 0o600)
}

func loadCluster(dir, name string) (*Cluster, error) {
	c := &Cluster{dir: filepath.Join(dir, name)}
	text, err := os.ReadFile(c.path("cluster.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no cluster %q under %s", name, dir)
	}
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(text, c)
}

// loadClusters reads every cluster below dir, in the order of their numbers.
func loadClusters(dir string) ([]*Cluster, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "cluster.json"))
	if err != nil {
		return nil, err
	}
	var all []*Cluster
	for _, file := range files {
		c, err := loadCluster(dir, filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Index < all[j].Index })
	return all, nil
}

// pid gives the process id of a server that runs now, else 0. The name of the
// program is compared as well, since process ids are used again.
func (c *Cluster) pid(server string) int {
	text, err := os.ReadFile(c.path(server + ".pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 || syscall.Kill(pid, 0) != nil {
		return 0
	}
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		at := strings.LastIndexByte(string(state), ')')
		// A first thread that has ended while others have not holds the ports still.
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if at > 0 && strings.HasPrefix(string(state[at:]), ") Z") && len(threads) <= 1 {
			return 0
		}
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0
	}
	// In the midst of exec a process has no command line for a moment.
	words := strings.Split(string(line), "\x00")
	if len(line) != 0 && (len(words) < 3 || words[1] != "run" || words[2] != server) {
		return 0
	}
	return pid
}
