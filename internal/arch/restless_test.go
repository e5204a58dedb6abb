package arch

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules are worthless if their check does not find violations.
func TestRestlessFindsClocksAndGoroutines(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []string
	}{
		"a duration is no clock": {
			source: `package p; import "time"; const d = 5 * time.Minute; func f(now time.Time) time.Time { return now.Add(d) }`,
		},
		"a call": {
			source: `package p; import "time"; func f() { time.Sleep(1) }`,
			want:   []string{"uses time.Sleep"},
		},
		"a function handed on, under another name": {
			source: `package p; import clock "time"; var now = clock.Now`,
			want:   []string{"uses time.Now"},
		},
		"a goroutine within a function literal": {
			source: `package p; func f() { _ = func() { go f() } }`,
			want:   []string{"starts a goroutine"},
		},
		"somebody else's Now": {
			source: `package p; type t struct{}; func (t) Now() {}; func f(time t) { time.Now() }`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "p.go", tc.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, found := range restless(file) {
				got = append(got, found.what)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
