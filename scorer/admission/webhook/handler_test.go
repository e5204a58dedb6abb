package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/evenkeel/evenkeel/scorer/admission"
)

var start = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

// answering is a handler that knows these keys in the namespace shop: "gate", "names" and "ended",
// keys for the pod db-0 of StatefulSets with these UIDs, and "revised" for pods of the template v1.
// Tests may change its time.
type answering struct {
	http.Handler
	registry *prometheus.Registry
	now      time.Time
}

// steeringOf returns the Steering with these keys.
func steeringOf() *unstructured.Unstructured {
	key := func(until time.Duration, by string) map[string]any {
		return map[string]any{"nodes": []any{"n1", "n2"}, "until": start.Add(until).Format(time.RFC3339), "by": by}
	}
	revised, anyOf := key(time.Minute, "Names"), key(time.Minute, "Gate")
	revised["template"], anyOf["template"] = "v1", ""
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "Steering", "metadata": map[string]any{"name": "evenkeel", "namespace": "shop"},
		"targets": map[string]any{
			"gate": key(time.Minute, "Gate"), "names": key(time.Minute, "Names"), "ended": key(0, "Gate"), "revised": revised, "any": anyOf,
			"gate/db-0": key(time.Minute, "Gate"), "names/db-0": key(time.Minute, "Names"), "ended/db-0": key(0, "Gate"), "revised/db-0": revised,
		},
	}}
}

func newAnswering(tb testing.TB) *answering {
	tb.Helper()
	steerings := schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{steerings: "SteeringList"}, steeringOf())
	keys := admission.NewFollowed(client)
	ctx := tb.Context()
	var running sync.WaitGroup
	running.Go(func() { keys.Run(ctx) })
	tb.Cleanup(running.Wait)
	if !keys.Wait(ctx) {
		tb.Fatal("no list came")
	}
	a := &answering{registry: prometheus.NewRegistry(), now: start}
	a.Handler = New(keys, func() time.Time { return a.now }, a.registry)
	return a
}

// review returns a request about a pod, as an API server sends it.
func review(tb testing.TB, p *v1.Pod, changes ...func(*admissionv1.AdmissionReview)) []byte {
	tb.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	r := &admissionv1.AdmissionReview{TypeMeta: reviewV1, Request: &admissionv1.AdmissionRequest{
		UID: "asked", Kind: podV1, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop",
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}}
	for _, change := range changes {
		change(r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func (a *answering) ask(tb testing.TB, body io.Reader) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, Path, body))
	return w
}

// response decodes the answer to a review, which must allow the pod.
func response(tb testing.TB, w *httptest.ResponseRecorder) *admissionv1.AdmissionReview {
	tb.Helper()
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		tb.Fatalf("code %d, %.200q, %v", w.Code, w.Body, err)
	}
	r := answer.Response
	if r == nil || !r.Allowed || answer.Request != nil || (r.PatchType == nil) != (len(r.Patch) == 0) || r.PatchType != nil && *r.PatchType != admissionv1.PatchTypeJSONPatch {
		tb.Fatalf("answer %s", w.Body)
	}
	return &answer
}

