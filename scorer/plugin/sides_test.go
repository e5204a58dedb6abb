package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

// handle is a profile of kube-scheduler before anything runs.
type handle struct{ fwk.Handle }

func (handle) KubeConfig() *rest.Config                               { return &rest.Config{Host: "http://api"} }
func (handle) SharedInformerFactory() informers.SharedInformerFactory { return nil }

// made records which sides are requested, and returns sides that run until they are stopped.
type made struct {
	configs []SideConfig
	err     error
}

type running struct{ half }

func (r *running) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (m *made) side(_ context.Context, config SideConfig) (Side, error) {
	m.configs = append(m.configs, config)
	return &running{}, m.err
}

func (m *made) names() (names []string) {
	for _, config := range m.configs {
		names = append(names, config.Name)
	}
	return names
}

// legacy reads args as the program does.
func legacy(name string, args map[string]any) (Policy, error) {
	asked, err := process.ReadPlugin(name, args)
	return Policy(asked), err
}

func plugin(ctx context.Context, t *testing.T, sides *Sides, name, args string) *Plugin {
	t.Helper()
	p, err := sides.New(ctx, name, &runtime.Unknown{Raw: []byte(args)}, handle{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name() != name {
		t.Errorf("the plugin is called %q, want %q", p.Name(), name)
	}
	return p
}

// Plugins with the same policy share one Side, whatever their profiles. Plugins with different
// policies do not.
func TestPluginsOfOnePolicyShare(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "mine")
	var m made
	sides := NewSides(m.side, legacy)
	ctx, cancel := context.WithCancel(t.Context())
	first := plugin(ctx, t, sides, EvenkeelLoad, `{"policyConfigFile": "/p"}`)
	if again := plugin(ctx, t, sides, EvenkeelLoad, `{"policyConfigFile": "/p", "namespace": "mine"}`); again.side != first.side {
		t.Error("two profiles with one policy observe twice")
	}
	plugin(ctx, t, sides, EvenkeelLoad, `{"policyConfigFile": "/p", "namespace": "yours"}`)
	dynamic := plugin(ctx, t, sides, "Dynamic", ``)
	if named := plugin(ctx, t, sides, "Dynamic", `{"kind": "DynamicArgs", "policyConfigPath": "/etc/kubernetes/dynamic-scheduler-policy.yaml"}`); named.side != dynamic.side {
		t.Error("the default path is another policy than the same path")
	}
	memory := plugin(ctx, t, sides, "MemRealUsage", `{"prometheusApiAddr": "http://p:9090"}`)
	if named := plugin(ctx, t, sides, "MemRealUsage", `{"prometheusApiAddr": "http://p:9090", "queryMetricTimeSeconds": 10, "queryMetricIntervalSeconds": 10}`); named.side != memory.side {
		t.Error("the defaults are another policy than the same seconds")
	}
	plugin(ctx, t, sides, "CpuRealUsage", `{"prometheusApiAddr": "http://p:9090"}`)
	want := []string{"EvenkeelLoad", "EvenkeelLoad-2", "Dynamic-3", "MemRealUsage-4", "CpuRealUsage-5"}
	if diff := cmp.Diff(want, m.names()); diff != "" {
		t.Errorf("observing halves (-want +got):\n%s", diff)
	}
	for _, config := range m.configs {
		if config.REST.Host != "http://api" || config.Follow != strings.HasPrefix(config.Name, EvenkeelLoad) {
			t.Errorf("side %q: REST %q, follows %v", config.Name, config.REST.Host, config.Follow)
		}
	}
	cancel()
	sides.Wait()
}

// An invalid policy keeps kube-scheduler from starting, with an error that names the plugin.
func TestInvalidPolicyIsReported(t *testing.T) {
	m := made{err: errors.New("policy.yaml: lines: too low")}
	sides := NewSides(m.side, legacy)
	_, err := sides.New(t.Context(), EvenkeelLoad, nil, handle{})
	if want := `plugin "EvenkeelLoad": policy.yaml: lines: too low`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	_, err = sides.New(t.Context(), "MemRealUsage", nil, handle{})
	if want := `plugin "MemRealUsage": args: prometheusApiAddr: Required value`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	sides.Wait()
}

// The args of each of the two plugins become a policy that queries only their recorded series, by
// the label node.
func TestRealUsageArgs(t *testing.T) {
	var m made
	sides := NewSides(m.side, legacy)
	ctx, cancel := context.WithCancel(t.Context())
	defer sides.Wait()
	defer cancel()
	plugin(ctx, t, sides, "MemRealUsage", `{"prometheusApiAddr": "http://p:9090", "queryMetricTimeSeconds": 7, "queryMetricIntervalSeconds": 1}`)
	load := &m.configs[0].Given.Load
	source := load.Usage.Sources[0].Config.(*prometheus.Config)
	if source.Address != "http://p:9090" || source.NodeLabel != "node" {
		t.Errorf("source %+v", source)
	}
	for window, expression := range source.Queries.Nodes[usage.Memory].Windows {
		if window != usage.Avg5m || expression != "node_mem_usage_avg_5m" {
			t.Errorf("window %v is %q", window, expression)
		}
	}
	if load.Usage.Timeout.Seconds() != 7 || load.Usage.SampleInterval.Seconds() != 5 {
		t.Errorf("timeout %v, interval %v", load.Usage.Timeout, load.Usage.SampleInterval)
	}
	if measured := load.Scoring.Measured; measured == nil || measured.Formula != "MinMax" || measured.RejectAll {
		t.Errorf("scoring %+v", load.Scoring.Measured)
	}
}

// The configuration that the plugin's users have works unchanged.
func TestTheirConfigurationIsTaken(t *testing.T) {
	text := testkit.EarlierSystem(t, "mem-real-usage-scheduler.md")
	var config struct {
		Profiles []struct {
			PluginConfig []struct {
				Name string         `json:"name"`
				Args map[string]any `json:"args"`
			} `json:"pluginConfig"`
		} `json:"profiles"`
	}
	if err := yaml.Unmarshal([]byte(testkit.YAMLBlocks(text)[0]), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Profiles) != 1 || len(config.Profiles[0].PluginConfig) != 1 {
		t.Fatalf("configuration %+v", config)
	}
	given := config.Profiles[0].PluginConfig[0]
	args, err := yaml.Marshal(given.Args)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(process.PluginNames(), given.Name) {
		t.Errorf("no plugin is registered as %q", given.Name)
	}
	asked, err := NewSides(nil, legacy).read(given.Name, &runtime.Unknown{Raw: args})
	if err != nil {
		t.Fatal(err)
	}
	if got := asked.Given.Load.Usage.Sources[0].Config.(*prometheus.Config).Address; got != "http://10.96.0.102:9090" {
		t.Errorf("Prometheus is at %q", got)
	}
}
