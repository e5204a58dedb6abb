package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/internal/likely"
)

// Subject is a node or pod to be explained.
type Subject struct{ Kind, Namespace, Name string }

// The kinds of subjects.
const (
	KindNode = "node"
	KindPod  = "pod"
)

// errSubject lists the subjects that explain accepts.
var errSubject = errors.New("explain takes `node NAME` or `pod NAMESPACE/NAME`")

// ParseSubject parses the arguments of the command line.
func ParseSubject(words []string) (Subject, error) {
	if len(words) != 2 {
		return Subject{}, fmt.Errorf("%w, got %d words", errSubject, len(words))
	}
	kind, name := words[0], words[1]
	switch namespace, pod, slash := strings.Cut(name, "/"); {
	case kind == KindNode && name != "" && !slash:
		return Subject{Kind: KindNode, Name: name}, nil
	case kind == KindPod && namespace != "" && pod != "" && !strings.Contains(pod, "/"):
		return Subject{Kind: KindPod, Namespace: namespace, Name: pod}, nil
	}
	hint := ""
	if kinds := []string{KindNode, KindPod}; !slices.Contains(kinds, kind) {
		hint = likely.Hint(kind, kinds)
	}
	return Subject{}, fmt.Errorf("%w, got %.80q %.80q%s", errSubject, kind, name, hint)
}

// SubjectOfPath parses the path of a request.
func SubjectOfPath(path string) (Subject, error) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(path, "/explain/"), "/")
	s, err := ParseSubject([]string{kind, name})
	if err != nil {
		return Subject{}, fmt.Errorf("no such path: %.80q; ask for /explain/node/NAME or /explain/pod/NAMESPACE/NAME", path)
	}
	return s, nil
}

// Explain returns the subject's explanation.
func (s Subject) Explain(f *Facts) (Explanation, error) {
	if s.Kind == KindNode {
		n, err := OfNode(f, s.Name)
		return &n, err
	}
	p, err := OfPod(f, s.Namespace, s.Name)
	return &p, err
}

// Unexplained returns an empty Explanation into which the response of another process can
// be decoded.
func (s Subject) Unexplained() Explanation {
	if s.Kind == KindNode {
		return &NodeExplanation{}
	}
	return &PodExplanation{}
}

// Explanation is a *NodeExplanation or a *PodExplanation.
type Explanation interface{ explanation() }

func (*NodeExplanation) explanation() {}
func (*PodExplanation) explanation()  {}
