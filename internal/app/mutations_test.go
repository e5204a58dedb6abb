package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/lint"
)

// released is a policy that a release of descheduler shipped or documented.
type released struct {
	Releases string         `json:"releases"`
	Refused  string         `json:"refused"`
	V1alpha1 map[string]any `json:"v1alpha1"`
	V1alpha2 map[string]any `json:"v1alpha2"`
}

func releasedPolicies(t testing.TB) []released {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "policyfile", "testdata", "released.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []released
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// document returns the policy as the tree of a YAML document.
func (r *released) document() map[string]any {
	tree, version := maps.Clone(r.V1alpha1), "v1alpha1"
	if tree == nil {
		tree, version = maps.Clone(r.V1alpha2), "v1alpha2"
	}
	tree["apiVersion"], tree["kind"] = "descheduler/"+version, "DeschedulerPolicy"
	return tree
}

func (r *released) name(i int) string { return fmt.Sprintf("%d of %s", i, r.Releases) }

// use applies policies to a running, evicting process in a cluster of two nodes with an old pod each.
type use struct {
	*reloading
	ctx context.Context //nolint:containedctx // of a test
}

func newUse(t testing.TB) use {
	// The process keeps the transition times of conditions only if its first policy uses them.
	first := strings.Replace(byUsage, "pluginConfig: [",
		"pluginConfig: [{name: PodLifeTime, args: {conditions: [{status: x, minTimeSinceLastTransitionSeconds: 1}]}}, ", 1)
	u := use{newReloading(t, first), klog.NewContext(t.Context(), logr.Discard())}
	u.process.options.Converters = []policy.Converter{compat.Convert}
	gold := &scheduling.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 1000}
	_, err := u.client.SchedulingV1().PriorityClasses().Create(u.ctx, gold, metav1.CreateOptions{})
	u.must(err)
	u.must(u.client.Tracker().Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-1"}}))
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
	for _, name := range []string{"a", "b"} {
		_, err := u.client.CoreV1().Nodes().Create(u.ctx, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "a"}},
			Status:     v1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}, metav1.CreateOptions{})
		u.must(err)
		old := metav1.NewTime(time.Now().Add(-100 * 24 * time.Hour))
		_, err = u.client.CoreV1().Pods("team-1").Create(u.ctx, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name), CreationTimestamp: old,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
			},
			Spec:   v1.PodSpec{NodeName: name, Containers: []v1.Container{{Name: "web", Image: "web"}}},
			Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &old, ContainerStatuses: []v1.ContainerStatus{{RestartCount: 1000}}},
		}, metav1.CreateOptions{})
		u.must(err)
	}
	nodes, pods := u.evicting.informers.Core().V1().Nodes().Lister(), u.evicting.informers.Core().V1().Pods().Lister()
	u.must(wait.PollUntilContextTimeout(u.ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		n, err := nodes.List(labels.Everything())
		p, other := pods.List(labels.Everything())
		return len(n) == 2 && len(p) == 2, errors.Join(err, other)
	}))
	return u
}

// used is the result of applying a policy.
type used struct {
	Load     policy.LoadPolicy
	Profiles *api.DeschedulerPolicy
	Findings []lint.Finding
	Does     []string
}

// of applies a policy, or returns why it is rejected.
func (u use) of(content []byte) (_ *used, err error) {
	if u.prepared, err = u.prepare(u.ctx, content); err != nil {
		return nil, err
	}
	if err := u.evicting.startInformers(u.ctx); err != nil {
		return nil, err
	}
	if err := u.swap(); err != nil {
		return nil, err
	}
	g := u.process.current()
	findings, does := lint.Examine(lint.Subject{File: g.file, Profiles: g.profiles, Now: time.Unix(0, 0)})
	return &used{Load: *g.load, Profiles: g.profiles, Findings: findings, Does: does}, nil
}

// Every policy that descheduler released loads, or is rejected for a reason that also applies in
// descheduler.
func TestReleasedPoliciesOfDescheduler(t *testing.T) {
	u := newUse(t)
	for i, r := range releasedPolicies(t) {
		t.Run(r.name(i), func(t *testing.T) {
			text, err := yaml.Marshal(r.document())
			if err != nil {
				t.Fatal(err)
			}
			_, err = u.of(text)
			switch {
			case r.Refused == "" && err != nil:
				t.Errorf("refused: %v\n%s", err, text)
			case r.Refused != "" && (err == nil || !strings.Contains(err.Error(), r.Refused) || !policy.IsInvalid(err)):
				t.Errorf("error %v, want %q\n%s", err, r.Refused, text)
			case r.Refused != "" && r.V1alpha2 != nil && u.upstream(t, text) == nil:
				t.Errorf("descheduler accepts it\n%s", text)
			}
		})
	}
}

// upstream returns why descheduler itself rejects a policy.
func (u use) upstream(t *testing.T, text []byte) error {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	u.tried++
	g := &generation{load: u.first.load, number: u.tried, evictor: u.first.evictor}
	profiles, err := descheduler.LoadPolicyConfig(path, u.client, pluginregistry.PluginRegistry)
	if err != nil {
		return err
	}
	g.profiles = profiles
	_, err = u.evicting.newRunner(t.Context(), g)
	return err
}

// values are the values that each field gets in turn.
var values = []any{nil, []any{}, map[string]any{}, "", []any{nil}, json.Number("-1"), true}

