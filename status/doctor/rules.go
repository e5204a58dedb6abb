package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rule is a rule of a role. It combines needs that differ only in their resources.
type rule struct {
	objects
	resources, verbs []string
}

// objects is the scope of a rule's resources.
type objects struct{ namespace, group, name string }

// ruleText explains which rules to add to which role.
func ruleText(lacks []Need) string {
	var text strings.Builder
	rules := rulesOf(lacks)
	for i := range rules {
		if i == 0 || rules[i].namespace != rules[i-1].namespace {
			text.WriteString(roleOf(rules[i].namespace))
		}
		text.WriteString(rules[i].yaml())
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func roleOf(namespace string) string {
	if namespace == "" {
		return "Add to the rules of a ClusterRole that is bound to it:\n"
	}
	return fmt.Sprintf("Add to the rules of a Role in the namespace %q that is bound to it:\n", namespace)
}

func (r *rule) yaml() string {
	text := fmt.Sprintf("- apiGroups: [%s]\n  resources: [%s]\n", cmp.Or(r.group, `""`), strings.Join(r.resources, ", "))
	if r.name != "" {
		text += fmt.Sprintf("  resourceNames: [%s]\n", r.name)
	}
	return text + fmt.Sprintf("  verbs: [%s]\n", strings.Join(r.verbs, ", "))
}

// rulesOf merges the verbs of each resource, then resources with the same verbs. Cluster-wide rules come first.
func rulesOf(lacks []Need) []rule {
	var single []rule
	for i := range lacks {
		need := &lacks[i]
		of := objects{need.Namespace, need.Group, need.Name}
		at := slices.IndexFunc(single, func(r rule) bool { return r.objects == of && r.resources[0] == need.Resource })
		if at < 0 {
			at = len(single)
			single = append(single, rule{objects: of, resources: []string{need.Resource}})
		}
		single[at].verbs = append(single[at].verbs, need.Verb)
	}
	var merged []rule
	for _, one := range single {
		at := slices.IndexFunc(merged, func(r rule) bool { return r.objects == one.objects && slices.Equal(r.verbs, one.verbs) })
		if at < 0 {
			merged = append(merged, one)
			continue
		}
		merged[at].resources = append(merged[at].resources, one.resources...)
	}
	slices.SortStableFunc(merged, func(a, b rule) int { return strings.Compare(a.namespace, b.namespace) })
	return merged
}
