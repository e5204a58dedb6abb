package exporters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// KubeletsConfig configures Kubelets.
type KubeletsConfig struct {
	Cluster *cluster.Cluster
	// Dir is an existing folder, in which the certificate authority's file is written.
	Dir string
	// WithoutPSI omits pressure, as kubelets before v1.36 do by default.
	WithoutPSI bool
	// Waits returns the percentage of time in which the containers of a pod wait for a CPU;
	// if it is nil, containers have no PSI.
	Waits func(cluster.NodeTruth, cluster.PodTruth) float64
	// Unmeasured is how long a pod's usage is reported as zero, but not that of its
	// containers, after the pod's start and after Restart; 0 disables this. Real kubelets
	// take 10 to 19 seconds until they have measured a pod twice.
	Unmeasured time.Duration
	// Hidden reports whether a pod is omitted from the summaries, although its node's usage
	// includes it; nil means that none is.
	Hidden func(cluster.PodTruth) bool
	// System is the usage of nodes outside pods, by node name.
	System map[string]cluster.Amounts
}

// seen returns the part of a node that its summary covers.
func (c *KubeletsConfig) seen(node cluster.NodeTruth) cluster.NodeTruth {
	system := c.System[node.Name]
	node.Used.CPUMilli += system.CPUMilli
	node.Used.MemoryBytes += system.MemoryBytes
	if c.Hidden != nil {
		node.Pods = slices.DeleteFunc(slices.Clone(node.Pods), c.Hidden)
	}
	return node
}

// Kubelets serves /stats/summary in the kubelet's format and, by forwarding to kwok,
// /metrics/resource at https://<InternalIP>:<kubelet port> of each node. Like a kubelet,
// it requires a bearer token whose user may get the subresource stats or metrics of
// nodes. Faults that change values affect CPU and memory of the node and its pods.
type Kubelets struct {
	faults

	config KubeletsConfig
	truths truths
	fleet  fleet
	ca     *authority
	gate   gate
	meters meters

	mu        sync.Mutex
	pressure  map[string]Pressure
	restarted map[string]time.Time
}

// StartKubelets simulates the kubelets of all existing nodes.
func StartKubelets(ctx context.Context, config KubeletsConfig) (*Kubelets, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	k := &Kubelets{
		config: config, truths: truths{cluster: config.Cluster}, ca: ca,
		gate: gate{client: config.Cluster.Client()}, pressure: map[string]Pressure{}, restarted: map[string]time.Time{},
	}
	if err := os.WriteFile(k.CAFile(), ca.pem, 0o644); err != nil {
		return nil, fmt.Errorf("writing the kubelets' authority: %w", err)
	}
	k.fleet = fleet{
		handler: k.handler,
		port:    func(node cluster.NodeTruth) int { return int(node.KubeletPort) },
		secure:  ca.serverConfig,
	}
	if err := k.Sync(ctx); err != nil {
		return nil, errors.Join(err, k.Stop())
	}
	context.AfterFunc(ctx, func() { _ = k.Stop() })
	return k, nil
}

// CAFile returns the path of the CA certificate for the kubelets' certificates.
func (k *Kubelets) CAFile() string { return filepath.Join(k.config.Dir, "kubelet-ca.crt") }

// Sync starts kubelets for new nodes, and stops those of deleted nodes.
func (k *Kubelets) Sync(ctx context.Context) error {
	nodes, err := k.config.Cluster.Truth(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.InternalIP == "127.0.0.1" {
			return fmt.Errorf("simulating the kubelet of node %q: it has no address of its own", node.Name)
		}
	}
	return k.fleet.sync(ctx, nodes)
}

// Stop stops all kubelets.
func (k *Kubelets) Stop() error { return k.fleet.stop() }

// Tokens returns what somebody who controls the nodes could collect: the bearer tokens
// that clients have presented to the kubelets, each once.
func (k *Kubelets) Tokens() []string {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	return slices.Clone(k.gate.tokens)
}

// SetPressure makes a node report the given pressure instead of that derived from its CPU
// usage.
func (k *Kubelets) SetPressure(node string, pressure Pressure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pressure[node] = pressure
}

// Restart makes the kubelets of the given nodes answer as if they had been restarted.
func (k *Kubelets) Restart(nodes ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, node := range nodes {
		k.restarted[node] = time.Now()
	}
}

func (k *Kubelets) handler(node string) http.Handler {
	mux := http.NewServeMux()
	current := func(*http.Request) fault.Fault { return k.of(node) }
	serve := func(path, subresource string, next http.Handler) {
		mux.Handle("GET "+path, fault.Handler(current, k.gate.admit(subresource, next)))
	}
	serve("/stats/summary", "stats", k.summary(node))
	resource := k.spoilText(node, k.resource(node))
	serve("/metrics/resource", "metrics", resource)
	serve("/metrics/nodes/"+node+"/metrics/resource", "metrics", resource)
	return mux
}

func (k *Kubelets) summary(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		truth, place, err := k.truths.of(r.Context(), node)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		truth = k.config.seen(truth)
		k.mu.Lock()
		pressure, set := k.pressure[node]
		restarted := k.restarted[node]
		k.mu.Unlock()
		if !set {
			pressure = pressureOf(truth)
		}
		what := k.of(node)
		summary := summaryOf(truth, what.Time(time.Now()), &k.meters)
		unmeasured(&summary, truth, restarted, k.config.Unmeasured, what.Time(time.Now()))
		if !k.config.WithoutPSI {
			addPressure(&summary, pressure)
			k.addWaits(&summary, truth)
		}
		body, err := json.Marshal(summary)
		if err == nil {
			body, err = spoilSummary(body, what, place)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // an error means that the client has disconnected
	})
}

// addWaits adds PSI to the containers. Pods are in the same order as in truth.
func (k *Kubelets) addWaits(summary *stats.Summary, truth cluster.NodeTruth) {
	if k.config.Waits == nil {
		return
	}
	for i, pod := range truth.Pods {
		containers := summary.Pods[i].Containers
		for j := range containers {
			containers[j].CPU.PSI = psi(k.config.Waits(truth, pod))
		}
	}
}

// resource forwards requests to kwok.
func (k *Kubelets) resource(node string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if target, err := url.Parse(k.config.Cluster.UsageURL(node)); err == nil {
				r.Out.URL, r.Out.Host = target, ""
			}
			r.Out.Header.Del("Authorization")
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
