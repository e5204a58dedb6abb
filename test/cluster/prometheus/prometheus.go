// Package prometheus runs the real Prometheus server against a local cluster:
// it scrapes kwok's metrics, one target per node, and can be stopped and
// restarted with its data. It decides the names and labels of the series, by
// Prometheus's own relabelling; readers decide what to query.
//
// Series of a node, each with the labels instance, job and, if asked for, node:
//
//	node_cpu_usage_seconds_total, node_memory_working_set_bytes       the kubelet's names
//	node_cpu_seconds_total{cpu="0",mode="user"}, {…,mode="steal"},
//	node_memory_MemTotal_bytes, node_memory_MemAvailable_bytes       node-exporter's names, instead with Config.NodeExporter
//	container_cpu_usage_seconds_total{namespace,pod,container},
//	container_memory_working_set_bytes{namespace,pod,container}      cAdvisor's names
//	pod_cpu_usage_seconds_total{namespace,pod},
//	pod_memory_working_set_bytes{namespace,pod}                      the kubelet's names, not with Config.NodeExporter
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

const (
	pollEvery = 100 * time.Millisecond
	// readyWithin is generous: a server without data is ready within half a second.
	readyWithin = 30 * time.Second
)

// Instance is the format of the instance label of a node's series.
type Instance string

// Formats of instance labels that are used in practice.
const (
	// ByAddress is the InternalIP with node-exporter's port, ByIP the InternalIP alone,
	// ByName the node's name.
	ByAddress Instance = "address"
	ByIP      Instance = "ip"
	ByName    Instance = "name"
)

// Config defines what is scraped and how it is named.
type Config struct {
	// Cluster is the cluster to scrape; nil scrapes no nodes.
	Cluster *cluster.Cluster
	// Dir is an existing folder for configuration, data and log.
	Dir string
	// ScrapeInterval defaults to 5 s. One kwok can serve hundreds of nodes per second.
	ScrapeInterval time.Duration
	// Instance defaults to ByAddress. Nodes without their own address
	// (cluster.NodeTemplate.OwnAddresses) all have the same label.
	Instance Instance
	// NodeLabel adds the label node with the node's name.
	NodeLabel bool
	// NodeExporter keeps node-exporter's names for node usage instead of the kubelet's.
	NodeExporter bool
	// Rules holds recording rules: the names of series and their expressions. They are
	// evaluated at every scrape interval.
	Rules map[string]string
	// Processes maps addresses of further metrics to scrape to the labels of their series.
	Processes []string
	Labels    map[string]string
	// RuleFiles are also evaluated at every scrape interval.
	RuleFiles []string
	// History, if positive, is the length of the nodes' history when the server is first
	// started, with constant usage equal to the present one. The pods' history is 15 minutes
	// long. It needs promtool, which is in the same package as prometheus.
	History time.Duration
}

// Server is a Prometheus process and its data.
type Server struct {
	config Config
	url    string
	client *http.Client

	mu      sync.Mutex
	process *cluster.Process
}

// Installed reports whether prometheus is on the PATH.
func Installed() bool {
	_, err := exec.LookPath("prometheus")
	return err == nil
}

// Start runs a server that scrapes the given nodes, or all nodes if none is given, and
// waits until it answers. The server runs until Stop is called or the context ends.
func Start(ctx context.Context, config Config, nodes ...string) (*Server, error) {
	if config.Cluster == nil && len(config.Processes) == 0 || config.Dir == "" {
		return nil, errors.New("starting prometheus: Dir is not set, or neither Cluster nor Processes is")
	}
	if config.ScrapeInterval == 0 {
		config.ScrapeInterval = 5 * time.Second
	}
	address, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, fmt.Errorf("starting prometheus: %w", err)
	}
	s := &Server{config: config, url: "http://" + address, client: &http.Client{Timeout: 10 * time.Second}}
	if err := errors.Join(s.writeConfig(), s.SetTargets(ctx, nodes...)); err != nil {
		return nil, err
	}
	if config.History > 0 {
		if err := s.backfill(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.launch(ctx, address); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = s.Stop() })
	return s, nil
}

// URL returns the base URL of the server's API.
func (s *Server) URL() string { return s.url }

// LogPath returns the server's log file.
func (s *Server) LogPath() string { return s.file("prometheus.log") }

// Stop stops the server gracefully; Restart starts it again. It is not an error if the
// server is down.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return s.process.Stop()
}

// Restart stops the server if it is running, and starts it again with the same address
// and data.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.launch(ctx, s.url[len("http://"):])
}

// WaitReady waits until the server answers queries.
func (s *Server) WaitReady(ctx context.Context) error {
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	err := wait.PollUntilContextTimeout(ctx, pollEvery, readyWithin, true, func(ctx context.Context) (bool, error) {
		if process.Ended() {
			return false, process.Failure()
		}
		status, _, err := evenkeel.Get(ctx, s.url+"/-/ready")
		return err == nil && status == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for prometheus: %w", err)
	}
	return nil
}

func (s *Server) launch(ctx context.Context, address string) error {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		return fmt.Errorf("starting prometheus (Debian has it in the package prometheus): %w", err)
	}
	process, err := cluster.StartProcess("prometheus", path, []string{
		"--config.file=" + s.file("prometheus.yaml"),
		"--storage.tsdb.path=" + s.file("data"),
		"--storage.tsdb.retention.time=2d",
		"--web.listen-address=" + address,
		"--log.level=info",
	}, s.LogPath())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.process = process
	s.mu.Unlock()
	if err := s.WaitReady(ctx); err != nil {
		return errors.Join(err, s.Stop())
	}
	return nil
}

func (s *Server) file(name string) string { return filepath.Join(s.config.Dir, name) }

// replace writes a file atomically, because the server may read it at any time.
func (s *Server) replace(name string, content []byte) error {
	next := s.file(name + ".next")
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(next, s.file(name)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
