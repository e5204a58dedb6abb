package cluster

import "testing"

func TestVirtualNodes(t *testing.T) {
	label := func(key, value string) Node { return Node{Labels: map[string]string{key: value}} }
	taint := func(keys ...string) Node { return Node{Taints: keys} }
	told := map[string]string{ResourceMetricsPath: "/metrics/nodes/n"}
	cases := map[string]struct {
		node Node
		want string
	}{
		"a machine":                                  {label("type", "worker"), ""},
		"a machine of a pool":                        {taint("dedicated", "nvidia.com/gpu", "node-role.kubernetes.io/control-plane"), ""},
		"virtual-kubelet by its label":               {label("type", "virtual-kubelet"), "type=virtual-kubelet"},
		"virtual-kubelet by its taint":               {taint("dedicated", "virtual-kubelet.io/provider"), "virtual-kubelet.io/provider"},
		"Fargate by its label":                       {label("eks.amazonaws.com/compute-type", "fargate"), "eks.amazonaws.com/compute-type=fargate"},
		"Fargate by its taint":                       {taint("eks.amazonaws.com/compute-type"), "eks.amazonaws.com/compute-type"},
		"EKS that is no Fargate":                     {label("eks.amazonaws.com/compute-type", "ec2"), ""},
		"another cluster":                            {label("liqo.io/type", "virtual-node"), "liqo.io/type=virtual-node"},
		"another cluster by its taint":               {taint("virtual-node.liqo.io/not-allowed"), "virtual-node.liqo.io/not-allowed"},
		"a super node":                               {label("node.kubernetes.io/instance-type", "eklet"), "node.kubernetes.io/instance-type=eklet"},
		"a simulator by its label":                   {label("type", "kwok"), "type=kwok"},
		"a simulator by its taint":                   {taint("kwok.x-k8s.io/node"), "kwok.x-k8s.io/node"},
		"a simulator that serves usage":              {Node{Labels: map[string]string{"type": "kwok"}, Taints: []string{"kwok.x-k8s.io/node"}, UsageAnnotations: told}, ""},
		"an interface stays one, whatever it serves": {Node{Labels: map[string]string{"type": "virtual-kubelet"}, UsageAnnotations: told}, "type=virtual-kubelet"},
	}
	for name, tc := range cases {
		tc.node.Ready, tc.node.Schedulable = true, true
		if got := tc.node.Virtual(); got != tc.want {
			t.Errorf("%s: virtual by %q, want %q", name, got, tc.want)
		}
		if takes := tc.node.Closed() == ""; takes != (tc.want == "") || tc.node.Member() != takes || tc.node.Measured() != takes {
			t.Errorf("%s: closed by %q, member %t, measured %t", name, tc.node.Closed(), tc.node.Member(), tc.node.Measured())
		}
	}
}

// The table of part.go.
func TestWhoTakesPart(t *testing.T) {
	rule := TaintRule{
		Leaving: []string{"leaving"}, Closing: []string{"closing"}, Own: []string{"evenkeel.io/hot"},
		Selects: func(labels map[string]string) bool { return labels["pool"] != "other" },
	}
	cases := map[string]struct {
		change           func(*Node)
		member, measured bool
		openness         Openness
	}{
		"open":            {func(*Node) {}, true, true, Open},
		"tainted by us":   {func(n *Node) { n.Taints = []string{"evenkeel.io/hot"}; n.Repelling = n.Taints }, true, true, Open},
		"softly tainted":  {func(n *Node) { n.Taints = []string{"dedicated"} }, true, true, Open},
		"tainted":         {func(n *Node) { n.Taints = []string{"dedicated"}; n.Repelling = n.Taints }, true, true, Reserved},
		"cordoned":        {func(n *Node) { n.Schedulable = false }, true, true, Shut},
		"closing":         {func(n *Node) { n.Taints = []string{"closing"} }, true, true, Shut},
		"leaving":         {func(n *Node) { n.Taints = []string{"leaving"} }, true, false, Shut},
		"being deleted":   {func(n *Node) { n.Deleting = true }, true, false, Shut},
		"not ready":       {func(n *Node) { n.Ready = false }, true, false, Shut},
		"virtual":         {func(n *Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} }, false, false, Shut},
		"not selected":    {func(n *Node) { n.Labels = map[string]string{"pool": "other"} }, false, false, Shut},
		"of another pool": {func(n *Node) { n.Labels = map[string]string{"pool": "third"} }, true, true, Open},
	}
	for name, tc := range cases {
		n := Node{Ready: true, Schedulable: true, Reserved: true, Unselected: true}
		tc.change(&n)
		rule.Apply(&n)
		if n.Member() != tc.member || n.Measured() != tc.measured || n.Openness() != tc.openness {
			t.Errorf("%s: member %t, measured %t, openness %d", name, n.Member(), n.Measured(), n.Openness())
		}
	}
}
