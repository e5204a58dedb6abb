package pressure_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
)

// judged describes how one metric of a rule file is judged.
type judged struct {
	Query        string
	Evict        float64
	LowerIsWorse bool
}

func load(t *testing.T, text string) (*policy.File, map[usage.Metric]judged) {
	t.Helper()
	file, err := compat.Load("rule.yaml", []byte(text), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Retired) > 0 {
		t.Errorf("the conversion uses retired settings: %+v", file.Retired)
	}
	if len(file.Converted) != 1 || file.Converted[0].Format != "dynamicScheduler rules" {
		t.Fatalf("converted %v", file.Converted)
	}
	got := map[usage.Metric]judged{}
	for name, lines := range file.Load.Lines {
		got[name] = judged{
			file.Load.Usage.Sources[0].Config.(*prometheus.Config).Queries.Nodes[name].Expr, *lines.Evict, file.Load.Usage.LowerIsWorse(name),
		}
	}
	return file, got
}

func TestRules(t *testing.T) {
	cases := map[string]struct {
		text string
		want map[usage.Metric]judged
	}{
		"one rule": {
			"Rulename: {load: {Promsql: node_load1, Threshold: 70}}",
			map[usage.Metric]judged{"load": {"max by (instance) (\nnode_load1\n)", 70, false}},
		},
		"as in the example, with a job and capitals": {
			"PromJob: {Name: nodes}\nRulename:\n  Node_cpu1: {Promsql: a, Threshold: 70}\n  Node_mem: {Promsql: b, Threshold: 70.5}\n",
			map[usage.Metric]judged{
				"node_cpu1": {"max by (instance) (\na\n)", 70, false}, "node_mem": {"max by (instance) (\nb\n)", 70.5, false},
			},
		},
		"lower is worse": {
			"Rulename: {memory.available_bytes: {Promsql: free, Threshold: 1.5e9, LowerIsWorse: true}}",
			map[usage.Metric]judged{"memory.available_bytes": {"min by (instance) (\nfree\n)", 1.5e9, true}},
		},
		"a query over several lines that ends in a comment": {
			"Rulename:\n  q:\n    Promsql: |\n      a +\n        b # of both\n    Threshold: 0\n",
			map[usage.Metric]judged{"q": {"max by (instance) (\na +\n  b # of both\n)", 0, false}},
		},
		"a threshold below zero": {
			"Rulename: {headroom: {Promsql: h, Threshold: -3}}",
			map[usage.Metric]judged{"headroom": {"max by (instance) (\nh\n)", -3, false}},
		},
		"names that are already taken": {
			"Rulename: {cpu: {Promsql: a, Threshold: 1}, Memory: {Promsql: b, Threshold: 1}}",
			map[usage.Metric]judged{
				"rule-cpu": {"max by (instance) (\na\n)", 1, false}, "rule-memory": {"max by (instance) (\nb\n)", 1, false},
			},
		},
		"names in other scripts, in the order of the names": {
			"Rulename: {节点cpu: {Promsql: a, Threshold: 1}, 内存: {Promsql: b, Threshold: 2}, 磁盘: {Promsql: c, Threshold: 3}}",
			map[usage.Metric]judged{
				"rule-1": {"max by (instance) (\nb\n)", 2, false}, "rule-2": {"max by (instance) (\nc\n)", 3, false},
				"rule-cpu": {"max by (instance) (\na\n)", 1, false},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, got := load(t, tc.text); !cmp.Equal(tc.want, got) {
				t.Errorf("rules (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}

// Only the rules set the label. They do so at once, on all nodes except the control plane, without
// moving a pod and without querying more than they need.
func TestOnlyTheRulesMakeTheLabel(t *testing.T) {
	file, _ := load(t, "Rulename: {a: {Promsql: a, Threshold: 1}, b: {Promsql: b, Threshold: 1}}")
	p := &file.Load
	if p.JudgesResources() || p.Hot.ConsecutiveSamples != 1 || len(p.Hot.Windows) != 1 || p.Hot.Windows[0] != usage.Last {
		t.Errorf("judges resources: %v, hot by %+v", p.JudgesResources(), p.Hot)
	}
	for _, metric := range p.Usage.Metrics {
		if metric.Relieves != policy.RelievesNone {
			t.Errorf("%s relieves %q", metric.Name, metric.Relieves)
		}
	}
	want := policy.Default(kinds.All).NodeSync.Label
	want.Enabled = true
	if diff := cmp.Diff(want, p.NodeSync.Label); diff != "" || want.Key+"="+want.Value != "status=presure" {
		t.Errorf("label (-want +got):\n%s", diff)
	}
	var keys []string
	for _, e := range p.NodeSync.NodeSelector.MatchExpressions {
		keys = append(keys, string(e.Operator)+" "+e.Key)
	}
	if got := strings.Join(keys, ", "); got != "DoesNotExist node-role.kubernetes.io/control-plane, DoesNotExist node-role.kubernetes.io/master" {
		t.Errorf("nodes %s", got)
	}
	for i := range p.Usage.Sources {
		if s := &p.Usage.Sources[i]; s.Type != prometheus.Name || s.Config.(*prometheus.Config).NodeLabel != "instance" {
			t.Errorf("source %s by the label %q", s.Type, s.Config.(*prometheus.Config).NodeLabel)
		}
	}
}

// There is a note about everything that is renamed or whose meaning changed.
func TestNotes(t *testing.T) {
	file, _ := load(t, "PromJob: {}\nRulename: {A: {Promsql: a, Threshold: 1}, b: {Promsql: b, Threshold: 1}}")
	var told []string
	for _, note := range file.Converted[0].Notes {
		told = append(told, note.Field+": "+note.Text)
		if note.Lossy {
			t.Errorf("%q is lost", note.Text)
		}
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{"PromJob", `"A" is called "a"`, "--prom", "node-role.kubernetes.io/master", "another writer's"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no note about %s:\n%s", want, all)
		}
	}
	if strings.Contains(all, `"b" is called`) {
		t.Errorf("there is a note about an unchanged name:\n%s", all)
	}
}

// Any file is either rejected with a message or accepted. In an accepted file, each rule appears
// exactly once.
func FuzzRules(f *testing.F) {
	for _, text := range []string{
		"Rulename: {a: {Promsql: a, Threshold: 1}}",
		"Rulename: {a: {Promsql: a, Threshold: 1}, A: {Promsql: b, Threshold: 2, LowerIsWorse: true}}",
		"Rulename: []", "Rulename: {a: }", "PromJob: 1\nRulename: {}", "Rulename: {'': {Promsql: x, Threshold: .5}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := compat.Load("rule.yaml", []byte("Rulename:\n"+text), kinds.All)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "rule.yaml: ") {
				t.Errorf("message %q", err)
			}
			return
		}
		for name, lines := range file.Load.Lines {
			if len(file.Converted) == 1 && (lines.Evict == nil || math.IsNaN(*lines.Evict)) {
				t.Errorf("%s has no threshold", name)
			}
		}
	})
}
