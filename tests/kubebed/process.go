package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// portNames are the ports a cluster listens on, all on loopback.
var portNames = []string{
	"etcd", "etcd-peer", "apiserver", "controller-manager", "scheduler", "kwok", "webhook", "kubelet",
}

// choosePorts takes free ports. They are free only now: a server that then finds
// its port taken makes up try again with others.
func (c *Cluster) choosePorts() error {
	c.Ports = map[string]int{}
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for _, name := range portNames {
		// Below the ports that outgoing connections take: while a server is down for a
		// fault, a client's attempt to reach it could else sit on its port. The ports from
		// 22000 are those of the Python tests' own servers (tests/e2e/daemon/ports.py).
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(12000)))
		for try := 0; err != nil && try < 100; try++ {
			l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(12000)))
		}
		if err != nil {
			return err
		}
		held = append(held, l)
		c.Ports[name] = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// start runs one server in a session of its own, its output in SERVER.log.
func (c *Cluster) start(server string) error {
	if c.pid(server) != 0 {
		return fmt.Errorf("%s of %s runs already", server, c.Name)
	}
	flags, err := c.flags(server)
	if err != nil {
		return err
	}
	return c.spawn(server, flags)
}

func (c *Cluster) spawn(server string, flags []string) error {
	log, err := os.OpenFile(c.path(server+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, append([]string{"run", server}, flags...)...)
	command.Stdout, command.Stderr, command.Dir = log, log, c.dir
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	pid := command.Process.Pid
	// Reaped here while this command lives, so that a server that dies at once is
	// seen as dead and not as a zombie.
	go command.Wait()
	return os.WriteFile(c.path(server+".pid"), []byte(strconv.Itoa(pid)), 0o600)
}

// signal sends a signal to one server that runs; a paused one is woken by KILL.
func (c *Cluster) signal(server string, sig syscall.Signal) error {
	pid := c.pid(server)
	if pid == 0 {
		return fmt.Errorf("%s of %s does not run", server, c.Name)
	}
	return syscall.Kill(pid, sig)
}

// kill ends one server at once and waits until it is gone.
func (c *Cluster) kill(server string) error {
	if err := c.signal(server, syscall.SIGKILL); err != nil {
		return err
	}
	return poll(10*time.Second, server+" to end", func() error {
		if c.pid(server) != 0 {
			return errors.New("still there")
		}
		return nil
	})
}

// poll asks until the question is answered without an error, or the time is up.
func poll(limit time.Duration, what string, ask func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		var final *finalError
		if errors.As(err, &final) || time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A finalError ends a poll before its time.
type finalError struct{ error }

// get fetches a path of the apiserver as the administrator.
func (c *Cluster) get(path string) error {
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(c.path("pki", "admin.crt"), c.path("pki", "admin.key"))
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url()+path, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, answer.Status)
	}
	return nil
}

// alive fails for good when the server has died, naming the end of its log.
func (c *Cluster) alive(server string) error {
	if c.pid(server) != 0 {
		return nil
	}
	text, _ := os.ReadFile(c.path(server + ".log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) > 4 {
		lines = lines[len(lines)-4:]
	}
	return &finalError{fmt.Errorf("%s ended: %s", server, strings.Join(lines, "\n"))}
}

// listens tells why a server does not listen on one of the cluster's ports. That
// somebody listens there says nothing: clusters that start side by side may have chosen
// the same port.
func (c *Cluster) listens(server, port string) error {
	if err := c.alive(server); err != nil {
		return err
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.pid(server)))
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil {
			own[link] = true
		}
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return err
	}
	// proc(5): the second word is the local address, the fourth the state (0A listens),
	// the tenth the socket's number.
	address := fmt.Sprintf("0100007F:%04X", c.Ports[port])
	for _, line := range strings.Split(string(table), "\n") {
		words := strings.Fields(line)
		if len(words) > 9 && words[1] == address && words[3] == "0A" && own["socket:["+words[9]+"]"] {
			return nil
		}
	}
	return fmt.Errorf("%s does not listen on port %d", server, c.Ports[port])
}

// waitReady waits until the apiserver answers /readyz. That of another cluster would
// answer too, on a port that both have chosen.
func (c *Cluster) waitReady() error {
	return poll(120*time.Second, "the apiserver of "+c.Name, func() error {
		for _, server := range []string{"etcd", "apiserver"} {
			if err := c.listens(server, server); err != nil {
				return err
			}
		}
		return c.get("/readyz")
	})
}