// realPolicies are the documents of the shipped policy, the examples, and the policies that descheduler released.
func realPolicies(t testing.TB) map[string][]any {
	t.Helper()
	all := map[string][]any{}
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	earlier, other := filepath.Glob(filepath.Join(root, "examples", "migration", "*.yaml"))
	if err := errors.Join(err, other); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat([]string{filepath.Join(root, "policy.yaml")}, files, earlier) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := policy.ReadParts(path, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if part.Object != nil {
				all[path] = append(all[path], any(part.Object))
			}
		}
	}
	for i, r := range releasedPolicies(t) {
		all[r.name(i)] = []any{r.document()}
	}
	return all
}

// fieldPath is the path of a field, which consists of field names and list indexes.
type fieldPath []any

// fieldsOf returns the paths of all fields of a tree.
func fieldsOf(tree any, at fieldPath) (all []fieldPath) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			path := append(slices.Clone(at), name)
			all = append(append(all, path), fieldsOf(tree[name], path)...)
		}
	case []any:
		for i, element := range tree {
			all = append(all, fieldsOf(element, append(slices.Clone(at), i))...)
		}
	}
	return all
}

// absent is the value of a field that is removed.
type absent struct{}

// with returns the documents as a file in which one field has the given value.
func with(documents []any, path fieldPath, value any) []byte {
	tree := runtime.DeepCopyJSONValue(documents)
	at := tree
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	mapping, name := at.(map[string]any), path[len(path)-1].(string)
	if mapping[name] = value; value == (absent{}) {
		delete(mapping, name)
	}
	var file []byte
	for _, document := range tree.([]any) {
		text, err := json.Marshal(document)
		if err != nil {
			panic(err)
		}
		file = fmt.Appendf(file, "---\n%s\n", text)
	}
	return file
}

// kindOf identifies a field, regardless of its document and its position in a list. Fields of
// plugins' arguments are identified by plugin.
func kindOf(documents []any, path fieldPath) string {
	var kind strings.Builder
	var at any = documents
	for _, step := range path {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
			kind.WriteString("." + step)
		case int:
			at = at.([]any)[step]
			mapping, _ := at.(map[string]any)
			fmt.Fprintf(&kind, "[%v %v]", mapping["kind"], mapping["name"])
		}
	}
	return kind.String()
}

// message returns an error's text without positions in the file.
func message(err error) string {
	if err == nil {
		return ""
	}
	return placeInFile.ReplaceAllString(err.Error(), "")
}

var placeInFile = regexp.MustCompile(`line \d+(, column \d+)?: `)

// check checks that content never causes a panic. It is either rejected as invalid, or takes
// effect, and then its plugins run.
func (u use) check(t *testing.T, content []byte) (*used, error) {
	t.Helper()
	got, err := u.of(content)
	if err == nil {
		if failed := u.evicting.cycle(u.ctx); failed != nil && strings.Contains(failed.Error(), "panic") {
			t.Errorf("a cycle: %v\n%s", failed, content)
		}
	} else if exit.Code(err) != exit.Misuse {
		t.Errorf("not refused as invalid: %v\n%s", err, content)
	}
	return got, err
}

// sameAs checks that two contents have the same effect.
func (u use) sameAs(t *testing.T, absent, null []byte) {
	t.Helper()
	want, wantErr := u.check(t, absent)
	got, gotErr := u.check(t, null)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || message(wantErr) != message(gotErr) {
		t.Errorf("absent: %v; null: %v (-absent +null):\n%s\n%s", wantErr, gotErr, diff, null)
	}
}

// field checks the documents with a value set for one field. A null field counts as absent, even if it is unknown.
func (u use) field(t *testing.T, documents []any, path fieldPath, value any) {
	t.Helper()
	if value != nil {
		u.check(t, with(documents, path, value))
		return
	}
	u.sameAs(t, with(documents, path, absent{}), with(documents, path, nil))
	unknown := append(slices.Clone(path[:len(path)-1]), "nobodyKnows")
	u.sameAs(t, with(documents, unknown, absent{}), with(documents, unknown, nil))
}

// Whatever a single field contains, a running process either applies the policy or rejects it.
func TestEachFieldOfRealPolicies(t *testing.T) {
	u := newUse(t)
	policies, seen := realPolicies(t), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		for _, path := range fieldsOf(policies[name], nil) {
			kind := kindOf(policies[name], path)
			if seen[kind] {
				continue
			}
			seen[kind] = true
			for _, value := range values {
				u.field(t, policies[name], path, value)
			}
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d kinds of fields", len(seen))
	}
}

// FuzzFieldOfPolicy sets fields to arbitrary values, such as a whole mapping.
func FuzzFieldOfPolicy(f *testing.F) {
	policies := realPolicies(f)
	names := slices.Sorted(maps.Keys(policies))
	for i, text := range []string{"null", "[null]", "-1", `{"name": null}`, `[{"name": "a"}, {}]`, `"0s"`, "1e99"} {
		f.Add(uint(i), uint(7*i), text)
	}
	u := newUse(f)
	f.Fuzz(func(t *testing.T, document, field uint, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		documents := policies[names[document%uint(len(names))]]
		paths := fieldsOf(documents, nil)
		u.field(t, documents, paths[field%uint(len(paths))], value)
	})
}
