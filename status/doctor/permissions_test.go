package doctor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

func process(mode doctor.Mode, types ...string) *doctor.Process {
	load := policy.Default(kinds.All)
	p := &doctor.Process{
		Mode: mode, Load: &load, Namespace: "evenkeel", LeaseName: "evenkeel", ConfigMapName: "evenkeel-ledger", PauseName: "evenkeel-pause",
		LeaderElect: true, MovesByUsage: true, DynamicResources: true,
	}
	for _, kind := range types {
		p.Sources = append(p.Sources, policy.NewSource(kind, kinds.All))
	}
	return p
}

// spell formats needs as "verb resource.group namespace/name".
func spell(needs []doctor.Need) []string {
	var lines []string
	for _, n := range needs {
		line := n.Verb + " " + n.Resource
		if n.Group != "" {
			line += "." + n.Group
		}
		if n.Namespace != "" {
			line += " " + n.Namespace + "/" + n.Name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// An extender needs exactly what its shipped role grants.
func TestNeedsOfTheExtender(t *testing.T) {
	want := []string{
		"list configmaps evenkeel/evenkeel-ledger",
		"list nodes", "list nodes.metrics.k8s.io", "list pods", "list pods.metrics.k8s.io",
		"watch configmaps evenkeel/evenkeel-ledger", "watch nodes", "watch pods",
	}
	got := spell(process(doctor.ModeExtender, metricsserver.Name).Needs())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A separate nodesync needs exactly what its shipped role grants. If the policy judges nothing
// about pods, it needs no access to them.
func TestNeedsOfNodeSync(t *testing.T) {
	alone := []string{"get nodes", "list nodes", "patch nodes", "watch nodes"}
	cases := map[string]struct {
		change func(p *doctor.Process)
		types  []string
		want   []string
	}{
		"judging signals": {
			types: []string{prometheus.Name}, want: alone,
			change: func(p *doctor.Process) { p.NodesOnly = true },
		},
		"judging usage": {
			types: []string{metricsserver.Name},
			want: []string{
				"get nodes", "list nodes", "list nodes.metrics.k8s.io", "list pods", "list pods.metrics.k8s.io", "patch nodes", "watch nodes", "watch pods",
			},
		},
		"several replicas": {
			types: []string{prometheus.Name},
			want: append([]string{
				"create leases.coordination.k8s.io evenkeel/", "get leases.coordination.k8s.io evenkeel/evenkeel-nodesync",
			}, append(alone, "update leases.coordination.k8s.io evenkeel/evenkeel-nodesync")...),
			change: func(p *doctor.Process) { p.NodesOnly, p.LeaderElect, p.LeaseName = true, true, "evenkeel-nodesync" },
		},
		"nothing switched on": {
			types: []string{prometheus.Name}, want: []string{"list nodes", "watch nodes"},
			change: func(p *doctor.Process) { p.NodesOnly, p.Load.NodeSync.Taint.Enabled = true, false },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := process(doctor.ModeNodeSync, tc.types...)
			p.LeaderElect, p.Load.NodeSync.Taint.Enabled = false, true
			if tc.change != nil {
				tc.change(p)
			}
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, spell(p.Needs())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	cases := map[string]struct {
		change       func(p *doctor.Process)
		types        []string
		want, absent []string
	}{
		"the shipped policy": {
			types: []string{metricsserver.Name},
			want: []string{
				"create pods/eviction", "create leases.coordination.k8s.io evenkeel/", "update leases.coordination.k8s.io evenkeel/evenkeel",
				"get configmaps evenkeel/evenkeel-ledger", "update configmaps evenkeel/evenkeel-ledger", "create configmaps evenkeel/", "get configmaps evenkeel/evenkeel-pause", "patch events.events.k8s.io", "watch csinodes.storage.k8s.io",
				"list resourceslices.resource.k8s.io", "list replicasets.apps", "list poddisruptionbudgets.policy",
			},
			absent: []string{"patch nodes", "get nodes/stats", "get priorityclasses.scheduling.k8s.io", "get nodes.metrics.k8s.io", "list jobs.batch"},
		},
		"controllers that the policy names": {
			change: func(p *doctor.Process) {
				p.Controllers = []schema.GroupResource{{Group: "apps.kruise.io", Resource: "clonesets"}}
			}, types: []string{metricsserver.Name},
			want: []string{"list clonesets.apps.kruise.io", "watch clonesets.apps.kruise.io"},
		},
		"pods of Jobs may be moved": {
			change: func(p *doctor.Process) { p.Load.Eviction.EvictJobs = true }, types: []string{metricsserver.Name},
			want: []string{"list jobs.batch", "watch jobs.batch", "list cronjobs.batch", "watch cronjobs.batch"},
		},
		"serve follows the ledger": {
			types: []string{metricsserver.Name}, want: []string{"list configmaps evenkeel/evenkeel-ledger", "watch configmaps evenkeel/evenkeel-ledger"},
		},
		"run reads it once": {
			change: func(p *doctor.Process) { p.Mode = doctor.ModeRun }, types: []string{metricsserver.Name},
			want:   []string{"get configmaps evenkeel/evenkeel-ledger"},
			absent: []string{"list configmaps evenkeel/evenkeel-ledger", "watch configmaps evenkeel/evenkeel-ledger"},
		},
		"kubelets": {
			types:  []string{kubelet.Name},
			want:   []string{"create serviceaccounts/token evenkeel/evenkeel-kubelet-source"},
			absent: []string{"get nodes/stats", "get nodes/metrics", "list nodes.metrics.k8s.io", "get nodes/proxy"},
		},
		"kubelets with a separate token": {
			types:  []string{kubelet.Name},
			change: func(p *doctor.Process) { p.Sources[0].Config.(*kubelet.Config).BearerTokenFile = "/token" },
			absent: []string{"create serviceaccounts/token evenkeel/evenkeel-kubelet-source", "get nodes/stats", "get nodes/metrics"},
		},
		"secrets that a source names": {
			types: []string{prometheus.Name},
			change: func(p *doctor.Process) {
				p.Sources[0].Config.(*prometheus.Config).BasicAuth = source.BasicAuth{Username: "u", PasswordSecret: source.SecretKey{Namespace: "mon", Name: "pw", Key: "k"}}
			},
			want: []string{"get secrets mon/pw"},
		},
		"a token in a Secret": {
			types: []string{prometheus.Name},
			change: func(p *doctor.Process) {
				p.Sources[0].Config.(*prometheus.Config).BearerTokenSecret = source.SecretKey{Namespace: "mon", Name: "token", Key: "k"}
			},
			want: []string{"get secrets mon/token"},
		},
		"none in a file": {
			types:  []string{prometheus.Name},
			change: func(p *doctor.Process) { p.Sources[0].Config.(*prometheus.Config).BearerTokenFile = "/token" },
			absent: []string{"get secrets mon/token"},
		},
		"nodesync": {
			types:  []string{metricsserver.Name},
			change: func(p *doctor.Process) { p.Load.NodeSync.Label.Enabled = true },
			want:   []string{"patch nodes", "get nodes"},
		},
		"without resource claims": {
			types:  []string{metricsserver.Name},
			change: func(p *doctor.Process) { p.DynamicResources = false },
			absent: []string{"list resourceslices.resource.k8s.io"},
		},
		"upstream's plugins alone": {
			types:  []string{metricsserver.Name},
			change: func(p *doctor.Process) { p.MovesByUsage, p.CollectsMetrics, p.PriorityClasses = false, true, true },
			want:   []string{"get nodes.metrics.k8s.io", "get priorityclasses.scheduling.k8s.io"}, absent: []string{"list csinodes.storage.k8s.io"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := process(doctor.ModeServe, tc.types...)
			if tc.change != nil {
				tc.change(p)
			}
			got := spell(p.Needs())
			for _, line := range tc.want {
				if !slices.Contains(got, line) {
					t.Errorf("%q is not needed", line)
				}
			}
			for _, line := range tc.absent {
				if slices.Contains(got, line) {
					t.Errorf("%q is needed", line)
				}
			}
			if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) && name != "upstream's plugins alone" {
				t.Errorf("a need is listed twice: %q", got)
			}
		})
	}
}

func TestPermissions(t *testing.T) {
	cases := map[string]struct {
		types    []string
		change   func(p *doctor.Process)
		denied   []string // parts of denied needs, as text
		identity string
		err      error
		want     []string
		fix      string
	}{
		"all there": {
			types: []string{metricsserver.Name},
			want:  []string{`ok: "system:serviceaccount:evenkeel:evenkeel" has all 51 permissions that serve needs with this policy.`},
		},
		"asked by a person": {
			types: []string{metricsserver.Name}, identity: "admin",
			want: []string{
				`ok: "admin" has all 51 permissions that serve needs with this policy.`,
				`ok: Checked the permissions of user "admin". Evenkeel's ServiceAccount may have fewer: check those with --as system:serviceaccount:evenkeel:evenkeel.`,
			},
		},
		"it may not evict": {
			types: []string{metricsserver.Name}, denied: []string{"create pods/eviction"},
			want: []string{"problem evicting: It may not create pods/eviction."},
			fix:  "Add to the rules of a ClusterRole that is bound to it:\n- apiGroups: [\"\"]\n  resources: [pods/eviction]\n  verbs: [create]",
		},
		"resources with the same verbs are one rule": {
			types: []string{metricsserver.Name}, denied: []string{"csinodes", "csidrivers"},
			want: []string{"problem asking kube-scheduler's filters where a pod fits: It may not list csinodes.storage.k8s.io, watch csinodes.storage.k8s.io, list csidrivers.storage.k8s.io, watch csidrivers.storage.k8s.io."},
			fix:  "- apiGroups: [storage.k8s.io]\n  resources: [csinodes, csidrivers]\n  verbs: [list, watch]",
		},
		"the Lease is in a Role": {
			types: []string{metricsserver.Name}, denied: []string{"leases"},
			want: []string{"problem leading, so that one process evicts at a time: It may not create leases.coordination.k8s.io, get leases.coordination.k8s.io, update leases.coordination.k8s.io."},
			fix: "a Role in the namespace \"evenkeel\" that is bound to it:\n- apiGroups: [coordination.k8s.io]\n  resources: [leases]\n  verbs: [create]\n" +
				"- apiGroups: [coordination.k8s.io]\n  resources: [leases]\n  resourceNames: [evenkeel]\n  verbs: [get, update]",
		},
		"the only source": {
			types: []string{metricsserver.Name}, denied: []string{"list nodes.metrics"},
			want: []string{"problem reading usage from MetricsServer: It may not list nodes.metrics.k8s.io."},
		},
		"one of two sources": {
			types: []string{kubelet.Name, metricsserver.Name}, denied: []string{"list nodes.metrics"},
			want: []string{"warning reading usage from MetricsServer: It may not list nodes.metrics.k8s.io. The other sources are asked instead."},
		},
		"kubelets get no token": {
			types: []string{kubelet.Name}, denied: []string{"serviceaccounts/token"},
			want: []string{"problem reading usage from Kubelet: It may not create serviceaccounts/token evenkeel/evenkeel-kubelet-source."},
			fix: "a Role in the namespace \"evenkeel\" that is bound to it:\n- apiGroups: [\"\"]\n  resources: [serviceaccounts/token]\n" +
				"  resourceNames: [evenkeel-kubelet-source]\n  verbs: [create]",
		},
		"kubelets without a token, next to another source": {
			types: []string{kubelet.Name, metricsserver.Name}, denied: []string{"serviceaccounts/token"},
			want: []string{"warning reading usage from Kubelet: It may not create serviceaccounts/token evenkeel/evenkeel-kubelet-source. The other sources are asked instead."},
		},
		"the API server does not answer": {
			types: []string{metricsserver.Name}, err: errors.New("timeout"),
			want: []string{"problem: The API server could not be asked about list nodes: timeout"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, tc.types...)
			if tc.identity != "" {
				w.installation.Rights.Identity = tc.identity
			}
			p := process(doctor.ModeServe, tc.types...)
			if tc.change != nil {
				tc.change(p)
			}
			for _, need := range p.Needs() {
				spelt := spell([]doctor.Need{need})[0]
				denied := slices.ContainsFunc(tc.denied, func(part string) bool { return strings.Contains(spelt, part) })
				w.installation.Rights.Answers = append(w.installation.Rights.Answers, doctor.Answer{Need: need, Allowed: !denied && tc.err == nil, Err: tc.err})
			}
			got := found(w.ask().installation, doctor.CheckPermissions)
			for i := range got { // the rule already names the namespace of the Lease
				got[i] = strings.NewReplacer(" evenkeel/evenkeel,", ",", " evenkeel/evenkeel.", ".", " in evenkeel", "").Replace(got[i])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := fixesOf(w.installation, doctor.CheckPermissions); !strings.Contains(got, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", got, tc.fix)
			}
		})
	}
}
