package nodesync

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// noon is the current time in these tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var max1h = usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}

// off returns a Policy that publishes nothing, but in which every part only needs to be enabled.
func off() Policy {
	return Policy{
		Annotations: Annotations{
			Windows: []usage.Window{
				usage.Avg5m, {Kind: usage.KindMaxAvg, Over: time.Hour}, {Kind: usage.KindMaxAvg, Over: 24 * time.Hour},
			},
			Unit: annotations.Fraction,
		},
		Label:       Mark{Key: "status", Value: "presure"},
		Taint:       Mark{Key: "evenkeel.io/hot", Value: "true"},
		RejectTaint: Mark{Key: "evenkeel.io/above-reject", Value: "true"},
	}
}

// marking returns the Policy with the label and the taint.
func marking() Policy {
	p := off()
	p.Label.Enabled, p.Taint.Enabled = true, true
	return p
}

// grading returns the Policy with both taints.
func grading() Policy {
	p := off()
	p.Taint.Enabled, p.RejectTaint.Enabled = true, true
	return p
}

// publishing returns the Policy with the annotations.
func publishing(windows ...usage.Window) Policy {
	p := off()
	p.Annotations.Enabled, p.Annotations.Windows = true, windows
	return p
}

// everything returns the Policy with all parts.
func everything() Policy {
	p := marking()
	p.Annotations = publishing(usage.Avg5m).Annotations
	return p
}

// measured returns a node with 38 % CPU and 50 % memory usage in the windows.
func measured(object Object, at time.Time, windows ...usage.Window) Node {
	n := Node{Object: object, Known: true, At: at, Percent: map[usage.Window]cluster.Percents{}}
	for _, w := range windows {
		n.Percent[w] = cluster.Percents{cluster.CPU: 38, cluster.Memory: 50}
	}
	return n
}

func hot(node Node) Node {
	node.Hot = true
	return node
}

func text(r record) string { return r.text() }

// api is an API server with nodes. It checks the resourceVersion of patches.
type api struct {
	*fake.Clientset
	mu      sync.Mutex
	patches []string
	reads   int
	// before is called before each patch, so that others can write in between. If it returns an
	// error, the patch fails with it.
	before func(name string) error
}

func newAPI(t *testing.T, nodes ...*v1.Node) *api {
	t.Helper()
	var objects []runtime.Object
	for _, node := range nodes {
		objects = append(objects, node)
	}
	a := &api{Clientset: fake.NewClientset(objects...)}
	a.PrependReactor("patch", "nodes", a.patch)
	a.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reads++
		return false, nil, nil
	})
	return a
}

func (a *api) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch, _ := action.(clienttesting.PatchAction)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.patches = append(a.patches, string(patch.GetPatch()))
	if a.before != nil {
		if err := a.before(patch.GetName()); err != nil {
			return true, nil, err
		}
	}
	object, err := a.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", patch.GetName())
	if err != nil {
		return true, nil, err
	}
	var asked struct {
		Metadata struct{ ResourceVersion string }
	}
	node, _ := object.(*v1.Node)
	if err := json.Unmarshal(patch.GetPatch(), &asked); err != nil || asked.Metadata.ResourceVersion != node.ResourceVersion {
		return true, nil, apierrors.NewConflict(nodesResource, patch.GetName(), err)
	}
	return false, nil, nil
}

// change changes a node as another writer would.
func (a *api) change(name string, how func(*v1.Node)) error {
	nodes := v1.SchemeGroupVersion.WithResource("nodes")
	object, err := a.Tracker().Get(nodes, "", name)
	if err != nil {
		return err
	}
	node, _ := object.(*v1.Node)
	node = node.DeepCopy()
	node.ResourceVersion += "+"
	how(node)
	return a.Tracker().Update(nodes, node, "")
}

func (a *api) node(t *testing.T, name string) *v1.Node {
	t.Helper()
	object, err := a.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", name)
	if err != nil {
		t.Fatalf("reading node %q: %v", name, err)
	}
	node, _ := object.(*v1.Node)
	return node
}

// state returns a function that returns the nodes stored in the API server, each with what known
// returns about it.
func (a *api) state(t *testing.T, known func(Object) Node) func() []Node {
	return func() []Node {
		list, err := a.CoreV1().Nodes().List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			t.Errorf("listing: %v", err)
			return nil
		}
		var nodes []Node
		for i := range list.Items {
			nodes = append(nodes, known(ObjectOf(&list.Items[i])))
		}
		return nodes
	}
}

func v1Node(name string, how ...func(*v1.Node)) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-1", ResourceVersion: "1"}}
	for _, h := range how {
		h(node)
	}
	return node
}

func labelled(key, value string) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Labels = maps.Clone(n.Labels)
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[key] = value
	}
}

func newSyncer(t *testing.T, a *api, policy Policy, nodes func() []Node) *Syncer {
	t.Helper()
	s, err := New(Config{
		Policy: policy, Client: a, Nodes: nodes, Now: func() time.Time { return noon }, QueriesPerSecond: 1e6,
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

func testLogger(t *testing.T) klog.Logger {
	t.Helper()
	return countingLogger(func(line string) { t.Log(line) })
}

func countingLogger(line func(string)) klog.Logger {
	return funcr.New(func(_, args string) { line(args) }, funcr.Options{})
}
