package extender

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

func TestFilterReply(t *testing.T) {
	hot := RejectHot.Message()
	for name, tc := range map[string]struct {
		answerer *fakeAnswerer
		listed   int
		nodes    string // NodeNames of the request
		query    string
		want     string
	}{
		"nothing rejected: the names come back as they were": {
			answerer: newFakeAnswerer("a", "b"), nodes: `[ "a" , "b"]`, want: `{"NodeNames":["a" , "b"]}`,
		},
		"hot nodes are left out and named with the reason": {
			answerer: newFakeAnswerer("a", "b", "c", "d").reject(RejectHot, "b", "c"), nodes: `["a","b","c","d"]`,
			want: `{"NodeNames":["a","d"],"FailedAndUnresolvableNodes":{"b":"` + hot + `","c":"` + hot + `"}}`,
		},
		"the first and the last rejected": {
			answerer: newFakeAnswerer("a", "b", "c").reject(RejectSource, "a", "c"), nodes: `["a","b","c"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"` + RejectSource.Message() + `","c":"` + RejectSource.Message() + `"}}`,
		},
		"a destination alone": {
			answerer: newFakeAnswerer("a", "b").reject(RejectNotDestination, "a"), nodes: `["a","b"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"` + RejectNotDestination.Message() + `"}}`,
		},
		"more rejected than are listed": {
			answerer: newFakeAnswerer("a", "b", "c").reject(RejectHot, "a", "b"), nodes: `["a","b","c"]`, listed: 1,
			want: `{"NodeNames":["c"],"FailedAndUnresolvableNodes":{"a":"` + hot + `"}}`,
		},
		"more rejected than listed, but all are requested": {
			answerer: newFakeAnswerer("a", "b", "c").reject(RejectHot, "a", "b"), nodes: `["a","b","c"]`, listed: 1, query: "?full",
			want: `{"NodeNames":["c"],"FailedAndUnresolvableNodes":{"a":"` + hot + `","b":"` + hot + `"}}`,
		},
		"none listed": {
			answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a"), nodes: `["a","b"]`, listed: -1, want: `{"NodeNames":["b"]}`,
		},
		"all rejected: all are kept": {
			answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a", "b"), nodes: `["a","b"]`, want: `{"NodeNames":["a","b"]}`,
		},
		"the only node rejected: it is kept": {
			answerer: newFakeAnswerer("a").reject(RejectSource, "a"), nodes: `["a"]`, want: `{"NodeNames":["a"]}`,
		},
		"unknown nodes are kept, whatever the answerer returns": {
			answerer: newFakeAnswerer("a").reject(RejectHot, "a"), nodes: `["x","a","y"]`,
			want: `{"NodeNames":["x","y"],"FailedAndUnresolvableNodes":{"a":"` + hot + `"}}`,
		},
		"escaped names are recognized and come back unchanged": {
			answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a"), nodes: `["\u0061","\u0062"]`,
			want: `{"NodeNames":["\u0062"],"FailedAndUnresolvableNodes":{"\u0061":"` + hot + `"}}`,
		},
		"a reason that is not in the table": {
			answerer: newFakeAnswerer("a", "b").reject(200, "a"), nodes: `["a","b"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"rejected by evenkeel"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, Config{Answerer: tc.answerer, ListedRejects: tc.listed})
			code, got := post(t, s, "/filter"+tc.query, []byte(`{"Pod":{},"Nodes":null,"NodeNames":`+tc.nodes+`}`))
			if want := tc.want + "\n"; code != http.StatusOK || got != want {
				t.Errorf("status %d\n got %s want %s", code, got, want)
			}
		})
	}
}

func TestPrioritizeReply(t *testing.T) {
	for name, tc := range map[string]struct {
		answerer *fakeAnswerer
		nodes    string
		query    string
		want     string
	}{
		"the lowest score is subtracted from all": {
			// 3 is the lowest: 10-3, 3-3 (which is left out) and 4-3
			answerer: newFakeAnswerer("a", "b", "c").score(10, "a").score(3, "b").score(4, "c"), nodes: `["a","b","c"]`,
			want: `[{"Host":"a","Score":7},{"Host":"c","Score":1}]`,
		},
		"with the lowest at 0 the scores stand": {
			answerer: newFakeAnswerer("a", "b").score(10, "b"), nodes: `["a","b"]`, want: `[{"Host":"b","Score":10}]`,
		},
		"all alike: nothing to say": {
			answerer: newFakeAnswerer("a", "b").score(5, "a", "b"), nodes: `["a","b"]`, want: `[]`,
		},
		"asked for everything": {
			answerer: newFakeAnswerer("a", "b").score(7, "a"), nodes: `["a","b","x"]`, query: "?full",
			want: `[{"Host":"a","Score":7},{"Host":"b","Score":0},{"Host":"x","Score":5}]`,
		},
		"scores outside the range of the wire are brought into it": {
			answerer: newFakeAnswerer("a", "b").score(100, "a").score(-100, "b"), nodes: `["a","b"]`, want: `[{"Host":"a","Score":10}]`,
		},
		"unknown nodes get the answerer's neutral score": {
			answerer: newFakeAnswerer("a", "b").score(10, "a"), nodes: `["a","x","b"]`,
			want: `[{"Host":"a","Score":10},{"Host":"x","Score":5}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, Config{Answerer: tc.answerer})
			code, got := post(t, s, "/prioritize"+tc.query, []byte(`{"Pod":{},"NodeNames":`+tc.nodes+`}`))
			if want := tc.want + "\n"; code != http.StatusOK || got != want {
				t.Errorf("status %d\n got %s want %s", code, got, want)
			}
		})
	}
}

