package doctor_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// With the shipped policy and a healthy cluster, doctor recommends nothing, whoever runs it.
func TestTheShippedPolicyGivesNoWarning(t *testing.T) {
	file, _, err := policyfile.Read(filepath.Join("..", "..", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range doctor.Modes() {
		if mode == doctor.ModeNodeSync { // the shipped policy does not enable nodesync
			continue
		}
		t.Run(string(mode), func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			w.windows = []usage.Window{file.Load.Hot.Windows[1], file.Load.Hot.Windows[2]}
			w.ask()
			p := w.installation
			p.Mode, p.Load, p.Sources = mode, &file.Load, file.Load.Usage.Sources
			p.Extender, p.Clock, p.Steering = doctor.Extender{}, doctor.Clock{Known: true}, steeringPatient(t, &steeringCase{"auto", policy.SteeringAuto, func(p *doctor.Installation) { all(p, doctor.PartMissing) }}).Steering
			p.Rights.Identity = "admin"
			for _, need := range process(mode, metricsserver.Name).Needs() {
				p.Rights.Answers = append(p.Rights.Answers, doctor.Answer{Need: need, Allowed: true})
			}
			for _, f := range doctor.Examine(p).Findings {
				if f.Level != doctor.OK || f.Fix != "" {
					t.Errorf("%s %s: %s %s\n%s", f.Level, f.Check, f.Subject, f.Says, f.Fix)
				}
			}
		})
	}
}

// Until usage is available, doctor reports that it is still to come, and recommends nothing.
func TestWarmingUp(t *testing.T) {
	unavailable := errors.New("the server is currently unable to handle the request")
	since := func(w *fixture, ago time.Duration) {
		for _, n := range w.nodes.Nodes {
			n.Node.ReadySince = noon.Add(-ago)
		}
	}
	serving := func(w *fixture, name string, ago time.Duration) {
		w.nodes.Nodes[0].Pods = append(w.nodes.Nodes[0].Pods, &cluster.Pod{UID: "s", Namespace: "kube-system", Name: name, Node: "n0", Created: noon.Add(-ago)})
	}
	const needed = "fresh, plausible usage; 80% needed"
	cases := map[string]struct {
		kind   string
		change func(w *fixture)
		want   []string
		fixes  bool
	}{
		"a new cluster": {
			kind: metricsserver.Name,
			change: func(w *fixture) {
				since(w, time.Minute)
				w.sources[0].err = unavailable
			},
			want: []string{
				"warning MetricsServer: It is starting and gives no reading yet: the server is currently unable to handle the request",
				"warning: 0 of 3 ready nodes have " + needed + ". The usage of 3 more is still to come: they or the source started less than 1m30s ago.",
			},
		},
		"the same some minutes later": {
			kind: metricsserver.Name,
			change: func(w *fixture) {
				since(w, 5*time.Minute)
				w.sources[0].err = unavailable
			},
			want: []string{
				"problem MetricsServer: It gave no reading: the server is currently unable to handle the request",
				"problem UsageSourceUnavailable: Nothing would be evicted: 0 of 3 ready nodes have " + needed + " (NoUsageSample: 3, n0, n1, n2).",
			},
			fixes: true,
		},
		"metrics-server was just installed": {
			kind: metricsserver.Name,
			change: func(w *fixture) {
				serving(w, "metrics-server-7d9f-x", 20*time.Second)
				w.sources[0].batch.Nodes, w.sources[0].batch.Pods = nil, nil
			},
			want: []string{
				"warning MetricsServer: It is starting: it responded in 1ms but has returned no nodes yet.",
				"warning MetricsServer: 3 of 3 ready nodes have no sample yet: they or the source started less than 1m30s ago: n0, n1, n2.",
				"warning: 0 of 3 ready nodes have " + needed + ". The usage of 3 more is still to come: they or the source started less than 1m30s ago.",
			},
		},
		"it crashes again and again": {
			kind: metricsserver.Name,
			change: func(w *fixture) {
				serving(w, "metrics-server-7d9f-x", time.Hour)
				w.nodes.Nodes[0].Pods[2].Started = noon.Add(-10 * time.Second)
				w.sources[0].err = unavailable
			},
			want: []string{
				"problem MetricsServer: It gave no reading: the server is currently unable to handle the request",
				"problem UsageSourceUnavailable: Nothing would be evicted: 0 of 3 ready nodes have " + needed + " (NoUsageSample: 3, n0, n1, n2).",
			},
			fixes: true,
		},
		"a mistake that no time fixesOf": {
			kind: prometheus.Name,
			change: func(w *fixture) {
				serving(w, "prometheus-k8s-0", 20*time.Second)
				w.sources[0].err = errors.New("the server answered 401 Unauthorized")
			},
			want: []string{
				"problem Prometheus: It gave no reading: the server answered 401 Unauthorized",
				"problem UsageSourceUnavailable: Nothing would be evicted: 0 of 3 ready nodes have " + needed + " (NoUsageSample: 3, n0, n1, n2).",
			},
			fixes: true,
		},
		"a node was added": {
			kind: prometheus.Name,
			change: func(w *fixture) {
				w.node("n3").ReadySince = noon.Add(-30 * time.Second)
				w.nodes.Nodes[3].Pods[0].Started, w.nodes.Nodes[3].Pods[1].Started = noon.Add(-20*time.Second), noon.Add(-20*time.Second)
			},
			want: []string{
				"warning Prometheus: 1 of 4 ready nodes have no sample yet: they or the source started less than 1m30s ago: n3.",
				"warning: 3 of 4 ready nodes have " + needed + ". The usage of 1 more is still to come: they or the source started less than 1m30s ago.",
				"ok Prometheus: Responded in 1ms with 3 nodes and 6 pods.",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.kind)
			tc.change(w)
			var got []string
			fixes := ""
			for _, f := range doctor.Examine(w.ask().installation).Findings {
				if f.Check == doctor.CheckSources || f.Check == doctor.CheckMatching || f.Check == doctor.CheckCoverage {
					got = append(got, strings.TrimSuffix(string(f.Level)+" "+f.Subject, " ")+": "+f.Says)
					fixes += f.Fix
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tc.fixes != (fixes != "") {
				t.Errorf("it prescribes %q", fixes)
			}
		})
	}
}
