package status

import (
	"strings"
	"testing"
)

func TestParseSubject(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	cases := map[string]struct {
		words []string
		want  Subject
		fails bool
	}{
		"a node":            {words: []string{"node", "n1"}, want: Subject{Kind: "node", Name: "n1"}},
		"a pod":             {words: []string{"pod", "ns/p"}, want: Subject{Kind: "pod", Namespace: "ns", Name: "p"}},
		"nothing":           {fails: true},
		"one word":          {words: []string{"node"}, fails: true},
		"three words":       {words: []string{"pod", "ns", "p"}, fails: true},
		"a pod as one word": {words: []string{"pod/ns/p", "x"}, fails: true},
		"no such kind":      {words: []string{"deployment", "d"}, fails: true},
		"a node with slash": {words: []string{"node", "a/b"}, fails: true},
		"no name":           {words: []string{"node", ""}, fails: true},
		"no namespace":      {words: []string{"pod", "p"}, fails: true},
		"empty namespace":   {words: []string{"pod", "/p"}, fails: true},
		"a two-part pod":    {words: []string{"pod", "a/b/c"}, fails: true},
		"a long name":       {words: []string{"pods", long}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSubject(tc.words)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
			if asks := err != nil && strings.Contains(err.Error(), "did you mean"); asks != (name == "a long name") {
				t.Errorf("it asks for a likely word: %v", err)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}
