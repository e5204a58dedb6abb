package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
)

var (
	update = flag.Bool("update", false, "rewrite testdata")
	noon   = time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
)

var steerings = schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}

type clock struct{}

func (clock) Now() time.Time   { return noon }
func (clock) Local() time.Time { return noon }

// site is a cluster to clean up.
type site struct {
	t       *testing.T
	client  *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	config  Config
	// refused holds, by pod name, the error that keeps a pod's gate.
	refused map[string]error
}

func newSite(t *testing.T, objects ...runtime.Object) *site {
	t.Helper()
	s := &site{t: t, client: fake.NewClientset(objects...), refused: map[string]error{}}
	s.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{steerings: "SteeringList"})
	s.client.PrependReactor("patch", "pods", s.ungate)
	s.client.PrependReactor("create", "pods", s.evict)
	s.config = Config{
		Client: s.client, Dynamic: s.dynamic, Clock: clock{}, Namespace: "evenkeel", Leases: []string{"evenkeel", "evenkeel-nodesync"},
	}
	return s
}

// ungate removes the first gate of a pod, as a patch requests.
func (s *site) ungate(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.(clienttesting.PatchAction).GetName()
	if err := s.refused[name]; err != nil {
		return true, nil, err
	}
	object, err := s.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), action.GetNamespace(), name)
	if err != nil {
		return true, nil, err
	}
	pod := object.(*v1.Pod).DeepCopy()
	pod.Spec.SchedulingGates = pod.Spec.SchedulingGates[1:]
	return true, pod, s.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), pod, pod.Namespace)
}

// evict deletes a pod.
func (s *site) evict(action clienttesting.Action) (bool, runtime.Object, error) {
	eviction, ok := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
	if !ok {
		return false, nil, nil
	}
	if err := s.refused[eviction.Name]; err != nil {
		return true, nil, err
	}
	return true, nil, s.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), eviction.Namespace, eviction.Name)
}

func (s *site) steering(namespace, name string, keys int) {
	s.t.Helper()
	targets := map[string]any{}
	for i := range keys {
		targets[fmt.Sprint("rs-", i)] = map[string]any{"nodes": []any{"n1"}, "until": "2026-11-04T12:00:10Z"}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "Steering", "metadata": map[string]any{"name": name, "namespace": namespace}, "targets": targets,
	}}
	if _, err := s.dynamic.Resource(steerings).Namespace(namespace).Create(s.t.Context(), object, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// scaledUp stores a ledger of an earlier version that has scaled up Deployments.
func (s *site) scaledUp(surges ...ledger.Surge) {
	s.t.Helper()
	moves := ledger.New(ledger.Config{})
	for i := range surges {
		uid := fmt.Sprint("uid-", i)
		moves.Record(noon, ledger.Intent{Namespace: "shop", Pod: "pod", PodUID: uid, From: "hot", To: "cool", TTL: time.Minute})
	}
	document := moves.Export()
	for i := range document.Moves {
		document.Moves[i].Surge = &surges[i]
	}
	if err := s.store().Save(s.t.Context(), document); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) store() *configmap.Store {
	s.t.Helper()
	store, err := configmap.New(configmap.Config{
		Client: s.client, Namespace: "evenkeel", Name: evictor.ConfigMapName, Writer: "a predecessor", Timeout: time.Second, Now: clock{}.Now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

func pod(name string, gates ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}
	for _, gate := range gates {
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: gate})
	}
	return p
}

// restricted returns a pod that waits for the node n9, which does not accept it.
func restricted(name string) *v1.Pod {
	p := pod(name)
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs-web", Controller: new(true)}}
	names.Add(p, []string{"n9"})
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
	p.CreationTimestamp, p.ResourceVersion = metav1.Time{Time: noon.Add(-time.Hour)}, "7"
	return p
}

func marked(name, record string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, ResourceVersion: "1", Labels: map[string]string{"status": "presure", "disk": "ssd"}, Annotations: map[string]string{"evenkeel.io/nodesync": record},
		},
		Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "evenkeel.io/hot", Value: "true", Effect: v1.TaintEffectPreferNoSchedule},
			{Key: "evenkeel.io/above-reject", Value: "true", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "disk", Effect: v1.TaintEffectNoSchedule},
		}},
	}
}

