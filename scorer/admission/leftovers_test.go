package admission

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// stored returns a Steering whose keys end at the given times.
func stored(namespace, name string, until ...any) *unstructured.Unstructured {
	targets := map[string]any{}
	for i, u := range until {
		targets[string(rune('a'+i))] = map[string]any{"nodes": []any{"n1"}, "until": u}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "Steering", "metadata": map[string]any{"name": name, "namespace": namespace}, "targets": targets,
	}}
}

// Evenkeel's Steerings are found with the times of their keys, and are deleted whether or not this
// process leads. Other Steerings stay.
func TestLeftoverSteerings(t *testing.T) {
	w := newWorld(stored("shop", objectName, "2026-11-04T02:00:10Z", "2026-11-04T02:00:00Z", int64(7)), stored("vault", objectName), stored("shop", "theirs", "x"))
	l := NewLeftovers(fake.NewClientset(), w.server)
	found, err := l.Steerings(t.Context())
	want := []Stored{{"shop", []time.Time{{}, start, start.Add(10 * time.Second)}}, {"vault", []time.Time{}}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s, %v", diff, err)
	}
	for range 2 { // the second time, there is nothing to delete
		if err := l.Delete(t.Context(), "shop"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"shop": "", "shop/a": "n1", "vault": ""}, w.targets(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If the kind is not installed, nothing is left. A failure to list is an error.
func TestLeftoversOfACluster(t *testing.T) {
	for name, tc := range map[string]struct{ err, want error }{
		"no such kind": {err: apierrors.NewNotFound(resource.GroupResource(), "")},
		"no right":     {err: apierrors.NewForbidden(resource.GroupResource(), "", nil), want: apierrors.NewForbidden(resource.GroupResource(), "", nil)},
	} {
		w := newWorld()
		w.server.PrependReactor("list", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		found, err := NewLeftovers(fake.NewClientset(), w.server).Steerings(t.Context())
		if len(found) > 0 || (err == nil) != (tc.want == nil) || apierrors.IsForbidden(err) != apierrors.IsForbidden(tc.want) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// Held returns the pods with Evenkeel's gate that are not being deleted.
func TestLeftoverPods(t *testing.T) {
	leaving := podOf("leaving", gate)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: start}, []string{"x/y"}
	client := fake.NewClientset(podOf("held", gate), podOf("both", "acme.io/wait", gate), podOf("theirs", "acme.io/wait"), podOf("free"), leaving)
	pods, err := NewLeftovers(client, newWorld().server).Held(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	if diff := cmp.Diff([]string{"both", "held"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod's gate is removed whatever else changes its gates in the meantime. Gates of other pods
// stay.
func TestLetGo(t *testing.T) {
	invalid := apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "a", nil)
	another := podOf("a", gate)
	another.UID = "another"
	for name, tc := range map[string]struct {
		now     *v1.Pod // nil if the pod is gone
		refused int     // number of rejected patches
		with    error
		want    string // the last patch
		err     string
	}{
		"as it was seen":               {now: podOf("a", gate), want: "a: remove /spec/schedulingGates/0"},
		"another gate was removed":     {now: podOf("a", gate), refused: 1, with: invalid, want: "a: remove /spec/schedulingGates/0"},
		"it no longer has the gate":    {now: podOf("a"), refused: 1, with: invalid, want: "a:  failed"},
		"another pod has its name":     {now: another, refused: 1, with: invalid, want: "a:  failed"},
		"it is gone":                   {refused: 1, with: apierrors.NewNotFound(v1.Resource("pods"), "a"), want: "a:  failed"},
		"the patch is always rejected": {now: podOf("a", gate), refused: 9, with: invalid, want: "a:  failed", err: "removing the gate from"},
		"no right":                     {now: podOf("a", gate), refused: 1, with: apierrors.NewForbidden(v1.Resource("pods"), "a", errors.New("fenced")), want: "a:  failed", err: "fenced"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tc.now != nil {
				objects = append(objects, tc.now)
			}
			p := &patches{fail: func(string, string) error {
				if tc.refused--; tc.refused >= 0 {
					return tc.with
				}
				return nil
			}}
			client := fake.NewClientset(objects...)
			client.PrependReactor("patch", "pods", p.react)
			err := NewLeftovers(client, newWorld().server).LetGo(t.Context(), podOf("a", "acme.io/wait", gate))
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v", err)
			}
			if name == "as it was seen" {
				tc.want = "a: remove /spec/schedulingGates/1"
			}
			if got := p.made[len(p.made)-1]; got != tc.want || len(p.made) > letGoAttempts {
				t.Errorf("patches %q", p.made)
			}
		})
	}
}
