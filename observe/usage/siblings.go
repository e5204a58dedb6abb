package usage

import (
	"hash/maphash"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Kin identifies the pods whose usage a pod is expected to resemble.
type Kin struct {
	Namespace    string
	Owner        cluster.Owner
	TemplateHash string
}

func kinOf(pod *cluster.Pod) Kin { return Kin{pod.Namespace, pod.Owner, pod.TemplateHash} }

// Siblings holds the assumed usage of pods that are not measured themselves,
// taken from similar pods. It is immutable.
type Siblings struct {
	// owners holds the mean of each owner's measured pods if enough of them are
	// measured.
	owners map[ownerKey]cluster.Amounts
	// families holds the best-known version of each Deployment, by the
	// Deployment's key.
	families map[familyKey]version
	seed     maphash.Seed
}

// ownerKey includes the namespace of the pods, because anyone who may create
// pods in another namespace can name any owner.
type ownerKey struct{ namespace, uid string }

// familyKey identifies a Deployment in a quarter of the memory of its names: 0
// for none, otherwise a 63-bit hash with a secret seed, so that no two
// Deployments are confused.
type familyKey uint64

func keyOf(seed maphash.Seed, kin *Kin) familyKey {
	family := cluster.FamilyOf(kin.Namespace, kin.Owner, kin.TemplateHash)
	if family == (cluster.Family{}) {
		return 0
	}
	return familyKey(hashOf(seed, family.Namespace, family.Name)) | 1
}

// hashOf identifies a name in a namespace. With 64 bits and a secret seed, no two names
// of a cluster are confused.
func hashOf(seed maphash.Seed, namespace, name string) uint64 {
	return 31*maphash.String(seed, name) + maphash.String(seed, namespace)
}

// Of returns the assumed usage of a pod with these limits, capped by them: the
// mean of its owner's measured pods or, until enough of those are measured,
// that of its Deployment's best-known version.
func (s *Siblings) Of(kin Kin, limits cluster.Amounts) (cluster.Amounts, bool) {
	if used, ok := s.owners[ownerKey{kin.Namespace, kin.Owner.UID}]; ok {
		return used, true
	}
	if len(s.families) == 0 { // the zero value also has no seed
		return cluster.Amounts{}, false
	}
	known, ok := s.families[keyOf(s.seed, &kin)]
	if !ok {
		return cluster.Amounts{}, false
	}
	used := known.used.amounts()
	for r, limit := range limits {
		if limit > 0 {
			used[r] = min(used[r], limit)
		}
	}
	return used, true
}

// version is the measured usage of one owner's pods, as one version of a
// Deployment.
type version struct {
	owner string
	pods  uint32
	// used is the mean usage of the pods, with its time.
	used point
}

const (
	// enoughPods is the number of pods that makes a version conclusive, no matter how
	// many pods another version has.
	enoughPods = 3
	// versionAge is how long a version is remembered after its last measured
	// pod. Pods of the next version should be measured by then, although their
	// image may have to be pulled and they may have to warm up.
	versionAge = time.Hour
	// mostRemembered bounds the number of remembered Deployments without measured
	// pods; if there are more, none is remembered.
	mostRemembered = 16384
)

// conclusive reports whether a version is known well enough to be used even
// though another one is known as well.
func (v *version) conclusive(other *version) bool {
	return v.owner == other.owner || v.pods >= min(enoughPods, other.pods)
}

// better reports whether v is better known than other if both are measured now.
func (v *version) better(other *version) bool {
	return v.pods > other.pods || v.pods == other.pods && v.owner > other.owner
}

// measuredOf sums up an owner's measured pods.
type measuredOf struct {
	used cluster.Amounts
	pods int64
}

func (m *measuredOf) add(used cluster.Amounts) {
	m.used, m.pods = m.used.Plus(used), m.pods+1
}

func (m *measuredOf) mean() (mean cluster.Amounts) {
	for k := range mean {
		mean[k] = m.used[k] / m.pods
	}
	return mean
}