func lease(name string, renewed time.Time) *coordinationv1.Lease {
	holder, lasts := name+"-7d9f", int32(15)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts, RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

func configMap(name string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: name}}
}

const (
	gate   = "evenkeel.io/steer"
	record = `{"labels":{"status":"presure"},"taints":{"evenkeel.io/above-reject":"true","evenkeel.io/hot":"true"}}`
)

// littered returns a cluster in which Evenkeel was killed.
func littered(t *testing.T) *site {
	t.Helper()
	s := newSite(t, pod("web-1", gate), pod("web-2", gate, "acme.io/wait"), pod("web-3", "acme.io/wait"), pod("web-4"),
		marked("n1", record), marked("n2", record), lease("evenkeel", noon.Add(-time.Minute)), configMap("evenkeel-pause"), configMap("evenkeel-ledger-set-aside-2"), configMap("theirs"))
	s.add(restricted("web-5"))
	s.steering("shop", "evenkeel", 2)
	s.steering("evenkeel-probe", "evenkeel", 0)
	s.steering("shop", "theirs", 1)
	s.scaledUp(ledger.Surge{Deployment: "web", Replicas: 1}, ledger.Surge{Deployment: "api", Replicas: 1, Done: true})
	return s
}

// run runs the cleanup in virtual time.
func (s *site) run() (report *Report) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) { report = Run(t.Context(), s.config) })
	return report
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var out layout.Page
	r.Table(&out, nil)
	return out.String()
}

// state describes everything in the cluster.
func (s *site) state() string {
	s.t.Helper()
	var all []any
	for _, list := range []func() (runtime.Object, error){
		func() (runtime.Object, error) {
			return s.client.CoreV1().Pods("").List(s.t.Context(), metav1.ListOptions{})
		},
		func() (runtime.Object, error) {
			return s.client.CoreV1().Nodes().List(s.t.Context(), metav1.ListOptions{})
		},
		func() (runtime.Object, error) {
			return s.client.CoreV1().ConfigMaps("").List(s.t.Context(), metav1.ListOptions{})
		},
		func() (runtime.Object, error) {
			return s.client.CoordinationV1().Leases("").List(s.t.Context(), metav1.ListOptions{})
		},
		func() (runtime.Object, error) {
			return s.dynamic.Resource(steerings).List(s.t.Context(), metav1.ListOptions{})
		},
	} {
		objects, err := list()
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, objects)
	}
	encoded, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(encoded)
}

// Everything of Evenkeel's is removed, the property of others stays, each item is reported in one
// line, and a second run finds nothing.
func TestCleanup(t *testing.T) {
	s, said := littered(t), ""
	before := s.state()
	for _, step := range []struct {
		name    string
		dry, of bool
	}{{"dry run", true, true}, {"run", false, false}, {"again", false, false}, {"with the ledger", false, true}, {"with the ledger again", false, true}} {
		s.config.DryRun, s.config.Ledger = step.dry, step.of
		report := s.run()
		said += "# " + step.name + "\n" + text(t, report)
		if len(report.Left) > 0 {
			t.Errorf("%s: left %+v", step.name, report.Left)
		}
		if step.dry && s.state() != before {
			t.Errorf("the dry run changed something (-before +after):\n%s", cmp.Diff(before, s.state()))
		}
		if step.name == "again" && len(report.Done) > 0 {
			t.Errorf("it did again: %+v", report.Done)
		}
	}
	path := filepath.Join("testdata", "cleanup.txt")
	if *update {
		if err := os.WriteFile(path, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	after := s.state()
	for _, ours := range []string{gate, `"name":"evenkeel"`, "evenkeel-ledger", "evenkeel-pause", "evenkeel.io/hot", "evenkeel.io/above-reject", "evenkeel.io/nodesync", "presure"} {
		if strings.Contains(after, ours) {
			t.Errorf("%s is left", ours)
		}
	}
	for _, theirs := range []string{"acme.io/wait", `"name":"theirs"`, `"disk":"ssd"`} {
		if !strings.Contains(after, theirs) {
			t.Errorf("%s is gone", theirs)
		}
	}
}

// A pod that waits for the nodes to which it was restricted is released, so that its owner creates
// another. Pods restricted by their owner's template, pods that nothing would recreate, and pods
// restricted by others stay.
func TestCleanupReleasesStrandedPods(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1.Pod)
		want   bool // whether the pod is released
	}{
		"restricted":              {func(*v1.Pod) {}, true},
		"it has a node":           {func(p *v1.Pod) { p.Spec.NodeName = "n9" }, false},
		"it was not tried yet":    {func(p *v1.Pod) { p.Status.Conditions = nil }, false},
		"nothing recreates it":    {func(p *v1.Pod) { p.OwnerReferences = nil }, false},
		"as its template has it":  {func(p *v1.Pod) { p.CreationTimestamp = metav1.Time{Time: noon.Add(time.Second)} }, false},
		"annotated by hand":       {func(p *v1.Pod) { p.Spec.Affinity = nil }, false},
		"held, and then released": {func(p *v1.Pod) { p.Annotations[names.Annotation] = names.Gate }, false},
		"restricted by its owner": {func(p *v1.Pod) { delete(p.Annotations, names.Annotation) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := restricted("web-9")
			tc.change(p)
			s := newSite(t, p)
			report := s.run()
			if len(report.Left) > 0 {
				t.Errorf("left %+v", report.Left)
			}
			if gone := !strings.Contains(s.state(), `"web-9"`); gone != tc.want {
				t.Errorf("released: %v, want %v; %s", gone, tc.want, text(t, report))
			}
		})
	}
}

