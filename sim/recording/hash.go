package recording

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
)

// Hasher replaces names with digests. Equal names have equal digests, so selectors still
// match the same objects. Names cannot be guessed without the salt.
type Hasher struct{ salt []byte }

// NewHasher returns a Hasher with a salt.
func NewHasher(salt []byte) *Hasher { return &Hasher{salt: slices.Clone(salt)} }

// digestBytes is the number of bytes that are kept of a digest. The odds that two of a
// million names collide are one in forty million.
const digestBytes = 8

// Name hides a name or a label value. An empty one is not changed.
func (h *Hasher) Name(name string) string {
	if name == "" {
		return ""
	}
	mac := hmac.New(sha256.New, h.salt)
	mac.Write([]byte(name))
	return hex.EncodeToString(mac.Sum(nil)[:digestBytes])
}

// keptKeys holds label and taint keys that have the same meaning in every cluster.
var keptKeys = map[string]bool{
	v1.LabelHostname: true, v1.LabelTopologyZone: true, v1.LabelTopologyRegion: true, v1.LabelInstanceTypeStable: true,
	v1.LabelOSStable: true, v1.LabelArchStable: true, v1.TaintNodeNotReady: true, v1.TaintNodeUnreachable: true,
	v1.TaintNodeUnschedulable: true, v1.TaintNodeMemoryPressure: true, v1.TaintNodeDiskPressure: true,
	"ToBeDeletedByClusterAutoscaler": true, "DeletionCandidateOfClusterAutoscaler": true,
	"karpenter.sh/disruption": true, "karpenter.sh/disrupted": true,
	v1.TaintNodePIDPressure: true, v1.TaintNodeNetworkUnavailable: true, v1.TaintNodeOutOfService: true,
	"node-role.kubernetes.io/control-plane": true, "node-role.kubernetes.io/master": true,
	appsv1.DefaultDeploymentUniqueLabelKey: true, "controller-revision-hash": true, metav1.ObjectNameField: true,
}

// key hides a label or taint key unless it is well known.
func (h *Hasher) key(key string) string {
	if key == "" || keptKeys[key] {
		return key
	}
	return "hashed/" + h.Name(key)
}

func (h *Hasher) keys(keys []string) []string { return each(keys, h.key) }

func (h *Hasher) names(names []string) []string { return each(names, h.Name) }

func each(all []string, change func(string) string) []string {
	changed := slices.Clone(all)
	for i := range changed {
		changed[i] = change(changed[i])
	}
	return changed
}

func (h *Hasher) labels(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	hidden := make(map[string]string, len(labels))
	for key, value := range labels {
		hidden[h.key(key)] = h.Name(value)
	}
	return hidden
}

func (h *Hasher) resources(list v1.ResourceList) v1.ResourceList {
	if list == nil {
		return nil
	}
	hidden := make(v1.ResourceList, len(list))
	for name, amount := range list {
		// Resource names without a slash are Kubernetes' own.
		if strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), "kubernetes.io/") {
			name = v1.ResourceName(h.key(string(name)))
		}
		hidden[name] = amount
	}
	return hidden
}

func (h *Hasher) node(n Node) Node {
	n.Name, n.Labels, n.Taints = h.Name(n.Name), h.labels(n.Labels), slices.Clone(n.Taints)
	for i := range n.Taints {
		n.Taints[i].Key, n.Taints[i].Value = h.key(n.Taints[i].Key), h.Name(n.Taints[i].Value)
	}
	n.Allocatable, n.Capacity = h.resources(n.Allocatable), h.resources(n.Capacity)
	return n
}

