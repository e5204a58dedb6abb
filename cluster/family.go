package cluster

import "strings"

// Family identifies a Deployment, which has one ReplicaSet per version: pods of
// one Family do the same work.
type Family struct {
	Namespace, Name string
}

// FamilyOf returns the Family of an owner's pods with a template hash; the zero Family if
// there is none. A Deployment names a ReplicaSet after itself and the template's hash,
// and labels the ReplicaSet's pods with that hash.
func FamilyOf(namespace string, owner Owner, templateHash string) Family {
	if owner.Kind != "ReplicaSet" || templateHash == "" {
		return Family{}
	}
	name, ok := strings.CutSuffix(owner.Name, templateHash)
	if !ok {
		return Family{}
	}
	if name, ok = strings.CutSuffix(name, "-"); !ok || name == "" {
		return Family{}
	}
	return Family{Namespace: namespace, Name: name}
}
