package safeguards

import "strings"

// Census counts the pods of a cluster. Owners and namespaces that it does not list have
// no pods, so that the minimum of a percentage applies to them.
type Census struct {
	// All counts the pods that take part, and Namespaces the pods of each namespace.
	All        int
	Namespaces map[string]int
	// Owners counts the pods of each owner.
	Owners map[Whose]int
}

// ofOwner counts the pods of the owner with the given ownerKey.
func (c *Census) ofOwner(key string) int {
	if c == nil {
		return 0
	}
	namespace, uid, _ := strings.Cut(key, "/")
	return c.Owners[Whose{namespace, uid}]
}

func (c *Census) all() int {
	if c == nil {
		return 0
	}
	return c.All
}
