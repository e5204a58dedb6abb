package scheduler_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat/scheduler"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/policy"
)

// tree reads JSON as package policy does.
func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// today reads a result strictly, as the current kube-scheduler does.
func today(t *testing.T, document policy.Conversion) schedulerv1.KubeSchedulerConfiguration {
	t.Helper()
	text, err := json.Marshal(document.Object)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var config schedulerv1.KubeSchedulerConfiguration
	if err := decoder.Decode(&config); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return config
}

// losses returns the fields that lossy notes refer to.
func losses(document policy.Conversion) []string {
	var lost []string
	for _, note := range document.Notes {
		if note.Lossy {
			lost = append(lost, strings.Fields(note.Text)[0])
		}
	}
	return lost
}

var typeMeta = metav1.TypeMeta{APIVersion: "kubescheduler.config.k8s.io/v1", Kind: "KubeSchedulerConfiguration"}

func TestConvert(t *testing.T) {
	cases := map[string]struct {
		policy string
		want   schedulerv1.KubeSchedulerConfiguration
		lost   []string
	}{
		"an extender by names": {
			policy: `{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://127.0.0.1:8888/", "filterVerb": "filter",
				"prioritizeVerb": "prioritize", "weight": 1, "enableHttps": false, "nodeCacheCapable": true, "ignorable": true}]}`,
			want: schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta, Extenders: []schedulerv1.Extender{{
				URLPrefix: "http://127.0.0.1:8888/", FilterVerb: "filter", PrioritizeVerb: "prioritize", Weight: 1,
				NodeCacheCapable: true, Ignorable: true,
			}}},
		},
		"every field of an extender": {
			policy: `{"kind": "Policy", "apiVersion": "v1", "metadata": {"name": "x"}, "extenders": [{"urlPrefix": "https://gpu", "filterVerb": "f",
				"preemptVerb": "p", "prioritizeVerb": "s", "weight": 5, "bindVerb": "b", "enableHttps": true,
				"tlsConfig": {"insecure": true, "serverName": "n", "certFile": "c", "keyFile": "k", "caFile": "a", "certData": "Yw==", "keyData": "aw==", "caData": "YQ=="},
				"httpTimeout": 1500000000, "nodeCacheCapable": true, "ignorable": true,
				"managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": true}, {"name": "example.com/fpga"}]}]}`,
			want: schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta, Extenders: []schedulerv1.Extender{{
				URLPrefix: "https://gpu", FilterVerb: "f", PreemptVerb: "p", PrioritizeVerb: "s", Weight: 5, BindVerb: "b", EnableHTTPS: true,
				TLSConfig: &schedulerv1.ExtenderTLSConfig{
					Insecure: true, ServerName: "n", CertFile: "c", KeyFile: "k", CAFile: "a",
					CertData: []byte("c"), KeyData: []byte("k"), CAData: []byte("a"),
				},
				HTTPTimeout: metav1.Duration{Duration: 1500 * time.Millisecond}, NodeCacheCapable: true, Ignorable: true,
				ManagedResources: []schedulerv1.ExtenderManagedResource{{Name: "example.com/gpu", IgnoredByScheduler: true}, {Name: "example.com/fpga"}},
			}}},
		},
		"fields of extenders in any case, as they were read": {
			policy: `{"kind": "Policy", "apiVersion": "v1", "extenders": [{"URLPrefix": "http://x", "BindVerb": "bind", "enableHTTPS": true,
				"tlsconfig": {"CAFile": "a"}, "managedResources": [{"Name": "example.com/gpu"}]}]}`,
			want: schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta, Extenders: []schedulerv1.Extender{{
				URLPrefix: "http://x", BindVerb: "bind", EnableHTTPS: true, TLSConfig: &schedulerv1.ExtenderTLSConfig{CAFile: "a"},
				ManagedResources: []schedulerv1.ExtenderManagedResource{{Name: "example.com/gpu"}},
			}}},
		},
		"fields other than extenders": {
			policy: `{"kind": "Policy", "apiVersion": "v1", "hardPodAffinitySymmetricWeight": 10, "alwaysCheckAllPredicates": true,
				"predicates": [{"name": "PodFitsResources"}, {"name": "Zone", "argument": {"serviceAffinity": {"labels": ["zone"]}}}],
				"priorities": [{"name": "LeastRequestedPriority", "weight": 2}]}`,
			want: schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta, Profiles: []schedulerv1.KubeSchedulerProfile{{
				SchedulerName: new("default-scheduler"),
				PluginConfig: []schedulerv1.PluginConfig{{
					Name: "InterPodAffinity", Args: runtime.RawExtension{Raw: []byte(`{"hardPodAffinityWeight":10}`)},
				}},
			}}},
			lost: []string{"predicates", "priorities", "alwaysCheckAllPredicates"},
		},
		"an empty list of predicates was not the default": {
			policy: `{"kind": "Policy", "apiVersion": "v1", "predicates": []}`,
			want:   schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta}, lost: []string{"predicates"},
		},
		"nothing": {
			policy: `{"kind": "Policy", "apiVersion": "v1"}`, want: schedulerv1.KubeSchedulerConfiguration{TypeMeta: typeMeta},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := tree(t, tc.policy)
			if !scheduler.Is(object) {
				t.Error("not recognized as a Policy")
			}
			got, errs := scheduler.Convert(object)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if diff := cmp.Diff(tc.want, today(t, got)); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.lost, losses(got)); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tree(t, tc.policy), object); diff != "" {
				t.Errorf("the document was changed:\n%s", diff)
			}
		})
	}
}

// The fields that notes name exist.
func TestNotesNameFields(t *testing.T) {
	got, errs := scheduler.Convert(tree(t, `{"kind": "Policy", "apiVersion": "v1", "hardPodAffinitySymmetricWeight": 1,
		"extenders": [{"urlPrefix": "x"}, {"urlPrefix": "y", "prioritizeVerb": "p", "weight": 1, "enableHttps": true, "httpTimeout": 1000000}]}`))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	var fields []string
	for _, note := range got.Notes {
		fields = append(fields, note.Field)
	}
	want := []string{
		"", "", "profiles[0].pluginConfig[0].args.hardPodAffinityWeight", "extenders[0]", "extenders[0]",
		"extenders[1].enableHTTPS", "extenders[1].httpTimeout", "extenders[1].weight", "extenders[1]",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// The Policy in the memory extender's readme becomes an entry that leads to the same requests.
func TestConvertTheReadmesPolicy(t *testing.T) {
	text := string(testkit.EarlierSystem(t, "kube-scheduler-extender.md"))
	for block := range strings.SplitSeq(text, "```") {
		if !strings.Contains(block, "policy.cfg") || !strings.Contains(block, "kind: ConfigMap") {
			continue
		}
		var holder struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(block), &holder); err != nil {
			t.Fatal(err)
		}
		got, errs := scheduler.Convert(tree(t, holder.Data["policy.cfg"]))
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		want := []schedulerv1.Extender{{
			URLPrefix: "http://127.0.0.1:8888/", FilterVerb: "filter", PrioritizeVerb: "prioritize", Weight: 1, NodeCacheCapable: true, Ignorable: true,
		}}
		if diff := cmp.Diff(want, today(t, got).Extenders); diff != "" {
			t.Errorf("extenders (-want +got):\n%s", diff)
		}
		return
	}
	t.Error("the readme has no ConfigMap with a policy")
}
