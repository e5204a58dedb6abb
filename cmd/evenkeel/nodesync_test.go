package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

// marked is the meaning of a nodesync command line.
type marked struct {
	Policy, Kubeconfig, Prometheus, Web string
	Interval                            time.Duration
	LeaderElect                         bool
}

// mark reads a command line as the program does, but does not run it.
func mark(t *testing.T, args ...string) (marked, error) {
	t.Helper()
	if err := logsapi.ResetForTest(nil); err != nil {
		t.Fatal(err)
	}
	root, got := newRoot(), marked{}
	root.RemoveCommand(commandOf(t, root, "nodesync"))
	root.AddCommand(nodeSyncCommand(func(_ context.Context, o flags.Options) error {
		if o.NodeSync.Pages == nil {
			t.Error("nothing would answer at --webaddr")
		}
		got = marked{o.PolicyFile, o.Kubeconfig, o.NodeSync.Prometheus, o.NodeSync.WebAddress, o.NodeSync.Interval, o.LeaderElect}
		return nil
	}))
	root.SetArgs(process.WithGoFlags(append([]string{"nodesync"}, args...)))
	err := root.ExecuteContext(t.Context())
	return got, err
}

func commandOf(t *testing.T, root *cobra.Command, name string) *cobra.Command {
	t.Helper()
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	t.Fatalf("there is no command %q", name)
	return nil
}

func TestNodeSyncFlags(t *testing.T) {
	const url = "http://prometheus:9090"
	all := marked{"my.yaml", "/root/config", url, ":9001", 20 * time.Second, false}
	cases := map[string]struct {
		args string
		want marked
		err  string
	}{
		"with a policy file": {
			args: "--policy-config-file p.yaml --leader-elect", want: marked{Policy: "p.yaml", Web: ":9000", LeaderElect: true},
		},
		"as for dynamicScheduler":              {args: "-kubeconfig /root/config -prom " + url + " -r my.yaml -s 20 -webaddr :9001", want: all},
		"with equal signs":                     {args: "-kubeconfig=/root/config -prom=" + url + " -r=my.yaml -s=20 -webaddr=:9001", want: all},
		"with two dashes, as Go's flags allow": {args: "--kubeconfig /root/config --prom=" + url + " --r my.yaml --s=20 --webaddr :9001", want: all},
		"with the long names":                  {args: "--kubeconfig /root/config --prom " + url + " --rules my.yaml --seconds 20 --webaddr :9001", want: all},
		"the default rule file":                {args: "-prom " + url, want: marked{Policy: "rule.yaml", Prometheus: url, Web: ":9000"}},
		"seconds together with a policy":       {args: "--policy-config-file p.yaml -s 5", want: marked{Policy: "p.yaml", Web: ":9000", Interval: 5 * time.Second}},
		"no flags":                             {err: "--policy-config-file, --rules or --remove is required"},
		"rules and a policy":                   {args: "-r my.yaml --policy-config-file p.yaml", err: "cannot be used together"},
		"too often":                            {args: "-r my.yaml -s 1", err: "--seconds 1: must be from 5 to 300"},
		"never":                                {args: "-r my.yaml -s 0", err: "--seconds 0: must be from 5 to 300"},
		"seconds with a unit":                  {args: "-r my.yaml -s 10s", err: `invalid argument "10s" for "-s, --seconds"`},
		"an unknown flag":                      {args: "-r my.yaml -interval 10", err: "unknown shorthand flag"},
		"no flags after two dashes":            {args: "-r my.yaml -- -prom", err: "takes no arguments"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := mark(t, strings.Fields(tc.args)...)
			switch {
			case tc.err == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || exit.Code(err) != exit.Misuse):
				t.Errorf("error %v with exit code %d, want %q with %d", err, exit.Code(err), tc.err, exit.Misuse)
			case tc.err == "":
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("meant (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The arguments of other commands do not change.
func TestOnlyNodeSyncAcceptsGoFlags(t *testing.T) {
	for _, args := range [][]string{nil, {"run", "-prom", "x"}, {"top", "--s"}} {
		if diff := cmp.Diff(args, process.WithGoFlags(args)); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
	}
}

// nodesync has every flag in the usage text of dynamicScheduler's article, and accepts the value
// given there.
func TestNodeSyncAcceptsTheFlagsOfTheArticle(t *testing.T) {
	_, usage, found := strings.Cut(string(testkit.EarlierSystem(t, "dynamic-scheduler.md")), "Usage of ./dynamicScheduler:\n")
	if !found {
		t.Fatal("the article no longer has a usage text")
	}
	usage, _, _ = strings.Cut(usage, "```")
	var args []string
	values := map[string]string{"string": "text", "int": "10"}
	for line := range strings.Lines(usage) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[0], "-") {
			args = append(args, fields[0], values[fields[1]])
		}
	}
	if len(args) != 2*5 {
		t.Fatalf("arguments %q, want 5 flags with a value each", args)
	}
	got, err := mark(t, args...)
	if want := (marked{"text", "text", "text", "text", 10 * time.Second, false}); err != nil || got != want {
		t.Errorf("%q is %+v, %v, want %+v", args, got, err, want)
	}
}
