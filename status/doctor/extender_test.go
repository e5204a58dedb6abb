package doctor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

func TestExtender(t *testing.T) {
	// pod adds a pod that was created the given time ago.
	pod := func(w *fixture, ago time.Duration, kind string) {
		w.nodes.Nodes[0].Pods = append(w.nodes.Nodes[0].Pods, &cluster.Pod{
			UID: "new", Namespace: "web", Name: "new", Node: "n0", Created: noon.Add(-ago), Owner: cluster.Owner{Kind: kind},
		})
	}
	never := func(w *fixture) { w.installation.Extender.Asked, w.installation.Extender.LastAsked = 0, time.Time{} }
	cases := map[string]struct {
		change func(w *fixture)
		want   string
		fix    string
	}{
		"asked all along": {
			want: "ok http://127.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 40 times by kube-scheduler, last at 2026-03-01T11:59:00Z.",
		},
		"never asked while pods were bound": {
			change: func(w *fixture) { never(w); pod(w, 10*time.Minute, "ReplicaSet") },
			want:   "problem http://127.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 0 times by kube-scheduler, although 1 new pod was bound since then: kube-scheduler does not ask it.",
			fix:    "nodeCacheCapable: true",
		},
		"static pods prove nothing": {
			change: func(w *fixture) { never(w); pod(w, 10*time.Minute, "Node") },
			want:   "warning http://127.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 0 times by kube-scheduler; no pod has been bound since then, so nothing is proven.",
			fix:    "kubectl run",
		},
		"nor does a pod bound while it started": {
			change: func(w *fixture) { never(w); pod(w, time.Hour-5*time.Second, "ReplicaSet") },
			want:   "warning http://127.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 0 times by kube-scheduler; no pod has been bound since then, so nothing is proven.",
		},
		"no longer asked": {
			change: func(w *fixture) {
				w.installation.Extender.LastAsked = noon.Add(-30 * time.Minute)
				pod(w, 10*time.Minute, "ReplicaSet")
			},
			want: "warning http://127.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 40 times by kube-scheduler, last at 2026-03-01T11:30:00Z; " +
				"1 new pod was bound later: kube-scheduler has stopped asking, asks another replica, or another scheduler placed them.",
		},
		"down": {
			change: func(w *fixture) { w.installation.Extender.Err = errors.New("connection refused") },
			want:   "problem http://127.0.0.1:8888: Its status could not be read: connection refused",
			fix:    "port-forward",
		},
		"an older version": {
			change: func(w *fixture) { w.installation.Extender.Started = time.Time{} },
			want:   "warning http://127.0.0.1:8888: It does not report when it started; kube-scheduler has asked it 40 times.",
		},
		"no address": {
			change: func(w *fixture) { w.installation.Extender = doctor.Extender{} },
			want:   "ok: Not checked: pass --extender-url to verify that kube-scheduler calls the extender.",
		},
		"no address and no steering": {
			change: func(w *fixture) {
				w.installation.Extender, w.installation.Load.Eviction.Steering = doctor.Extender{}, policy.SteeringNone
			},
			want: "ok: Not needed: the policy's steering is none, so pods land where kube-scheduler puts them.",
		},
		"it speaks https": {
			change: func(w *fixture) {
				never(w)
				w.installation.Extender.URL = "https://10.0.0.1:8888"
				pod(w, time.Minute, "ReplicaSet")
			},
			want: "problem https://10.0.0.1:8888: It has run since 2026-03-01T11:00:00Z and was asked 0 times by kube-scheduler, although 1 new pod was bound since then: kube-scheduler does not ask it.",
			fix:  "tlsConfig",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			if tc.change != nil {
				tc.change(w)
			}
			p := w.ask().installation
			if diff := cmp.Diff([]string{tc.want}, found(p, doctor.CheckExtender)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckExtender); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

// An extender whose gate is closed scores nodes without the missing usage.
func TestExtenderWithoutUsage(t *testing.T) {
	w := newFixture(t, metricsserver.Name)
	w.installation.Extender.Gate = "NoUsageData: 0 of 3"
	got := found(w.ask().installation, doctor.CheckExtender)
	if len(got) != 2 || got[0] != "warning http://127.0.0.1:8888: It knows too little usage to score nodes: NoUsageData: 0 of 3" {
		t.Errorf("got %q", got)
	}
	w.installation.Extender.Started = noon.Add(-3 * time.Minute)
	const collecting = "warning http://127.0.0.1:8888: It started at 2026-03-01T11:57:00Z and is still collecting the usage for its scores: NoUsageData: 0 of 3"
	if got := found(w.installation, doctor.CheckExtender); len(got) != 2 || got[0] != collecting {
		t.Errorf("just started: got %q", got)
	}
	if got := fixesOf(w.installation, doctor.CheckExtender); strings.TrimSpace(got) != "" {
		t.Errorf("just started: it prescribes %q", got)
	}
}
