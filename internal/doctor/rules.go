package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// rule is a rule of a role: needs that differ in their resources only.
type rule struct {
	namespace, group, name string
	resources, verbs       []string
}

// ruleText says which rules have to be added to which role.
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
	text := fmt.Sprintf("- apiGroups: [%s]\n  resources: [%s]\n", quoted(r.group), strings.Join(r.resources, ", "))
	if r.name != "" {
		text += fmt.Sprintf("  resourceNames: [%s]\n", r.name)
	}
	return text + fmt.Sprintf("  verbs: [%s]\n", strings.Join(r.verbs, ", "))
}

func quoted(group string) string {
	if group == "" {
		return `""`
	}
	return group
}

// rulesOf puts the verbs of each resource together, and then the resources that
// have the same; cluster-wide ones first.
func rulesOf(lacks []Need) []rule {
	var single []rule
	for i := range lacks {
		need := &lacks[i]
		at := slices.IndexFunc(single, func(r rule) bool { return r.sameObjects(need) && r.resources[0] == need.Resource })
		if at < 0 {
			at = len(single)
			single = append(single, rule{namespace: need.Namespace, group: need.Group, name: need.Name, resources: []string{need.Resource}})
		}
		single[at].verbs = append(single[at].verbs, need.Verb)
	}
	var merged []rule
	for _, one := range single {
		at := slices.IndexFunc(merged, func(r rule) bool {
			return r.namespace == one.namespace && r.group == one.group && r.name == one.name && slices.Equal(r.verbs, one.verbs)
		})
		if at < 0 {
			merged = append(merged, one)
			continue
		}
		merged[at].resources = append(merged[at].resources, one.resources...)
	}
	slices.SortStableFunc(merged, func(a, b rule) int { return strings.Compare(a.namespace, b.namespace) })
	return merged
}

func (r *rule) sameObjects(need *Need) bool {
	return r.namespace == need.Namespace && r.group == need.Group && r.name == need.Name
}
