package usage

import (
	"hash/maphash"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Kin says which other pods a pod is like.
type Kin struct {
	Namespace    string
	Owner        cluster.Owner
	TemplateHash string
}

func kinOf(pod *cluster.Pod) Kin { return Kin{pod.Namespace, pod.Owner, pod.TemplateHash} }

// Siblings is what pods that are not measured themselves are taken to use by
// those that are like them. It is immutable.
type Siblings struct {
	// owners holds the mean of each owner's measured pods, where there are
	// enough to go by.
	owners map[string]cluster.Amounts
	// families holds the version of each Deployment that is known best, by the
	// Deployment's key.
	families map[familyKey]version
	seed     maphash.Seed
}

// familyKey stands for a Deployment, in a quarter of the room that its names
// take: 0 for none, else a hash of 63 bits by a secret seed, so that no two
// Deployments are taken for one another.
type familyKey uint64

func keyOf(seed maphash.Seed, kin *Kin) familyKey {
	family := cluster.FamilyOf(kin.Namespace, kin.Owner, kin.TemplateHash)
	if family == (cluster.Family{}) {
		return 0
	}
	return familyKey(hashOf(seed, family.Namespace, family.Name)) | 1
}

// hashOf stands for a name in a namespace: with 64 bits by a secret seed no two
// of a cluster are taken for one another.
func hashOf(seed maphash.Seed, namespace, name string) uint64 {
	return 31*maphash.String(seed, name) + maphash.String(seed, namespace)
}

// Of returns what a pod with these limits is taken to use: the mean of its
// owner's measured pods or, until enough of those are measured, that of the
// version of its Deployment that is known best, as far as the limits allow it.
func (s *Siblings) Of(kin Kin, limits cluster.Amounts) (cluster.Amounts, bool) {
	if used, ok := s.owners[kin.Owner.UID]; ok {
		return used, true
	}
	if len(s.families) == 0 { // and, in the zero value, no seed
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

// version is what was measured of the pods of one owner, as one version of a
// Deployment.
type version struct {
	owner string
	pods  uint32
	// used is their mean, and when it was.
	used point
}

const (
	// enoughPods of a version tell what it uses, however many there were of
	// another.
	enoughPods = 3
	// versionAge is how long a version is remembered that has no measured pods
	// any more: until those of the next one, which may have to be pulled and to
	// warm up first, are measured.
	versionAge = time.Hour
	// mostRemembered bounds the Deployments that are remembered and have no
	// measured pods; beyond it none is.
	mostRemembered = 16384
)

// tells reports whether a version is known well enough to be judged by itself,
// where another one is known as well.
func (v *version) tells(other *version) bool {
	return v.owner == other.owner || v.pods >= min(enoughPods, other.pods)
}

// better says which of two versions that are measured now is known better.
func (v *version) better(other *version) bool {
	return v.pods > other.pods || v.pods == other.pods && v.owner > other.owner
}

// measuredOf is what an owner's measured pods add up to.
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
