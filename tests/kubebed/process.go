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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// portNames are the ports a cluster listens on, all on loopback.
var portNames = []string{
	"etcd", "etcd-peer", "apiserver", "controller-manager", "scheduler", "kwok", "webhook", "kubelet",
}

// portMarks are held until this process ends. By then the servers listen themselves.
var (
	portMarksLock sync.Mutex
	portMarks     []net.Listener
)

// reservedPort listens on a port that no other cluster which is being started, here or
// in another process, is given: two that start side by side could else choose the same
// one, and of two schedulers one would end without a word.
func reservedPort() (net.Listener, error) {
	for try := 0; ; try++ {
		// Below the ports that outgoing connections take: while a server is down for a
		// fault, a client's attempt to reach it could else sit on its port. The ports from
		// 22000 are those of the Python tests' own servers (tests/e2e/daemon/ports.py).
		port := 10000 + rand.IntN(12000)
		// An abstract name has no file: it is free again when this process has ended.
		mark, err := net.Listen("unix", fmt.Sprintf("@muster-test-port-%d", port))
		if err == nil {
			var l net.Listener
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
				portMarksLock.Lock()
				portMarks = append(portMarks, mark)
				portMarksLock.Unlock()
				return l, nil
			}
			mark.Close()
		}
		if try >= 100 {
			return nil, err
		}
	}
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
		l, err := reservedPort()
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

// waitReady waits until the apiserver answers /readyz.
func (c *Cluster) waitReady() error {
	return poll(120*time.Second, "the apiserver of "+c.Name, func() error {
		if err := c.alive("apiserver"); err != nil {
			return err
		}
		if err := c.alive("etcd"); err != nil {
			return err
		}
		return c.get("/readyz")
	})
}