// The cleanup after one mode leaves alone what belongs to a running process of the other mode, and
// that is not a failure.
func TestCleanupAfterOneMode(t *testing.T) {
	const evicts, marks = `"evenkeel-7d9f" holds it, so what belongs to that process stays`, `"evenkeel-nodesync-7d9f" holds it, so what belongs to that process stays`
	cases := map[string]struct {
		after       Mode
		running     string // the Lease that is held
		apart       bool   // a separate nodesync wrote to the nodes
		gone, stays []string
		note        string
	}{
		"nodesync, while serve runs": {
			NodeSync, "evenkeel", true, []string{"evenkeel.io/hot", "presure"}, []string{gate, `"name":"evenkeel"`, "evenkeel-ledger", "evenkeel-pause"}, evicts,
		},
		"nodesync, while serve runs and writes to nodes": {
			NodeSync, "evenkeel", false, nil, []string{gate, "evenkeel.io/hot", "presure", "evenkeel-ledger"}, evicts,
		},
		"nodesync, while serve runs in another namespace and writes to nodes": {
			NodeSync, "", false, nil, []string{gate, "evenkeel.io/hot", "presure", "evenkeel-ledger"}, "",
		},
		"nodesync, of another release": {
			NodeSync, "", true, []string{"evenkeel.io/hot", "presure"}, []string{gate, "evenkeel-ledger", "evenkeel-pause"}, "",
		},
		"serve, while nodesync runs": {
			Evicting, "evenkeel-nodesync", true, []string{gate, "evenkeel-ledger", "evenkeel-pause"}, []string{"evenkeel.io/hot", "presure", `"name":"evenkeel-nodesync"`}, marks,
		},
		"serve, while nodesync runs without a Lease": {
			Evicting, "", true, []string{gate, "evenkeel-ledger", "evenkeel-pause"}, []string{"evenkeel.io/hot", "presure"}, "",
		},
		"serve, which wrote to nodes itself": {
			Evicting, "", false, []string{gate, "evenkeel-ledger", "evenkeel.io/hot", "presure"}, nil, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := littered(t)
			if tc.apart {
				s.writtenApart("n1", "n2")
			}
			if tc.running != "" {
				leases := s.client.CoordinationV1().Leases("evenkeel")
				_ = leases.Delete(t.Context(), tc.running, metav1.DeleteOptions{}) // an old one may or may not exist
				s.add(lease(tc.running, noon))
			}
			s.config.After, s.config.Ledger = tc.after, true
			report := s.run()
			if len(report.Left) > 0 {
				t.Errorf("left %+v", report.Left)
			}
			if said := strings.Join(report.Notes, "; "); !strings.Contains(said, tc.note) {
				t.Errorf("notes %q, want %q", said, tc.note)
			}
			after := s.state()
			for _, text := range tc.gone {
				if strings.Contains(after, text) {
					t.Errorf("%s is left", text)
				}
			}
			for _, text := range tc.stays {
				if !strings.Contains(after, text) {
					t.Errorf("%s is gone", text)
				}
			}
		})
	}
}

