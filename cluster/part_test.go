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
		"a machine":                       {label("type", "worker"), ""},
		"a machine in a pool":             {taint("dedicated", "nvidia.com/gpu", "node-role.kubernetes.io/control-plane"), ""},
		"virtual-kubelet by its label":    {label("type", "virtual-kubelet"), "type=virtual-kubelet"},
		"virtual-kubelet by its taint":    {taint("dedicated", "virtual-kubelet.io/provider"), "virtual-kubelet.io/provider"},
		"virtual-kubelet by its provider": {label("virtual-kubelet.io/provider", "azure"), "virtual-kubelet.io/provider"},
		"virtual-kubelet by several labels": {
			Node{Labels: map[string]string{"virtual-kubelet.io/b": "", "virtual-kubelet.io/a": "", "zone": "a", "virtual-kubelet.io/c": ""}}, "virtual-kubelet.io/a",
		},
		"a machine next to virtual-kubelet":          {label("example.com/virtual-kubelet.io", "true"), ""},
		"a virtual node by its role":                 {label("node-role.kubernetes.io/virtual-node", ""), "node-role.kubernetes.io/virtual-node"},
		"a virtual node by its role's value":         {label("kubernetes.io/role", "virtual-node"), "kubernetes.io/role=virtual-node"},
		"a machine by its role":                      {Node{Labels: map[string]string{"kubernetes.io/role": "agent", "node-role.kubernetes.io/worker": ""}}, ""},
		"a virtual node by its instance type":        {label("node.kubernetes.io/instance-type", "virtual-node"), "node.kubernetes.io/instance-type=virtual-node"},
		"a virtual node by its earlier label":        {label("beta.kubernetes.io/instance-type", "virtual-node"), "beta.kubernetes.io/instance-type=virtual-node"},
		"a machine with an instance type":            {label("node.kubernetes.io/instance-type", "m5.large"), ""},
		"a virtual node by its provider's label":     {label("alibabacloud.com/virtual-node", "true"), "alibabacloud.com/virtual-node=true"},
		"a machine by its provider's label":          {label("alibabacloud.com/virtual-node", "false"), ""},
		"a virtual node by the taint of its role":    {taint("node-role.kubernetes.io/virtual-node"), "node-role.kubernetes.io/virtual-node"},
		"a virtual node by its provider's taint":     {taint("alibabacloud.com/virtual-node"), "alibabacloud.com/virtual-node"},
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

// The cases are those of the table in part.go.
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
