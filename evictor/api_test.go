package evictor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/evictor/pause"
)

// api is an API server with pods and the ConfigMap of the kill switch. It records its requests.
type api struct {
	t       *testing.T
	client  kubernetes.Interface
	mu      sync.Mutex
	pods    map[string]*v1.Pod // by namespace/name
	paused  string             // value of the annotation; if it is empty, there is no ledger
	evicted []*policyv1.Eviction
	asked   []string
	// answer, if set, answers evictions.
	answer http.HandlerFunc
	// pauseAnswer, if set, answers requests for the kill switch.
	pauseAnswer http.HandlerFunc
}

func newAPI(t *testing.T, pods ...*v1.Pod) *api {
	t.Helper()
	a := &api{t: t, pods: map[string]*v1.Pod{}}
	for _, pod := range pods {
		a.pods[pod.Namespace+"/"+pod.Name] = pod
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	a.client = client
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	switch {
	case len(parts) == 3 && parts[1] == "configmaps":
		a.configMap(w, r, parts[2])
	case len(parts) == 3 && parts[1] == "pods" && r.Method == http.MethodGet:
		a.pod(w, parts[0]+"/"+parts[2])
	case len(parts) == 4 && parts[3] == "eviction" && r.Method == http.MethodPost:
		a.evict(w, r)
	default:
		a.t.Errorf("unexpected %s %s", r.Method, r.URL)
	}
}

func (a *api) configMap(w http.ResponseWriter, r *http.Request, name string) {
	switch {
	case a.pauseAnswer != nil:
		a.pauseAnswer(w, r)
	case a.paused == "" || name != ConfigMapName:
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		answer(w, http.StatusOK, &v1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{pause.Annotation: a.paused}},
		})
	}
}

func (a *api) pod(w http.ResponseWriter, key string) {
	pod := a.pods[key]
	if pod == nil {
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	answer(w, http.StatusOK, pod)
}

func (a *api) evict(w http.ResponseWriter, r *http.Request) {
	eviction := &policyv1.Eviction{}
	if err := json.NewDecoder(r.Body).Decode(eviction); err != nil {
		a.t.Errorf("reading the eviction: %v", err)
	}
	a.evicted = append(a.evicted, eviction)
	if a.answer != nil {
		a.answer(w, r)
		return
	}
	status(w, http.StatusCreated, "")
}

// requests counts the requests by method.
func (a *api) requests(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, asked := range a.asked {
		if strings.HasPrefix(asked, method+" ") {
			n++
		}
	}
	return n
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	outcome := metav1.StatusSuccess
	if code >= http.StatusBadRequest {
		outcome = metav1.StatusFailure
	}
	answer(w, code, &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: outcome, Code: int32(code), Reason: reason, Message: string(reason),
	})
}

// failing returns a handler that answers evictions with a Status.
func failing(code int, reason metav1.StatusReason) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { status(w, code, reason) }
}

// aPod returns a ReplicaSet's pod on the hot node with a grace period of 10 s.
func aPod(name string, change ...func(*v1.Pod)) *v1.Pod {
	controller, grace := true, int64(10)
	pod := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web", "pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: &controller}},
		},
		Spec: v1.PodSpec{NodeName: "hot", TerminationGracePeriodSeconds: &grace},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func terminating(pod *v1.Pod) {
	now := metav1.NewTime(time.Unix(1, 0))
	pod.DeletionTimestamp = &now
}
