package prometheus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
)

const gib = 1 << 30

// epoch returns the time of every test's server and source.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// clusterOf returns a cluster of nodes with 32 cores and 128 GiB: n1 at 10.0.0.1, and so on.
func clusterOf(nodes int) *cluster.Snapshot {
	snapshot := &cluster.Snapshot{}
	for i := range nodes {
		name := "n" + strconv.Itoa(i+1)
		snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: name, Hostname: name + ".example.com", InternalIP: "10.0.0." + strconv.Itoa(i+1), Ready: true,
			Capacity: cluster.Amounts{32_000, 128 * gib}, Allocatable: cluster.Amounts{31_000, 120 * gib},
		}})
	}
	return snapshot
}

// one is a series of an answer.
type one struct {
	labels map[string]string
	value  string
}

// of returns a series with labels, which are given as name, value, name, value.
func of(value string, labels ...string) one {
	s := one{map[string]string{}, value}
	for i := 0; i < len(labels); i += 2 {
		s.labels[labels[i]] = labels[i+1]
	}
	return s
}

// vectorOf returns the answer to an instant query at the epoch.
func vectorOf(all ...one) string {
	items := []map[string]any{}
	for _, s := range all {
		items = append(items, map[string]any{"metric": s.labels, "value": []any{epoch().Unix(), s.value}})
	}
	return success("vector", items)
}

func success(kind string, result any) string {
	text, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": result}})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fake is a server that answers by a key that the expression contains. The longest matching key is
// used.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]string
	// asked are the expressions of all queries so far.
	asked []string
	// before may answer instead of the server.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t testing.TB, answers map[string]string) *fake {
	t.Helper()
	f := &fake{answers: answers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP answers a query.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.before != nil && f.before(w, r) {
		return
	}
	expression := r.FormValue("query")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, expression)
	longest, answer := -1, vectorOf()
	for key, body := range f.answers {
		if strings.Contains(expression, key) && len(key) > longest {
			longest, answer = len(key), body
		}
	}
	_, _ = w.Write([]byte(answer))
}

func (f *fake) set(key, answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[key] = answer
}

func (f *fake) queries() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.asked...)
}

// These are keys that match expressions of the preset.
const (
	nodeCPU    = "node_cpu_seconds_total"
	nodeMemory = "node_memory_MemTotal_bytes"
	nodeStamp  = "timestamp(node_memory_MemAvailable_bytes)"
	podCPU     = "container_cpu_usage_seconds_total"
	podMemory  = "container_memory_working_set_bytes"
)

// healthy holds a server's answers for two nodes with a pod each.
func healthy() map[string]string {
	return map[string]string{
		nodeCPU:    vectorOf(of("4.5", "instance", "10.0.0.1:9100"), of("2", "instance", "10.0.0.2:9100")),
		nodeMemory: vectorOf(of("1073741824", "instance", "10.0.0.1:9100"), of("2147483648", "instance", "10.0.0.2:9100")),
		nodeStamp:  vectorOf(of(stamp(-10), "instance", "10.0.0.1:9100"), of(stamp(-20), "instance", "10.0.0.2:9100")),
		podCPU:     vectorOf(of("0.25", "namespace", "a", "pod", "p"), of("1.5", "namespace", "b", "pod", "q")),
		podMemory:  vectorOf(of("1048576", "namespace", "a", "pod", "p"), of("2097152", "namespace", "b", "pod", "q")),
	}
}

// stamp returns the epoch plus some seconds, in the form in which an expression with timestamp()
// returns it.
func stamp(seconds int64) string { return strconv.FormatInt(epoch().Unix()+seconds, 10) }

func configFor(address string) settings {
	config := settings{
		Env: access.Env{
			Timeout: 5 * time.Second, QueriesPerSecond: 1000, MaxAge: time.Minute, Now: epoch,
			Windows: []usage.Window{usage.Avg5m}, Metrics: []usage.Metric{usage.CPU, usage.Memory},
		},
		client: &http.Client{}, parallel: 4, maxBytes: 128 << 20,
	}
	config.Config = *new(Config).Default().(*Config)
	config.Address = address
	return config
}

func newSource(t testing.TB, config settings) *Source {
	t.Helper()
	source, err := sourceOf(config)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// sample takes a sample that must not fail.
func sample(t testing.TB, source *Source, snapshot *cluster.Snapshot) usage.Batch {
	t.Helper()
	batch, err := source.Sample(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// values maps "node metric window" to the value of each node reading.
func values(batch usage.Batch) map[string]float64 {
	all := map[string]float64{}
	for _, node := range batch.Nodes {
		for _, r := range node.Readings {
			all[fmt.Sprintf("%s %s %s", node.Name, r.Metric, r.Window)] = r.Value
		}
	}
	return all
}