// The answer to a review is the patch that steers the pod, or no patch.
func TestReviews(t *testing.T) {
	a := newAnswering(t)
	for name, e := range examples() {
		t.Run(name, func(t *testing.T) {
			got := response(t, a.ask(t, bytes.NewReader(review(t, e.pod))))
			if got.TypeMeta != reviewV1 || got.Response.UID != "asked" {
				t.Errorf("answer %+v to %+v", got.Response, got.TypeMeta)
			}
			p := e.pod
			if len(got.Response.Patch) > 0 {
				p = applied(t, e.pod, got.Response.Patch)
			}
			if diff := cmp.Diff(e.want, outcomeOf(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A pod without a key is not changed, and neither is anything other than a new pod.
func TestReviewsThatChangeNothing(t *testing.T) {
	a := newAnswering(t)
	gate := pod("ReplicaSet", "gate")
	for name, body := range map[string][]byte{
		"an owner without a key": review(t, pod("ReplicaSet", "other")),
		"a key that has ended":   review(t, pod("ReplicaSet", "ended")),
		"another namespace":      review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Namespace = "vault" }),
		"an update":              review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Operation = admissionv1.Update }),
		"a deletion": review(t, gate, func(r *admissionv1.AdmissionReview) {
			r.Request.Operation, r.Request.Object.Raw = admissionv1.Delete, nil
		}),
		"a subresource": review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.SubResource = "binding" }),
		"another kind": review(t, gate, func(r *admissionv1.AdmissionReview) {
			r.Request.Kind = metav1.GroupVersionKind{Version: "v1", Kind: "PodTemplate"}
		}),
		"another version":          review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Kind.Version = "v2" }),
		"a review of another kind": review(t, gate, func(r *admissionv1.AdmissionReview) { r.APIVersion = "admission.k8s.io/v2" }),
		"no pod":                   review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Object.Raw = []byte(`{"spec": 7}`) }),
		"nothing":                  review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Object.Raw = nil }),
		"a list":                   review(t, gate, func(r *admissionv1.AdmissionReview) { r.Request.Object.Raw = []byte(`[]`) }),
	} {
		if got := response(t, a.ask(t, bytes.NewReader(body))); len(got.Response.Patch) > 0 || got.Response.UID != "asked" {
			t.Errorf("%s: %+v", name, got.Response)
		}
	}
	a.now = start.Add(time.Minute)
	if got := response(t, a.ask(t, bytes.NewReader(review(t, gate)))); len(got.Response.Patch) > 0 {
		t.Errorf("a key that has ended since: %s", got.Response.Patch)
	}
	want := `
# HELP evenkeel_webhook_responses_total Responses to the API server about new pods, by result.
# TYPE evenkeel_webhook_responses_total counter
evenkeel_webhook_responses_total{result="refused"} 0
evenkeel_webhook_responses_total{result="steered"} 0
evenkeel_webhook_responses_total{result="unsteered"} 13
`
	if err := testutil.GatherAndCompare(a.registry, strings.NewReader(want), "evenkeel_webhook_responses_total"); err != nil {
		t.Error(err)
	}
}

// A body that is not a review gets an error in one short line. By the webhook's failurePolicy, the
// pod is then created unchanged.
func TestHostileBodies(t *testing.T) {
	a := newAnswering(t)
	large := review(t, pod("ReplicaSet", "gate", func(p *v1.Pod) { p.Annotations = map[string]string{"a": strings.Repeat("x", maxBody)} }))
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "x", "half a review": string(review(t, pod("ReplicaSet", "gate"))[:100]), "a list": "[]", "null": "null", "no request": "{}",
		"another type": `{"request": 7}`, "deep": strings.Repeat(`{"request":`, 20000), "large": string(large), "YAML": "request: {uid: x}",
	} {
		w := a.ask(t, strings.NewReader(body))
		if said := w.Body.String(); w.Code != http.StatusBadRequest || len(said) > 100 || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: code %d, %.200q", name, w.Code, said)
		}
	}
	for name, r := range map[string]*http.Request{
		"GET": httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, nil), "elsewhere": httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil),
	} {
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code < 400 {
			t.Errorf("%s: code %d", name, w.Code)
		}
	}
}

// Quantities that take minutes to parse cause no delay, because steering needs none of them.
func TestAmountsOfPodsAreNotParsed(t *testing.T) {
	a := newAnswering(t)
	const slow = `{"cpu":"1e-99999999"}`
	body := review(t, pod("ReplicaSet", "gate"), func(r *admissionv1.AdmissionReview) {
		raw := string(r.Request.Object.Raw)
		r.Request.Object.Raw = []byte(strings.Replace(raw, `"spec":{`, `"spec":{"overhead":`+slow+`,"resources":{"limits":`+slow+`},"initContainers":[{"name":"a","resources":{"requests":`+slow+`}}],`+
			`"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1e-99999999"}}],`, 1))
		if string(r.Request.Object.Raw) == raw {
			t.Fatal("the pod has no spec")
		}
	})
	begun := time.Now()
	if got := response(t, a.ask(t, bytes.NewReader(body))); len(got.Response.Patch) == 0 {
		t.Error("the pod is not steered")
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the answer took %v", took)
	}
}

