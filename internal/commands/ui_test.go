package commands

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// servePod returns a ready pod of serve.
func servePod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: name, Labels: map[string]string{nameLabel: serveName}},
		Status:     v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
}

// The page is that of the leader, which knows what the last cycle planned. If the leader is unknown
// or not ready, any replica's page is shown.
func TestPageOf(t *testing.T) {
	lease := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: "evenkeel"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	starting := servePod("serve-3")
	starting.Status.Conditions = nil
	three := []runtime.Object{servePod("serve-1"), servePod("serve-2"), starting}
	cases := map[string]struct {
		objects   []runtime.Object
		in        string // the requested namespace, unless it is evenkeel
		forbidden string // a resource that the user is not allowed to read
		want, err string
	}{
		"the leader's":                   {objects: append(three, lease("serve-2_uid")), want: "serve-2"},
		"without a Lease":                {objects: three, want: "serve-1"},
		"a Lease that is not readable":   {objects: append(three, lease("serve-2_uid")), forbidden: "leases", want: "serve-1"},
		"a leader that is not ready":     {objects: append(three, lease("serve-3_uid")), want: "serve-1"},
		"a leader that no longer exists": {objects: append(three, lease("serve-4_uid")), want: "serve-1"},
		"no pod":                         {err: `namespace "evenkeel" has no ready pod of serve or extender (select another namespace with -n)`},
		"no pod, nor in the default":     {in: "kube-system", err: `namespace "kube-system" or "evenkeel" has no ready pod of serve or extender (select another namespace with -n)`},
		"in the default":                 {in: "kube-system", objects: three, want: "serve-1"},
		"pods that are not listable":     {objects: three, forbidden: "pods", err: "looking for pods of serve or extender: pods is forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(tc.objects...)
			client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if resource := action.GetResource().Resource; resource == tc.forbidden {
					return true, nil, errors.New(resource + " is forbidden")
				}
				return false, nil, nil
			})
			pod, err := pageOf(t.Context(), client, cmp.Or(tc.in, "evenkeel"), "evenkeel")
			got, failed := "", ""
			if pod != nil {
				got = pod.Name
			}
			if err != nil {
				failed = err.Error()
			}
			if got != tc.want || failed != tc.err {
				t.Errorf("pod %q, error %q; want %q, %q", got, failed, tc.want, tc.err)
			}
		})
	}
}

// HasPage reports that a process without a page has none.
func TestHasPage(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusOK: "", http.StatusNotFound: "it has no page, because it runs an earlier version", http.StatusForbidden: "it answers 403 Forbidden",
	} {
		process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		got := ""
		if err := hasPage(t.Context(), process.URL+"/"); err != nil {
			got = err.Error()
		}
		if process.Close(); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

// --open passes the page to the first program that exists, and reports an error if none does.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	var said bytes.Buffer
	open(t.Context(), "http://127.0.0.1:1/", &said)()
	if !strings.Contains(said.String(), "No browser was started") {
		t.Errorf("said %q", said.String())
	}
	shown := filepath.Join(folder, "shown")
	script := "#!/bin/sh\necho \"$1\" >" + shown + "\n"
	if err := os.WriteFile(filepath.Join(folder, "open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	wait := open(t.Context(), "http://127.0.0.1:1/", &said)
	wait()
	if page, err := os.ReadFile(shown); err != nil || string(page) != "http://127.0.0.1:1/\n" {
		t.Errorf("opened %q, error %v", page, err)
	}
}
