package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// serviceAccountPrefix is the prefix of the user names of ServiceAccounts.
const serviceAccountPrefix = "system:serviceaccount:"

func examinePermissions(p *Installation, n *notes) {
	rights := &p.Rights
	if i := slices.IndexFunc(rights.Answers, func(a Answer) bool { return a.Err != nil }); i >= 0 {
		n.problem("", "The API server could not be asked about %s: %v", rights.Answers[i].what(), rights.Answers[i].Err).
			fix("Authenticated users may usually create selfsubjectaccessreviews (group authorization.k8s.io); --as also\n" +
				"requires the verb impersonate on users, groups and serviceaccounts.")
	}
	purposes, lacks := rights.missing()
	for _, purpose := range purposes {
		p.lacking(n, purpose, lacks[purpose])
	}
	if len(n.findings) == 0 && len(rights.Answers) > 0 {
		n.ok("", "%s has all %d permissions that %s needs with this policy.", rights.identity(), rights.required(), p.Mode)
	}
	if !strings.HasPrefix(rights.Identity, serviceAccountPrefix) && rights.Identity != "" {
		n.ok("", "Checked the permissions of user %q. Evenkeel's ServiceAccount may have fewer: check those with --as %sevenkeel:evenkeel.",
			rights.Identity, serviceAccountPrefix)
	}
}

func (r *Rights) identity() string {
	if r.Identity == "" {
		return "The process"
	}
	return fmt.Sprintf("%q", r.Identity)
}

// required returns the number of needs that are not fallbacks.
func (r *Rights) required() int {
	n := 0
	for i := range r.Answers {
		if !r.Answers[i].Fallback {
			n++
		}
	}
	return n
}

// PatchesNodes reports whether the rights are those of a ServiceAccount that needs to patch nodes and is allowed to.
func (r *Rights) PatchesNodes() bool {
	return strings.HasPrefix(r.Identity, serviceAccountPrefix) && slices.ContainsFunc(r.Answers, func(a Answer) bool {
		return a.Allowed && a.Verb == "patch" && a.Resource == "nodes"
	})
}

// missing returns the needs that are not granted, by purpose, and the purposes in the order of the needs.
func (r *Rights) missing() (purposes []string, lacks map[string][]Need) {
	lacks = map[string][]Need{}
	for i := range r.Answers {
		a := &r.Answers[i]
		if a.Allowed || a.Fallback || a.Err != nil {
			continue
		}
		if lacks[a.For] == nil {
			purposes = append(purposes, a.For)
		}
		lacks[a.For] = append(lacks[a.For], a.Need)
	}
	return purposes, lacks
}

// lacking reports the permissions that are missing for one purpose.
func (p *Installation) lacking(n *notes, purpose string, lacks []Need) {
	var what []string
	problem := false
	for i := range lacks {
		what = append(what, lacks[i].what())
		problem = problem || p.essential(&lacks[i])
	}
	level, otherwise := Problem, ""
	if !problem {
		level, otherwise = Warning, " The other sources are asked instead."
	}
	n.add(level, purpose, "It may not %s.%s", strings.Join(what, ", "), otherwise).fix(ruleText(lacks))
}

// essential reports whether the process cannot work without the need. An unreadable usage source can be replaced by
// another source.
func (p *Installation) essential(need *Need) bool { return need.Source == "" || len(p.Sources) == 1 }

// what describes the need, for example "list pods" or "get secrets monitoring/token".
func (n *Need) what() string {
	text := n.Verb + " " + n.Resource
	if n.Group != "" {
		text += "." + n.Group
	}
	switch {
	case n.Name != "":
		text += " " + n.Namespace + "/" + n.Name
	case n.Namespace != "":
		text += " in " + n.Namespace
	}
	return text
}