// keptKinds holds the owner kinds that exist in every cluster.
var keptKinds = []string{"", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"}

func (h *Hasher) template(t Template) Template {
	t.Namespace, t.OwnerName, t.Labels = h.Name(t.Namespace), h.owner(&t), h.labels(t.Labels)
	if !slices.Contains(keptKinds, t.OwnerKind) {
		t.OwnerKind = h.Name(t.OwnerKind)
	}
	t.OwnerAPIVersion = h.Name(t.OwnerAPIVersion)
	t.SchedulerName = h.Name(t.SchedulerName)
	t.Requests, t.Limits, t.NodeSelector = h.resources(t.Requests), h.resources(t.Limits), h.labels(t.NodeSelector)
	t.Ports, t.Tolerations, t.Spread = slices.Clone(t.Ports), slices.Clone(t.Tolerations), slices.Clone(t.Spread)
	for i := range t.Ports {
		if ip := t.Ports[i].HostIP; ip != "0.0.0.0" {
			t.Ports[i].HostIP = h.Name(ip)
		}
	}
	for i := range t.Tolerations {
		h.toleration(&t.Tolerations[i])
	}
	for i := range t.Spread {
		s := &t.Spread[i]
		s.TopologyKey, s.LabelSelector, s.MatchLabelKeys = h.key(s.TopologyKey), h.selector(s.LabelSelector), h.keys(s.MatchLabelKeys)
	}
	t.Affinity = h.affinity(t.Affinity)
	return t
}

// owner hides an owner's name. The ReplicaSets of one Deployment can still be recognized
// as related.
func (h *Hasher) owner(t *Template) string {
	hash := t.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	family := cluster.FamilyOf(t.Namespace, cluster.Owner{Kind: t.OwnerKind, Name: t.OwnerName}, hash)
	if family == (cluster.Family{}) {
		return h.Name(t.OwnerName)
	}
	return h.Name(family.Name) + "-" + h.Name(hash)
}

// toleration hides a toleration. A toleration that compares numbers is changed to
// tolerate any value, because digests cannot be compared.
func (h *Hasher) toleration(t *v1.Toleration) {
	t.Key, t.Value = h.key(t.Key), h.Name(t.Value)
	switch t.Operator {
	case v1.TolerationOpExists, v1.TolerationOpEqual, "":
	default:
		t.Operator, t.Value = v1.TolerationOpExists, ""
	}
}

func (h *Hasher) selector(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	s = s.DeepCopy()
	s.MatchLabels = h.labels(s.MatchLabels)
	for i := range s.MatchExpressions {
		s.MatchExpressions[i].Key = h.key(s.MatchExpressions[i].Key)
		s.MatchExpressions[i].Values = h.names(s.MatchExpressions[i].Values)
	}
	return s
}

func (h *Hasher) affinity(a *v1.Affinity) *v1.Affinity {
	if a == nil {
		return nil
	}
	a = a.DeepCopy()
	if on := a.NodeAffinity; on != nil {
		if required := on.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for i := range required.NodeSelectorTerms {
				h.nodeTerm(&required.NodeSelectorTerms[i])
			}
		}
		for i := range on.PreferredDuringSchedulingIgnoredDuringExecution {
			h.nodeTerm(&on.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
		}
	}
	for _, term := range podTerms(a) {
		h.podTerm(term)
	}
	return a
}

func (h *Hasher) nodeTerm(term *v1.NodeSelectorTerm) {
	for _, requirements := range [][]v1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
		for i := range requirements {
			r := &requirements[i]
			r.Key = h.key(r.Key)
			if r.Operator == v1.NodeSelectorOpGt || r.Operator == v1.NodeSelectorOpLt {
				r.Operator, r.Values = v1.NodeSelectorOpExists, nil // digests cannot be compared
			}
			r.Values = h.names(r.Values)
		}
	}
}

func (h *Hasher) podTerm(term *v1.PodAffinityTerm) {
	term.LabelSelector, term.NamespaceSelector = h.selector(term.LabelSelector), h.selector(term.NamespaceSelector)
	term.Namespaces, term.TopologyKey = h.names(term.Namespaces), h.key(term.TopologyKey)
	term.MatchLabelKeys, term.MismatchLabelKeys = h.keys(term.MatchLabelKeys), h.keys(term.MismatchLabelKeys)
}
