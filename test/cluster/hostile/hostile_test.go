package hostile

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// victims are a pending and a running pod of one owner, and a pod without an owner.
func victims() []v1.Pod {
	yes := true
	owner := []metav1.OwnerReference{{UID: "rs", Kind: "ReplicaSet", Name: "hog", Controller: &yes}}
	return []v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "runs", UID: "runs", OwnerReferences: owner}, Spec: v1.PodSpec{NodeName: "a"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "waits", UID: "waits", OwnerReferences: owner}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone", UID: "alone"}, Spec: v1.PodSpec{NodeName: "bb"}},
	}
}

func newClient(t *testing.T) *client {
	t.Helper()
	c := &client{config: Config{
		Kube: fake.NewSimpleClientset(&v1.PodList{Items: victims()}), Namespace: "shop", Nodes: []string{"a", "bb", "lair"}, Lair: "lair",
	}}
	if err := c.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Each attack sends its own kind of requests. Those about the pending pod come first, and invented
// UIDs never exist.
func TestQuestions(t *testing.T) {
	type asked struct{ Namespace, UID, Owner, Node string }
	tests := map[Attack][]asked{
		MadeUp:  {{"shop", "new", "rs", "lair"}, {"shop", "new", "", "lair"}},
		Foreign: {{"elsewhere", "new", "rs", "lair"}, {"elsewhere", "new", "", "lair"}},
		Known:   {{"shop", "waits", "rs", "a"}, {"shop", "alone", "", "bb"}},
		Heavy:   {{"elsewhere", "new", "", "a"}, {"elsewhere", "new", "", "bb"}},
	}
	for attack, want := range tests {
		t.Run(string(attack), func(t *testing.T) {
			c := newClient(t)
			var got []asked
			for n := range want {
				question, ok := c.question(attack, n)
				if !ok {
					t.Fatal("there is no request")
				}
				next := asked{Namespace: question.Pod.Namespace, UID: string(question.Pod.UID), Node: (*question.NodeNames)[0]}
				if len(next.UID) == len("00000000-0000-0000-0000-000000000000") {
					next.UID = "new"
				}
				if owner := metav1.GetControllerOf(question.Pod); owner != nil {
					next.Owner = string(owner.UID)
				}
				if question.Pod.Spec.NodeName != "" {
					t.Errorf("the pod is bound to %q", question.Pod.Spec.NodeName)
				}
				got = append(got, next)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}

// All attacks reach a server and end with the context. Answers, refusals and failures are counted.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 8<<10 || r.ContentLength == 1<<10 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		body, err := io.ReadAll(r.Body)
		var args extenderv1.ExtenderArgs
		if err == nil && json.Unmarshal(body, &args) != nil {
			t.Errorf("not a request of kube-scheduler: %s", body)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[strings.TrimPrefix(r.URL.Path, "/")] = true
		if seen["filter"] && seen["prioritize"] {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
	}))
	defer server.Close()
	config := newClient(t).config
	config.Target, config.Source, config.Attacks = server.Listener.Addr().String(), "127.0.0.66", Attacks()
	report, err := Run(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range []Attack{MadeUp, Known, Foreign, Heavy} {
		if report[attack].Answered == 0 {
			t.Errorf("%s: %+v, want answers", attack, report[attack])
		}
	}
	for _, attack := range []Attack{Bodies, Trickle} {
		if count := report[attack]; count.Sent == 0 || count.Answered > 0 {
			t.Errorf("%s: %+v, want some and no answer", attack, count)
		}
	}
	if got := report[Crowd].Sent; got != crowd {
		t.Errorf("%d idle connections, want %d", got, crowd)
	}
	if total := report.Total(); total.Sent < total.Answered+total.Refused+total.Failed {
		t.Errorf("total %+v: more ended than began", total)
	}
}
