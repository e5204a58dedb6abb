package throughput

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

func TestChoose(t *testing.T) {
	chosen, err := Choose([]string{"plugin", "none"})
	if err != nil {
		t.Fatal(err)
	}
	if len(chosen) != 2 || chosen[0].Name != "none" || chosen[1].Name != "plugin" {
		t.Errorf("chosen %v", chosen)
	}
	if all, err := Choose(nil); err != nil || len(all) != len(Variants()) {
		t.Errorf("with no names %v, %v", all, err)
	}
	if _, err := Choose([]string{"none", "nonesuch"}); err == nil || !strings.Contains(err.Error(), `"nonesuch"`) {
		t.Errorf("error %v", err)
	}
}

// Each comparison is between existing variants. A comparison with a variant that is not run would
// never be shown.
func TestComparisonsNameVariants(t *testing.T) {
	for _, c := range Comparisons() {
		if _, err := Choose([]string{c.Of, c.Beside}); err != nil {
			t.Error(err)
		}
	}
}

func TestSchedulerConfig(t *testing.T) {
	type told struct {
		Extenders        int
		Filter, Managed  bool
		NodeCacheCapable bool
		Secure           bool
		Plugin           bool
		// SideBySide reports whether the variant needs no Lease and places only pods that name its
		// scheduler.
		SideBySide bool
		Verbs      int
	}
	tests := map[string]told{
		"none":                {},
		"managed":             {Extenders: 1, Filter: true, Managed: true, NodeCacheCapable: true},
		"neutral":             {Extenders: 1, Filter: true, NodeCacheCapable: true, Verbs: 2},
		"evenkeel":            {Extenders: 1, Filter: true, NodeCacheCapable: true, Verbs: 2},
		"echo":                {Extenders: 1, Filter: true, NodeCacheCapable: true, Verbs: 2},
		"neutral-prioritize":  {Extenders: 1, NodeCacheCapable: true, Verbs: 1},
		"evenkeel-prioritize": {Extenders: 1, NodeCacheCapable: true, Verbs: 1},
		"echo-prioritize":     {Extenders: 1, NodeCacheCapable: true, Verbs: 1},
		"plain":               {Extenders: 1, Filter: true, NodeCacheCapable: true, Verbs: 2, SideBySide: true},
		"tls":                 {Extenders: 1, Filter: true, NodeCacheCapable: true, Secure: true, Verbs: 2, SideBySide: true},
		"alone":               {SideBySide: true},
		"admission":           {SideBySide: true},
		"stock":               {SideBySide: true},
		"plugin":              {SideBySide: true, Plugin: true},
	}
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			want, known := tests[v.Name]
			if !known {
				t.Fatal("no case for this variant")
			}
			content, err := SchedulerConfig{Variant: v, Kubeconfig: "/k", HandlerURL: "http://h", Files: "/pki", PolicyFile: "/p", Namespace: "ns"}.YAML()
			if err != nil {
				t.Fatal(err)
			}
			var config schedulerv1.KubeSchedulerConfiguration
			if err := yaml.UnmarshalStrict(content, &config); err != nil {
				t.Fatal(err)
			}
			got := told{Extenders: len(config.Extenders), Verbs: v.Verbs()}
			for _, e := range config.Extenders {
				got.Filter, got.Managed, got.NodeCacheCapable = e.FilterVerb != "", len(e.ManagedResources) > 0, e.NodeCacheCapable
				got.Secure = e.EnableHTTPS && e.TLSConfig != nil && e.TLSConfig.CAFile == "/pki/ca.crt" && e.TLSConfig.CertFile == "/pki/client.crt"
				if e.URLPrefix != "http://h" || e.PrioritizeVerb == "" {
					t.Errorf("extender %+v", e)
				}
			}
			got.Plugin = config.Profiles[0].Plugins != nil
			got.SideBySide = !*config.LeaderElection.LeaderElect && *config.Profiles[0].SchedulerName == v.Name
			if !got.SideBySide && (!*config.LeaderElection.LeaderElect || *config.Profiles[0].SchedulerName != v1.DefaultSchedulerName) {
				t.Errorf("leader election %+v, name %q", config.LeaderElection, *config.Profiles[0].SchedulerName)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if config.PercentageOfNodesToScore != nil || config.Profiles[0].PercentageOfNodesToScore != nil {
				t.Error("the share of nodes to score is not kube-scheduler's own")
			}
			if config.ClientConnection.QPS < 1000 {
				t.Errorf("client %+v", config.ClientConnection)
			}
		})
	}
}