// Long lists of short values must not grow to many times their size in memory. Therefore pods with
// such lists are not changed, and no other part of a review is decoded into lists.
func TestLongListsTakeNoMemory(t *testing.T) {
	a := newAnswering(t)
	list, texts := "["+strings.Repeat("{},", 600_000)+"{}]", "["+strings.Repeat(`"",`, 600_000)+`""]`
	ofPod := func(pod string) string { return `"object":` + pod }
	affinity := func(of, terms string) string {
		return ofPod(`{"spec":{"affinity":{"` + of + `":{"` + terms + `DuringSchedulingIgnoredDuringExecution":` + list + `}}}}`)
	}
	for name, request := range map[string]string{
		"owners":       ofPod(`{"metadata":{"ownerReferences":` + list + `}}`),
		"managers":     ofPod(`{"metadata":{"managedFields":` + list + `}}`),
		"finalizers":   ofPod(`{"metadata":{"finalizers":` + texts + `}}`),
		"gates":        ofPod(`{"spec":{"schedulingGates":` + list + `}}`),
		"spread":       ofPod(`{"spec":{"topologySpreadConstraints":` + list + `}}`),
		"nodes":        affinity("nodeAffinity", "preferred"),
		"preferred":    affinity("podAffinity", "preferred"),
		"required":     affinity("podAntiAffinity", "required"),
		"groups":       `"userInfo":{"groups":` + texts + `}`,
		"one by one":   ofPod(`{"spec":{` + strings.Repeat(`"schedulingGates":[{}],`, 80_000) + `"nodeName":""}}`),
		"after quotes": ofPod(`{"metadata":{"name":"\\\"","ownerReferences":` + list + `}}`),
	} {
		body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"asked","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"shop",` + request + `}}`
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		got := response(t, a.ask(t, strings.NewReader(body)))
		goruntime.ReadMemStats(&after)
		if got.Response.UID != "asked" || len(got.Response.Patch) > 0 {
			t.Errorf("%s: answer %+v", name, got.Response)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 12*maxBody {
			t.Errorf("%s: %d bytes took %d MB", name, len(body), took>>20)
		}
	}
}

// A client that sends no body gets no answer, and occupies a slot for at most half a second.
func TestSlowClientsYield(t *testing.T) {
	a := newAnswering(t)
	server := httptest.NewServer(a)
	defer server.Close()
	for range atOnce {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{", Path); err != nil {
			t.Fatal(err)
		}
	}
	body := review(t, pod("ReplicaSet", "gate"))
	for begun := time.Now(); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := server.Client().Do(r)
		if err == nil {
			_ = reply.Body.Close()
		}
		if err == nil && reply.StatusCode == http.StatusOK {
			return
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("no answer beside slow clients: %v, %v", reply, err)
		}
	}
}

// endless is a body that never ends.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

// If all slots are occupied, the next request waits for up to half a second.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := New(nil, time.Now, prometheus.NewRegistry())
		var others sync.WaitGroup
		for range atOnce {
			others.Go(func() {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, Path, endless{ctx}))
			})
		}
		synctest.Wait()
		w, begun := httptest.NewRecorder(), time.Now()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, Path, nil))
		if took := time.Since(begun); w.Code != http.StatusServiceUnavailable || took != within {
			t.Errorf("code %d after %v", w.Code, took)
		}
		stop()
		others.Wait()
	})
}

// Whatever arrives, the answer is either an error or a review that allows the pod, with a patch that applies.
func FuzzReview(f *testing.F) {
	a := newAnswering(f)
	for _, e := range examples() {
		f.Add(review(f, e.pod))
	}
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := a.ask(t, bytes.NewReader(body))
		if w.Code == http.StatusBadRequest {
			return
		}
		answer := response(t, w)
		if len(answer.Response.Patch) == 0 {
			return
		}
		var sent asked
		var p v1.Pod
		if err := utiljson.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		if err := utiljson.Unmarshal(sent.Request.Object.Raw, &p); err != nil {
			t.Fatal(err)
		}
		applied(t, &p, answer.Response.Patch)
	})
}