// obstacle prevents something from being removed.
type obstacle struct {
	change func(*site)
	want   []string // how the messages about what is left start
	done   int
}

func obstacles() map[string]obstacle {
	forbidden := apierrors.NewForbidden(v1.Resource("pods"), "web", errors.New("no right"))
	return map[string]obstacle{
		"Evenkeel runs": {func(s *site) { s.add(lease("evenkeel", noon.Add(-time.Second))) }, []string{`Lease evenkeel/evenkeel: "evenkeel-7d9f" holds it`}, 3},
		"nodesync runs": {
			func(s *site) { s.add(lease("evenkeel-nodesync", noon)) }, []string{`Lease evenkeel/evenkeel-nodesync: "evenkeel-nodesync-7d9f" holds it`}, 3,
		},
		"a pod may not be patched": {func(s *site) { s.refused["web-1"] = forbidden }, []string{"Pod shop/web-1: removing the gate from"}, 2},
		"no pod may be patched": {
			func(s *site) {
				for i := range 9 {
					name := fmt.Sprint("held-", i)
					s.add(pod(name, gate))
					s.refused[name] = forbidden
				}
			},
			append(slices.Repeat([]string{"Pod shop/held-"}, maxFailures), "Pod: 5 more were not tried"), 2,
		},
		"a record cannot be read": {func(s *site) { s.add(marked("torn", "{")) }, []string{"Nodes: the record of what was written could not be read, so check these by hand: torn"}, 3},
		"keys cannot be listed": {
			func(s *site) {
				s.dynamic.PrependReactor("list", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
			},
			[]string{"Steering: listing Steerings"}, 2,
		},
		"keys are set again": {
			func(s *site) {
				s.dynamic.PrependReactor("delete", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
			},
			[]string{"Steering: new keys or held pods keep appearing"}, 2 + maxPasses,
		},
	}
}

// Objects that cannot be removed are reported with the reason. Stored data stays, because it may
// list what still has to be done.
func TestWhatCannotBeRemoved(t *testing.T) {
	for name, tc := range obstacles() {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, pod("web-1", gate), marked("n1", record))
			s.steering("shop", "evenkeel", 1)
			s.scaledUp()
			s.config.Ledger = true
			tc.change(s)
			report := s.run()
			if len(report.Left) != len(tc.want)+1 {
				t.Fatalf("left %+v, want %q and the ledger", report.Left, tc.want)
			}
			for i, want := range append(tc.want, "ConfigMap evenkeel/evenkeel-ledger: it stays") {
				if got := report.Left[i].subject() + ": " + report.Left[i].Says; !strings.HasPrefix(got, want) {
					t.Errorf("left %q, want %q", got, want)
				}
			}
			if len(report.Done) != tc.done {
				t.Errorf("done %+v, want %d", report.Done, tc.done)
			}
			if strings.Contains(text(t, report), "Nothing is left") {
				t.Error("it claims that nothing is left")
			}
		})
	}
}

func (s *site) add(objects ...runtime.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.client.Tracker().Add(object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Once its time is up, the cleanup makes no more calls.
func TestCleanupEnds(t *testing.T) {
	s := littered(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.client.ClearActions()
	s.dynamic.ClearActions()
	if report := Run(ctx, s.config); len(report.Done)+len(report.Left)+len(s.client.Actions())+len(s.dynamic.Actions()) > 0 {
		t.Errorf("report %+v, calls %v %v", report, s.client.Actions(), s.dynamic.Actions())
	}
}

// writtenApart makes the records on the given nodes look as if a separate nodesync had written
// them.
func (s *site) writtenApart(names ...string) {
	s.t.Helper()
	for _, name := range names {
		node, err := s.client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
		if err == nil {
			node.Annotations[nodesync.ApartRecordKey] = node.Annotations[nodesync.RecordKey]
			delete(node.Annotations, nodesync.RecordKey)
			_, err = s.client.CoreV1().Nodes().Update(s.t.Context(), node, metav1.UpdateOptions{})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
