package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/hack/release/testkit"
)

func TestNotices(t *testing.T) {
	source := testkit.Checkout(t, testkit.Program("kube-scheduler"))
	var b bytes.Buffer
	if err := run(t.Context(), []string{"--program", "kube-scheduler", "--source", source}, &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\nstdlib: LICENSE\n") {
		t.Errorf("the license of Go's library is missing:\n%s", &b)
	}
}

func TestWhatHasNoNotices(t *testing.T) {
	source := testkit.Checkout(t, testkit.Program("evenkeel"))
	cases := map[string]struct {
		args []string
		want string
	}{
		"a program":       {args: []string{"--program", "kubelet"}, want: `program "kubelet": allowed are evenkeel, kube-scheduler`},
		"an argument":     {args: []string{"evenkeel"}, want: `arguments ["evenkeel"]: there are only flags`},
		"another program": {args: []string{"--program", "kube-scheduler"}, want: "listing the packages of ./cmd/kube-scheduler"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), append([]string{"--source", source}, tc.args...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
