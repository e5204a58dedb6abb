package doctor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/doctor"
)

var p95 = usage.Window{Kind: usage.KindQuantile, Percentile: 95, Over: time.Hour}

func TestWindows(t *testing.T) {
	// give adds a reading to the given number of nodes of a source.
	give := func(w *fixture, source int, metrics []usage.Metric, window usage.Window, nodes int) {
		for i := range nodes {
			for _, metric := range metrics {
				sample := &w.sources[source].batch.Nodes[i]
				sample.Readings = append(sample.Readings, usage.Reading{Metric: metric, Window: window, At: noon.Add(-2 * time.Second), Value: 4000})
			}
		}
	}
	resources := []usage.Metric{usage.CPU, usage.Memory}
	judge := func(w *fixture, window usage.Window) {
		w.installation.Load.Hot.Windows = append(w.installation.Load.Hot.Windows, window)
		w.windows = append(w.windows, window)
	}
	line := func(w *fixture, metric usage.Metric) {
		evict := 20.0
		w.installation.Load.Lines[metric] = policy.MetricLines{Levels: policy.Levels{Evict: &evict}}
		w.signals = append(w.signals, metric)
	}
	cases := map[string]struct {
		kind   string
		change func(w *fixture)
		want   []string
		fix    string
	}{
		"short windows fill by themselves": {
			kind: metricsserver.Name,
			want: []string{"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long."},
		},
		"a one-shot run waits for them": {
			kind:   metricsserver.Name,
			change: func(w *fixture) { w.installation.Mode = doctor.ModeRun },
			want:   []string{"ok avg_5m: No source provides history for them, so a one-shot run samples for 2m30s (usage.observationPeriod) before it decides."},
		},
		"a long window does not fill soon": {
			kind:   metricsserver.Name,
			change: func(w *fixture) { judge(w, p95) },
			want: []string{
				"warning p95_1h: No source provides history for them. Evenkeel computes them in memory, so they cover less time than their name until a process has been up that long.",
				"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long.",
			},
			fix: "type: Prometheus",
		},
		"a long window that scores does not fill soon either": {
			kind: metricsserver.Name,
			change: func(w *fixture) {
				w.windows = append(w.windows, p95)
				w.installation.Load.Scoring.Measured = &policy.MeasuredScoring{
					Terms:  []policy.MeasuredTerm{{Metric: usage.CPU, Window: p95}},
					Limits: []policy.MeasuredLimit{{Metric: usage.CPU, Window: p95}},
				}
			},
			want: []string{
				"warning p95_1h: No source provides history for them. Evenkeel computes them in memory, so they cover less time than their name until a process has been up that long.",
				"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long.",
			},
		},
		"a source with a history fills it": {
			kind:   prometheus.Name,
			change: func(w *fixture) { judge(w, p95) },
			want:   []string{"ok avg_5m, p95_1h: Evenkeel computes them in memory, filled from a source's history when a process starts."},
		},
		"the source gives it": {
			kind: annotations.Name,
			change: func(w *fixture) {
				w.installation.Mode = doctor.ModeRun
				judge(w, p95)
				give(w, 0, resources, usage.Avg5m, 3)
				give(w, 0, resources, p95, 3)
			},
			want: []string{"ok avg_5m, p95_1h: The sources provide them, so a process knows them from its first reading."},
		},
		"a single resource is not enough": {
			kind: annotations.Name,
			change: func(w *fixture) {
				give(w, 0, []usage.Metric{usage.CPU}, usage.Avg5m, 3)
			},
			want: []string{"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long."},
		},
		"the newest sample needs no time": {
			kind:   metricsserver.Name,
			change: func(w *fixture) { w.installation.Load.Hot.Windows = []usage.Window{usage.Last} },
			want:   []string{"ok last: The sources provide them, so a process knows them from its first reading."},
		},
		"a pressure that no source delivers": {
			kind:   metricsserver.Name,
			change: func(w *fixture) { line(w, usage.CPUPressure) },
			want: []string{
				"problem cpu.pressure: It has lines, but no source reports it for any node, so they have no effect.",
				"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long.",
			},
			fix: "KubeletPSI",
		},
		"a pressure of some nodes": {
			kind: kubelet.Name,
			change: func(w *fixture) {
				line(w, usage.CPUPressure)
				give(w, 0, []usage.Metric{usage.CPUPressure}, usage.Last, 2)
			},
			want: []string{
				"warning cpu.pressure: It has lines, and 2 of 3 nodes with usage report it. Its lines have no effect on the others.",
				"ok avg_5m: Evenkeel computes them in memory: they count from 2m30s after a process has started, and cover less time than their name until it has been up that long.",
			},
		},
		"a metric by query": {
			kind: prometheus.Name,
			change: func(w *fixture) {
				line(w, "disk.busy")
				give(w, 0, []usage.Metric{"disk.busy"}, usage.Last, 3)
			},
			want: []string{
				"ok avg_5m: Evenkeel computes them in memory, filled from a source's history when a process starts.",
				"ok disk.busy: It has lines, and 3 of 3 nodes with usage report it.",
			},
		},
		"a metric whose query returns nothing": {
			kind:   prometheus.Name,
			change: func(w *fixture) { line(w, "disk.busy") },
			want: []string{
				"problem disk.busy: It has lines, but no source reports it for any node, so they have no effect.",
				"ok avg_5m: Evenkeel computes them in memory, filled from a source's history when a process starts.",
			},
			fix: "disk.busy: {expr: ...}",
		},
		"no findings on windows without a source": {
			kind:   metricsserver.Name,
			change: func(w *fixture) { w.sources[0].err = errors.New("down") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.kind)
			if tc.change != nil {
				tc.change(w)
			}
			p := w.ask().installation
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckWindows)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckWindows); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

func TestClock(t *testing.T) {
	cases := map[string]struct {
		age  time.Duration
		max  time.Duration
		want string
	}{
		"young":                    {2 * time.Second, 0, "ok MetricsServer: The newest samples of 3 nodes are 2s to 2s old, half of them up to 2s; maxAge is 1m30s."},
		"exactly half":             {45 * time.Second, 0, "ok MetricsServer: The newest samples of 3 nodes are 45s to 45s old, half of them up to 45s; maxAge is 1m30s."},
		"over half":                {46 * time.Second, 0, "warning MetricsServer: The newest samples of 3 nodes are 46s to 46s old, half of them up to 46s; maxAge is 1m30s. A single missed sample makes nodes unknown."},
		"the source's own maxAge":  {46 * time.Second, 5 * time.Minute, "ok MetricsServer: The newest samples of 3 nodes are 46s to 46s old, half of them up to 46s; maxAge is 5m0s."},
		"a little ahead":           {-4 * time.Second, 0, "ok MetricsServer: The newest samples of 3 nodes are -4s to -4s old, half of them up to -4s; maxAge is 1m30s."},
		"from the future, by much": {-time.Minute, 0, "warning MetricsServer: The newest sample was taken 1m0s from now: a clock or a time zone is wrong. The newest samples of 3 nodes are -1m0s to -1m0s old, half of them up to -1m0s; maxAge is 1m30s."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			w.sources[0].batch = w.batch(tc.age)
			w.sources[0].batch.MaxAge = tc.max
			if diff := cmp.Diff([]string{tc.want}, found(w.ask().installation, doctor.CheckClock)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOwnClock(t *testing.T) {
	cases := map[string]struct {
		clock doctor.Clock
		want  []string
		fix   string
	}{
		"the API server's time is unknown": {},
		"right":                            {clock: doctor.Clock{Known: true}, want: []string{"ok this machine: Its clock and the API server's differ by at most about 2s."}},
		"behind": {
			clock: doctor.Clock{Known: true, Skew: 10*time.Minute + 300*time.Millisecond},
			want:  []string{"warning this machine: Its clock is 10m0s behind the API server's. Evenkeel uses the API server's time; its logs, and other programs on this machine, do not."},
			fix:   "NTP",
		},
		"ahead": {
			clock: doctor.Clock{Known: true, Skew: -3 * time.Second},
			want:  []string{"warning this machine: Its clock is 3s ahead of the API server's. Evenkeel uses the API server's time; its logs, and other programs on this machine, do not."},
			fix:   "NTP",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t).installation // without readings, the clock is still known
			p.Clock = tc.clock
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckClock)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckClock); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	valid := "ok policy.yaml: It is valid: usage from Prometheus; lines for 2 metrics; 0 node pools."
	cases := map[string]struct {
		change func(w *fixture)
		want   []string
	}{
		"valid": {want: []string{valid}},
		"no file": {
			change: func(w *fixture) { w.installation.PolicyFile = "" },
			want: []string{
				"warning the built-in defaults: They are examined because no policy was given. serve needs one and does not start without it.",
				"ok the built-in defaults: It is valid: usage from Prometheus; lines for 2 metrics; 0 node pools.",
			},
		},
		"no file, which an extender does not need": {
			change: func(w *fixture) { w.installation.PolicyFile, w.installation.Mode = "", doctor.ModeExtender },
			want:   []string{"ok the built-in defaults: It is valid: usage from Prometheus; lines for 2 metrics; 0 node pools."},
		},
		"nothing moves by usage": {
			change: func(w *fixture) { w.installation.MovesByUsage = false },
			want:   []string{"warning policy.yaml: No profile enables RealUsageLowNodeUtilization, so Evenkeel moves nothing by real usage.", valid},
		},
		"an extender moves nothing anyway": {
			change: func(w *fixture) { w.installation.MovesByUsage, w.installation.Mode = false, doctor.ModeExtender },
			want:   []string{valid},
		},
		"a token in the clear": {
			change: func(w *fixture) {
				w.installation.Sources[0].Config.(*prometheus.Config).Address, w.installation.Sources[0].Config.(*prometheus.Config).BearerTokenFile = "http://p:9090", "/token"
			},
			want: []string{"warning Prometheus: Its token or password is sent over plain http.", valid},
		},
		"nothing secret in the clear": {
			change: func(w *fixture) { w.installation.Sources[0].Config.(*prometheus.Config).Address = "http://p:9090" },
			want:   []string{valid},
		},
		"a certificate that is not checked": {
			change: func(w *fixture) { w.installation.Sources[0].Config.(*prometheus.Config).TLS.InsecureSkipVerify = true },
			want: []string{
				"warning Prometheus: Its certificate is not checked (insecureSkipVerify): anyone on the network path could fake usage and would receive the token.", valid,
			},
		},
		"an empty pool, and one behind another": {
			change: func(w *fixture) {
				pool := func(name, node string) policy.NodePool {
					return policy.NodePool{Name: name, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/hostname": node}}}
				}
				w.installation.Load.NodePools = []policy.NodePool{pool("a", "n1"), pool("b", "n1"), pool("c", "gone")}
			},
			want: []string{
				`warning nodePools[1] "b": It has no nodes: its selector matches none, or earlier pools match them all.`,
				`warning nodePools[2] "c": It has no nodes: its selector matches none, or earlier pools match them all.`,
				"ok policy.yaml: It is valid: usage from Prometheus; lines for 2 metrics; 3 node pools.",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, prometheus.Name)
			if tc.change != nil {
				tc.change(w)
			}
			if diff := cmp.Diff(tc.want, found(w.ask().installation, doctor.CheckPolicy)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPause(t *testing.T) {
	cases := map[string]struct {
		mode  doctor.Mode
		pause doctor.Pause
		want  []string
		fix   string
	}{
		"not paused": {mode: doctor.ModeServe, want: []string{"ok: Evicting is not paused in namespace evenkeel."}},
		"paused": {
			mode:  doctor.ModeServe,
			pause: doctor.Pause{Reason: reasons.Paused, Says: "paused by it"},
			want:  []string{"warning: Nothing is evicted: paused by it."}, fix: "kubectl -n evenkeel delete configmap evenkeel-pause",
		},
		"paused by annotation": {
			mode:  doctor.ModeRun,
			pause: doctor.Pause{Reason: reasons.Paused, Says: "annotated", ByAnnotation: true},
			want:  []string{"warning: Nothing is evicted: annotated. The annotation disappears if the ledger is deleted, and it will be ignored after two more versions."},
			fix:   "create configmap evenkeel-pause\nTo resume: kubectl -n evenkeel annotate configmap evenkeel-ledger evenkeel.io/paused-",
		},
		"unreadable": {
			mode: doctor.ModeRun, pause: doctor.Pause{Reason: reasons.PauseUnreadable, Says: "no"},
			want: []string{"problem: Nothing is evicted: no."}, fix: "permissions",
		},
		"an extender has no use": {mode: doctor.ModeExtender, pause: doctor.Pause{Reason: reasons.Paused}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			names := w.installation.Pause
			tc.pause.Namespace, tc.pause.Name, tc.pause.Ledger, tc.pause.Annotation = names.Namespace, names.Name, names.Ledger, names.Annotation
			w.installation.Mode, w.installation.Pause = tc.mode, tc.pause
			p := w.ask().installation
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckPause)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckPause); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	damaged := errors.New("the stored ledger cannot be read: it has format 7")
	cases := map[string]struct {
		mode   doctor.Mode
		ledger doctor.Ledger
		want   []string
		fix    string
	}{
		"readable": {mode: doctor.ModeServe, ledger: doctor.Ledger{Stored: true}, want: []string{"ok: The ledger stored in namespace evenkeel can be read."}},
		"none here": {
			mode: doctor.ModeServe, ledger: doctor.Ledger{OtherNamespaces: []string{"balance", "evenkeel-2"}},
			want: []string{"warning: Namespace evenkeel has no ledger, but another namespace has a ledger or a kill switch: balance, evenkeel-2. " +
				"The findings on permissions, kill switch and ledger do not apply to an installation there."},
			fix: "evenkeel doctor --namespace balance",
		},
		"none": {mode: doctor.ModeServe, want: []string{"ok: Namespace evenkeel has no ledger: no evictions are recorded there. " +
			"If Evenkeel runs in another namespace, set it with --namespace."}},
		"unreadable": {
			mode: doctor.ModeRun, ledger: doctor.Ledger{Err: damaged, Accept: "kubectl annotate it"},
			want: []string{"problem: the stored ledger cannot be read: it has format 7"}, fix: "kubectl annotate it",
		},
		"accepted": {
			mode: doctor.ModeServe, ledger: doctor.Ledger{Err: damaged, Accept: "kubectl annotate it", Accepted: true},
			want: []string{`warning: The stored ledger is unreadable, and its loss is accepted: the next cycle continues without it.`},
		},
		"not to be had":          {mode: doctor.ModeServe, ledger: doctor.Ledger{Err: errors.New("forbidden")}, want: []string{"problem: The ledger cannot be read from the API server, so nothing is evicted: forbidden"}, fix: "permissions"},
		"an extender has no use": {mode: doctor.ModeExtender, ledger: doctor.Ledger{Err: damaged}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, metricsserver.Name)
			w.installation.Mode, w.installation.Ledger = tc.mode, tc.ledger
			p := w.ask().installation
			if diff := cmp.Diff(tc.want, found(p, doctor.CheckLedger)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(p, doctor.CheckLedger); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}

func TestNodeSync(t *testing.T) {
	cases := map[string]struct {
		types  []string
		change func(w *fixture)
		want   []string
	}{
		"off": {types: []string{metricsserver.Name}},
		"on": {
			types:  []string{metricsserver.Name, annotations.Name},
			change: func(w *fixture) { w.installation.Load.NodeSync.Annotations.Enabled = true },
			want:   []string{"ok: Its enabled parts do not conflict with the usage sources."},
		},
		"its own echo": {
			types:  []string{annotations.Name, metricsserver.Name},
			change: func(w *fixture) { w.installation.Load.NodeSync.Annotations.Enabled = true },
			want:   []string{"problem annotations: The first usage source reads the annotations that nodesync writes, so Evenkeel would read back its own values."},
		},
		"written one way and read another": {
			types: []string{metricsserver.Name, annotations.Name},
			change: func(w *fixture) {
				w.installation.Load.NodeSync.Annotations.Enabled = true
				w.installation.Sources[1].Config.(*annotations.Config).Unit, w.installation.Sources[1].Config.(*annotations.Config).Timezone = source.Percent, "Asia/Shanghai"
			},
			want: []string{
				`problem annotations: They are written with unit "fraction" but read with "percent".`,
				`problem annotations: They are written with timezone "UTC" but read with "Asia/Shanghai".`,
			},
		},
		"fenced": {
			types: []string{metricsserver.Name},
			change: func(w *fixture) {
				w.installation.Load.NodeSync.Taint.Enabled, w.installation.Fence = true, doctor.FenceClosed
			},
			want: []string{
				"ok: Its enabled parts do not conflict with the usage sources.",
				"ok fence: The API server lets it change only its own annotations, label and taints on nodes.",
			},
		},
		"not fenced": {
			types: []string{metricsserver.Name},
			change: func(w *fixture) {
				w.installation.Load.NodeSync.Taint.Enabled, w.installation.Fence = true, doctor.FenceOpen
			},
			want: []string{
				"warning fence: Anyone with its token can change everything on every node: cordon, taint and relabel it.",
				"ok: Its enabled parts do not conflict with the usage sources.",
			},
		},
		"fenced too narrowly": {
			types: []string{metricsserver.Name},
			change: func(w *fixture) {
				sync := &w.installation.Load.NodeSync
				sync.Label.Enabled, sync.Taint.Enabled, sync.RejectTaint.Enabled = true, true, true
				w.installation.Fence = doctor.FenceNarrow
			},
			want: []string{
				"problem fence: The API server rejects what the policy makes nodesync write to nodes: status, evenkeel.io/hot, evenkeel.io/above-reject.",
				"ok: Its enabled parts do not conflict with the usage sources.",
			},
		},
		"a label that was left": {
			types:  []string{metricsserver.Name},
			change: func(w *fixture) { w.nodes.Nodes[1].Node.Labels["status"] = "presure" },
			want:   []string{"warning label: 1 node carries status=presure although nodesync.label is disabled: n1."},
		},
		"a label that belongs there": {
			types: []string{metricsserver.Name},
			change: func(w *fixture) {
				w.installation.Load.NodeSync.Label.Enabled = true
				w.nodes.Nodes[1].Node.Labels["status"] = "presure"
			},
			want: []string{"ok: Its enabled parts do not conflict with the usage sources."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.types...)
			if tc.change != nil {
				tc.change(w)
			}
			if diff := cmp.Diff(tc.want, found(w.ask().installation, doctor.CheckNodeSync)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
