package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// A node is nominated only if kube-scheduler would respect the nomination. It does not if the node
// is tainted or reserved for other pods.
func TestAdmits(t *testing.T) {
	tainted := func(effect v1.TaintEffect) func(*v1.Node) {
		return func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "x/y", Effect: effect}} }
	}
	tolerating := func(key string) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.Spec.Tolerations = []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists}} }
	}
	selecting := func(disk string) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": disk} }
	}
	as := func(*v1.Pod) {}
	for name, tc := range map[string]struct {
		node func(*v1.Node)
		pod  func(*v1.Pod)
		want bool
	}{
		"open":                          {func(*v1.Node) {}, as, true},
		"tainted":                       {tainted(v1.TaintEffectNoSchedule), as, false},
		"tainted, by which pods leave":  {tainted(v1.TaintEffectNoExecute), as, false},
		"tainted, which is tolerated":   {tainted(v1.TaintEffectNoSchedule), tolerating("x/y"), true},
		"tainted, another is tolerated": {tainted(v1.TaintEffectNoSchedule), tolerating("z"), false},
		"tainted with PreferNoSchedule": {tainted(v1.TaintEffectPreferNoSchedule), as, true},
		"selected":                      {func(*v1.Node) {}, selecting("ssd"), true},
		"not selected":                  {func(*v1.Node) {}, selecting("hdd"), false},
	} {
		nodes := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes()
		node, pod := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}}}, podOf("a", gate)
		tc.node(node)
		tc.pod(pod)
		if err := nodes.Informer().GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
		if got := Admits(t.Context(), nodes.Lister(), "n1", pod); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if Admits(t.Context(), nodes.Lister(), "gone", pod) {
			t.Errorf("%s: a node that is gone accepts the pod", name)
		}
	}
}