// TestWholeNodes verifies that Node objects are returned byte by byte.
func TestWholeNodes(t *testing.T) {
	answerer := newFakeAnswerer("a", "b", "c").reject(RejectHot, "b").score(9, "c")
	s := newTestServer(t, Config{Answerer: answerer})
	body := []byte(`{"Pod":{},"Nodes":{"metadata":{},"items":[` +
		`{"metadata":{"name":"a","x":[1,2]}}, {"metadata":{"name":"b"}},{"spec":{"y":"\u00e9"},"metadata":{"name":"c"}},{}]},"NodeNames":null}`)
	want := `{"Nodes":{"items":[{"metadata":{"name":"a","x":[1,2]}},{"spec":{"y":"\u00e9"},"metadata":{"name":"c"}},{}]},` +
		`"FailedAndUnresolvableNodes":{"b":"` + RejectHot.Message() + `"}}` + "\n"
	if _, got := post(t, s, "/filter", body); got != want {
		t.Errorf("filter\n got %s want %s", got, want)
	}
	want = `[{"Host":"c","Score":9},{"Host":"","Score":5}]` + "\n"
	if _, got := post(t, s, "/prioritize", body); got != want {
		t.Errorf("prioritize\n got %s want %s", got, want)
	}
}

// TestNamesAndNodes verifies that names take precedence over whole nodes, in either order.
func TestNamesAndNodes(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer()})
	nodes := `"Nodes":{"items":[{"metadata":{"name":"whole"}}]}`
	for body, want := range map[string]string{
		`{"Pod":{},` + nodes + `,"NodeNames":["n"]}`: `{"NodeNames":["n"]}`,
		`{"Pod":{},"NodeNames":["n"],` + nodes + `}`: `{"NodeNames":["n"]}`,
		`{"Pod":{},` + nodes + `,"NodeNames":[]}`:    `{"Nodes":{"items":[{"metadata":{"name":"whole"}}]}}`,
		`{"Pod":{},"NodeNames":[],` + nodes + `}`:    `{"Nodes":{"items":[{"metadata":{"name":"whole"}}]}}`,
	} {
		if _, got := post(t, s, "/filter", []byte(body)); got != want+"\n" {
			t.Errorf("%s\n got %s want %s", body, got, want)
		}
	}
}

// TestPooledExchanges verifies that nothing from one request shows up in the
// next.
func TestPooledExchanges(t *testing.T) {
	answerer := newFakeAnswerer("a", "b").reject(RejectHot, "b")
	var got Pod
	answerer.before = func(pod *Pod) { got = *pod }
	s := newTestServer(t, Config{Answerer: answerer})
	nodes := &v1.NodeList{Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}}
	post(t, s, "/filter", marshal(t, extenderv1.ExtenderArgs{Pod: realisticPod(), Nodes: nodes}))
	_, reply := post(t, s, "/filter", []byte(`{"Pod":{},"NodeNames":["x"]}`))
	if want := (Pod{CPUMilli: Absent, MemoryBytes: Absent}); got != want {
		t.Errorf("pod %+v, want %+v", got, want)
	}
	if want := `{"NodeNames":["x"]}` + "\n"; reply != want {
		t.Errorf("got %s want %s", reply, want)
	}
}

// TestRejects verifies that the reasons have distinct labels, and messages that need no escaping in
// JSON.
func TestRejects(t *testing.T) {
	seen := map[string]bool{}
	for r := range rejectCount + 1 {
		if seen[r.String()] || seen[r.Message()] {
			t.Errorf("%s: label or message occurs twice", r)
		}
		seen[r.String()], seen[r.Message()] = true, true
		quoted := []byte(`"` + r.Message() + `"`)
		if end := jsonscan.PlainEnd(quoted, 1); end != len(quoted)-1 {
			t.Errorf("%s: message %q needs escaping", r, r.Message())
		}
	}
}
