package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kubelet answers what the apiserver asks of every node's kubelet for logs:
// GET /containerLogs/NAMESPACE/POD/CONTAINER. A container's log is the
// annotation bed.test/log of its pod, else two lines that name it; with
// follow=true the answer ends when the pod does.
type kubelet struct {
	pods   client.Reader
	server *http.Server
	port   int
}

func newKubelet(manager ctrl.Manager, certs string, port int) (*kubelet, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(certs, "ca.crt"))
	if err != nil {
		return nil, err
	}
	callers := x509.NewCertPool()
	callers.AppendCertsFromPEM(ca)
	k := &kubelet{pods: manager.GetClient(), port: port}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	k.server = &http.Server{Handler: mux, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: callers,
	}}
	return k, nil
}

// Start serves until the context ends; the manager calls it.
func (k *kubelet) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", k.port))
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		k.server.Close()
	}()
	if err := k.server.ServeTLS(listener, "", ""); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}
	pod := &corev1.Pod{}
	if err := k.pods.Get(r.Context(), name, pod); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	lines := logLines(pod, r.PathValue("container"))
	if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil && tail < len(lines) {
		lines = lines[max(0, len(lines)-tail):]
	}
	for _, line := range lines {
		if r.URL.Query().Get("timestamps") == "true" {
			line = pod.CreationTimestamp.UTC().Format(time.RFC3339Nano) + " " + line
		}
		fmt.Fprintln(w, line)
	}
	for r.URL.Query().Get("follow") == "true" && running(pod) {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if err := k.pods.Get(r.Context(), name, pod); err != nil {
			return
		}
	}
}

func logLines(pod *corev1.Pod, container string) []string {
	if text, ok := pod.Annotations["bed.test/log"]; ok {
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	return []string{pod.Name + "/" + container + " starts", "on " + pod.Spec.NodeName}
}

func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending
}
