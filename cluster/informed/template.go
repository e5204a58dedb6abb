package informed

import "github.com/evenkeel/evenkeel/cluster"

// template is what the pods of one owner and revision have in common. Every
// object of a watch brings strings of its own; kept once per template they are
// a third of what a record takes.
type template struct {
	namespace string
	owner     cluster.Owner
	hash      string
}

// mostNewcomers bounds what is remembered of a list's templates, and of its
// nodes.
const mostNewcomers = 65536

// newcomers let the records of a first list share strings before the Store has
// any of them: until the list is whole they are kept by the reflector.
type newcomers struct {
	templates map[template]template
	nodes     map[string]string
}

func templateOf(pod *cluster.Pod) template {
	return template{pod.Namespace, pod.Owner, pod.TemplateHash}
}

// templates counts the pods of each template, under the strings of the first.
type templates map[template]*counted

type counted struct {
	template
	pods int
}

// share counts a pod in and gives it its template's strings.
func (t templates) share(pod *cluster.Pod) {
	key := templateOf(pod)
	known := t[key]
	if known == nil {
		known = &counted{template: key}
		t[key] = known
	}
	known.pods++
	pod.Namespace, pod.Owner, pod.TemplateHash = known.namespace, known.owner, known.hash
}

// release counts a pod out; a template without pods is forgotten.
func (t templates) release(pod *cluster.Pod) {
	key := templateOf(pod)
	if known := t[key]; known != nil {
		if known.pods--; known.pods == 0 {
			delete(t, key)
		}
	}
}

// first returns the first of the values that were equal to one.
func first[T comparable](known *map[T]T, value T) T {
	if one, ok := (*known)[value]; ok {
		return one
	}
	if *known == nil || len(*known) >= mostNewcomers {
		*known = map[T]T{}
	}
	(*known)[value] = value
	return value
}
