package doctor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
	"github.com/evenkeel/evenkeel/status/doctor/probe"
)

// noon is the time at which all readings are taken.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a cluster of three nodes with 10 cores and two pods each, and the answers of its usage sources.
type fixture struct {
	t            *testing.T
	installation *doctor.Installation
	nodes        *cluster.Snapshot
	sources      []*meter
	signals      []usage.Metric
	windows      []usage.Window
}

// meter is a usage source whose answer the test sets.
type meter struct {
	name  string
	batch usage.Batch
	err   error
}

func (s *meter) Name() string { return s.name }

func (s *meter) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	s.batch.Source = s.name
	return s.batch, s.err
}

// rememberer is a source with history.
type rememberer struct{ *meter }

func (rememberer) History(context.Context, *cluster.Snapshot, time.Time, time.Duration) ([]usage.Batch, error) {
	return nil, nil
}

var _ observer.Historian = rememberer{}

func newFixture(t *testing.T, types ...string) *fixture {
	t.Helper()
	load := policy.Default(kinds.All)
	load.Hot.Windows = []usage.Window{usage.Avg5m}
	w := &fixture{t: t, nodes: &cluster.Snapshot{}, installation: &doctor.Installation{
		Mode: doctor.ModeServe, PolicyFile: "policy.yaml", Load: &load, MovesByUsage: true,
		Rights: doctor.Rights{Identity: "system:serviceaccount:evenkeel:evenkeel"},
		Pause:  doctor.Pause{Namespace: "evenkeel", Name: "evenkeel-pause", Ledger: "evenkeel-ledger", Annotation: "evenkeel.io/paused"},
		Extender: doctor.Extender{
			URL: "http://127.0.0.1:8888", Started: noon.Add(-time.Hour), LastAsked: noon.Add(-time.Minute), Asked: 40,
		},
	}}
	t.Cleanup(func() { lintFixes(t, w.installation) })
	for i := range 3 {
		w.node(fmt.Sprintf("n%d", i))
	}
	for _, kind := range types {
		w.installation.Sources = append(w.installation.Sources, policy.NewSource(kind, kinds.All))
		w.sources = append(w.sources, &meter{name: kind, batch: w.batch(2 * time.Second)})
	}
	return w
}

func (w *fixture) node(name string) *cluster.Node {
	n := &cluster.NodePods{Node: cluster.Node{
		Name: name, Ready: true, Schedulable: true, Labels: map[string]string{"kubernetes.io/hostname": name},
		Allocatable: cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 64 << 30},
		Capacity:    cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 64 << 30},
	}}
	for k := range 2 {
		n.Pods = append(n.Pods, &cluster.Pod{
			UID: fmt.Sprintf("%s-%d", name, k), Namespace: "web", Name: fmt.Sprintf("%s-%d", name, k), Node: name,
			Created: noon.Add(-2 * time.Hour), Started: noon.Add(-2 * time.Hour), Owner: cluster.Owner{UID: "web", Kind: "ReplicaSet"},
		})
	}
	w.nodes.Nodes = append(w.nodes.Nodes, n)
	return &n.Node
}

// batch returns a reading in which the samples of all nodes and pods have the given age.
func (w *fixture) batch(age time.Duration) usage.Batch {
	batch := usage.Batch{Received: noon}
	at := noon.Add(-age)
	for _, n := range w.nodes.Nodes {
		batch.Nodes = append(batch.Nodes, usage.NodeSample{
			Name: n.Node.Name, Readings: usage.LastReadings(at, cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 20 << 30}),
		})
		for _, pod := range n.Pods {
			batch.Pods = append(batch.Pods, usage.PodSample{
				Namespace: pod.Namespace, Name: pod.Name,
				Last: usage.Sample{At: at, Used: cluster.Amounts{cluster.CPU: 1000, cluster.Memory: 5 << 30}},
			})
		}
	}
	return batch
}

// ask passes the sources' answers to the installation.
func (w *fixture) ask() *fixture {
	w.t.Helper()
	var sources []observer.Source
	for _, s := range w.sources {
		if s.name == string(prometheus.Name) {
			sources = append(sources, rememberer{s})
		} else {
			sources = append(sources, s)
		}
	}
	reader, err := probe.NewSourceReader(probe.SourceReaderConfig{Sources: sources, Now: func() time.Time { return noon }, Usage: usage.Config{
		SampleInterval: 15 * time.Second, MaxAge: w.installation.Load.Usage.MaxAge.Duration, MinWindow: 75 * time.Second,
		Windows: w.windows, Signals: w.signals,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.installation.Readings = reader.Ask(w.t.Context(), w.nodes)
	return w
}

// found returns the findings of a check, each as level, subject and sentence.
func found(p *doctor.Installation, check doctor.Check) []string {
	var lines []string
	for _, f := range doctor.Examine(p).Findings {
		if f.Check != check {
			continue
		}
		line := string(f.Level)
		if f.Subject != "" {
			line += " " + f.Subject
		}
		lines = append(lines, line+": "+f.Says)
	}
	return lines
}

// fixesOf returns the fixes for the findings of a check.
func fixesOf(p *doctor.Installation, check doctor.Check) string {
	all := ""
	for _, f := range doctor.Examine(p).Findings {
		if f.Check == check {
			all += f.Fix + "\n"
		}
	}
	return all
}
