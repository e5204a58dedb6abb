package stage

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Right is a verb on a resource, as roles grant it and requests use it.
type Right struct{ Verb, Group, Resource string }

func (r Right) String() string { return r.Verb + " " + r.Resource + "." + r.Group }

// Rights lists the rights that rules grant, each once.
func Rights(rules []rbacv1.PolicyRule) (granted []Right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted = append(granted, Right{verb, group, resource})
				}
			}
		}
	}
	slices.SortFunc(granted, func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(granted)
}

// seldomUsed maps rights that an ordinary run does not use to what uses them.
var seldomUsed = map[Right]string{
	{"get", "scheduling.k8s.io", "priorityclasses"}: "a priorityThreshold by name",
	{"get", "metrics.k8s.io", "nodes"}:              "an upstream plugin that reads metrics.k8s.io",
	{"get", "metrics.k8s.io", "pods"}:               "the same",
	{"patch", "events.k8s.io", "events"}:            "an Event that repeats",
	{"list", "batch", "jobs"}:                       "evictJobs",
	{"watch", "batch", "jobs"}:                      "the same",
	{"list", "batch", "cronjobs"}:                   "the same",
	{"watch", "batch", "cronjobs"}:                  "the same",
	{"list", "apps.kruise.io", "clonesets"}:         "recreatingControllers that names it",
	{"watch", "apps.kruise.io", "clonesets"}:        "the same",
	{"list", "apps.kruise.io", "statefulsets"}:      "the same",
	{"watch", "apps.kruise.io", "statefulsets"}:     "the same",
}

// Unused returns the granted rights that an ordinary run uses but that none of the given
// requests used. The run must have done all of its work: leading, evicting, reporting.
func Unused(granted []Right, requests cluster.Requests) (unused []Right) {
	used := map[Right]bool{}
	for _, r := range requests {
		used[Right{r.Verb, r.Group, r.Resource}] = true
	}
	for _, right := range granted {
		// If an API server streams the first list through the watch, there is no list request.
		streamed := right.Verb == "list" && used[Right{"watch", right.Group, right.Resource}]
		if seldomUsed[right] == "" && !used[right] && !streamed {
			unused = append(unused, right)
		}
	}
	return unused
}
