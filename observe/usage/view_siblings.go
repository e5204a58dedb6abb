package usage

import (
	"maps"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// siblings averages the usage of each owner's measured pods and remembers the averages of
// each Deployment.
func (r *reading) siblings() Siblings {
	siblings := Siblings{owners: make(map[ownerKey]cluster.Amounts, len(r.owners)), families: r.families(), seed: r.store.owners.seed}
	for number := range r.owners {
		m := &r.owners[number]
		if m.pods == 0 {
			continue
		}
		owner := &r.store.owners.list[number]
		own := r.version(owner.uid, m)
		if known, ok := siblings.families[owner.family]; !ok || own.conclusive(&known) {
			siblings.owners[owner.ownerKey] = m.mean()
		}
	}
	r.store.families = siblings.families
	return siblings
}

func (r *reading) version(owner string, m *measuredOf) version {
	return version{owner: owner, pods: clamp32(m.pods), used: pack(r.second, m.mean())}
}

// families returns the best-known version of each Deployment. This is the version that
// has the most measured pods now, unless it is inconclusive and a remembered version is
// conclusive.
func (r *reading) families() map[familyKey]version {
	families := make(map[familyKey]version, len(r.store.families))
	for number := range r.owners {
		m, owner := &r.owners[number], &r.store.owners.list[number]
		if m.pods == 0 || owner.family == 0 {
			continue
		}
		now := r.version(owner.uid, m)
		if other, ok := families[owner.family]; !ok || now.better(&other) {
			families[owner.family] = now
		}
	}
	r.remember(families)
	return families
}

// remember adds remembered versions that are better known than those measured now.
func (r *reading) remember(families map[familyKey]version) {
	gone := map[familyKey]version{}
	for family, before := range r.store.families {
		if age := r.second - before.used.second; age > uint32(versionAge/time.Second) {
			continue // too old, or from the future (the difference wraps around)
		}
		switch now, ok := families[family]; {
		case !ok:
			gone[family] = before
		case !now.conclusive(&before):
			families[family] = before
		}
	}
	if len(gone) <= mostRemembered {
		maps.Copy(families, gone)
	}
}
