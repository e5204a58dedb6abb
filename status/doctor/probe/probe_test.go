package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status/doctor"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// authority is an API server that grants what the test allows.
func authority(allow func(authorizationv1.ResourceAttributes) (bool, error)) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		allowed, err := allow(*review.Spec.ResourceAttributes)
		review.Status.Allowed = allowed
		return true, review, err
	})
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
			UserInfo: authenticationv1.UserInfo{Username: "system:serviceaccount:evenkeel:evenkeel"},
		}}, nil
	})
	return client
}

func TestRights(t *testing.T) {
	down := errors.New("down")
	client := authority(func(asked authorizationv1.ResourceAttributes) (bool, error) {
		switch {
		case asked.Resource == "leases":
			return false, down
		case asked.Resource == "pods" && asked.Subresource == "eviction":
			return false, nil
		}
		return asked == authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: "mon", Name: "token"} ||
			asked == authorizationv1.ResourceAttributes{Verb: "list", Resource: "nodes", Group: "metrics.k8s.io"}, nil
	})
	needs := []doctor.Need{
		{Verb: "get", Resource: "secrets", Namespace: "mon", Name: "token"},
		{Verb: "list", Group: "metrics.k8s.io", Resource: "nodes"},
		{Verb: "create", Resource: "pods/eviction"},
		{Verb: "get", Group: "coordination.k8s.io", Resource: "leases"},
	}
	rights := Rights(t.Context(), client, needs)
	var got []string
	for i, answer := range rights.Answers {
		if answer.Need != needs[i] {
			t.Errorf("answer %d is about %+v", i, answer.Need)
		}
		got = append(got, fmt.Sprint(answer.Resource, " ", answer.Allowed, " ", errors.Is(answer.Err, down)))
	}
	want := []string{"secrets true false", "nodes true false", "pods/eviction false false", "leases false true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if rights.Identity != "system:serviceaccount:evenkeel:evenkeel" {
		t.Errorf("identity: got %q", rights.Identity)
	}
}

// An explicit denial counts, whatever else the answer contains. It is not an error if the API
// server does not report the user.
func TestDeniedRights(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Resource == "selfsubjectreviews" {
			return true, nil, errors.New("the server could not find the requested resource")
		}
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}}, nil
	})
	rights := Rights(t.Context(), client, []doctor.Need{{Verb: "list", Resource: "nodes"}})
	if rights.Answers[0].Allowed || rights.Answers[0].Err != nil || rights.Identity != "" {
		t.Errorf("got %+v", rights)
	}
}

func TestExtender(t *testing.T) {
	cases := map[string]struct {
		answer string
		code   int
		want   doctor.Extender
		err    string
	}{
		"asked": {
			answer: `{"started":"2026-03-01T11:00:00Z","asked":40,"lastAsked":"2026-03-01T11:59:00Z","readyNodes":3}`,
			want:   doctor.Extender{Asked: 40, Started: noon.Add(-time.Hour), LastAsked: noon.Add(-time.Minute)},
		},
		"never asked, and blind": {
			answer: `{"started":"2026-03-01T11:00:00Z","asked":0,"gate":"NoUsageData","gateDetail":"NoUsageData: 0 of 3"}`,
			want:   doctor.Extender{Started: noon.Add(-time.Hour), Gate: "NoUsageData: 0 of 3"},
		},
		"an older one":        {answer: `{"asked":3,"gate":"NoUsageData"}`, want: doctor.Extender{Asked: 3, Gate: "NoUsageData"}},
		"a time of nonsense":  {answer: `{"asked":3,"started":"yesterday"}`, want: doctor.Extender{Asked: 3}},
		"another program":     {answer: `{"status":"success"}`, err: "is not an extender of Evenkeel's"},
		"no JSON":             {answer: `<html>`, err: "reading /status"},
		"broken off":          {answer: `{"asked":`, err: "reading /status"},
		"not found":           {answer: "no", code: 404, err: "404"},
		"larger than allowed": {answer: `{"moves":["` + strings.Repeat("x", maxStatusBytes) + `"],"asked":1}`, err: "reading /status"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prefix/status" {
					t.Errorf("requested %s", r.URL)
				}
				if tc.code != 0 {
					w.WriteHeader(tc.code)
				}
				_, _ = w.Write([]byte(tc.answer))
			}))
			defer server.Close()
			got := Extender(t.Context(), &remote.Extender{URL: server.URL + "/prefix"})
			if tc.err != "" {
				if got.Err == nil || !strings.Contains(got.Err.Error(), tc.err) {
					t.Errorf("got %v, want %q", got.Err, tc.err)
				}
				return
			}
			tc.want.URL = server.URL + "/prefix"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// An invalid address is reported, but a password in it is not.
func TestExtenderAddresses(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8888", "ftp://x", "http://", "http://\x7f"} {
		if got := Extender(t.Context(), &remote.Extender{URL: address}); got.Err == nil {
			t.Errorf("%q: got %+v", address, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := Extender(ctx, &remote.Extender{URL: "http://me:hunter2@127.0.0.1:1"})
	if got.Err == nil || strings.Contains(got.URL+got.Err.Error(), "hunter2") {
		t.Errorf("got %+v", got)
	}
}

func TestSchedulerConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, make([]byte, 3*doctor.MaxSchedulerConfigBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := SchedulerConfig(path)
	if err != nil || len(config.Data) != doctor.MaxSchedulerConfigBytes+1 {
		t.Errorf("got %d bytes, %v", len(config.Data), err)
	}
	if _, err := SchedulerConfig(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// scripted is a source with one reading for each request.
type scripted struct {
	name    string
	batches []usage.Batch
	err     error
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	if s.err != nil {
		return usage.Batch{Source: s.name, Nodes: []usage.NodeSample{{Name: "half"}}}, s.err
	}
	batch := s.batches[0]
	s.batches = s.batches[1:]
	batch.Source, batch.Received = s.name, noon
	return batch, nil
}

func snapshot() *cluster.Snapshot {
	amounts := cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 64 << 30}
	pod := &cluster.Pod{UID: "p", Namespace: "web", Name: "p", Node: "n0", Started: noon.Add(-time.Hour)}
	return &cluster.Snapshot{Nodes: []*cluster.NodePods{
		{Node: cluster.Node{Name: "n0", Ready: true, Allocatable: amounts, Capacity: amounts}, Pods: []*cluster.Pod{pod}},
	}}
}

func sample(used cluster.Amounts, pods ...string) usage.Batch {
	batch := usage.Batch{Nodes: []usage.NodeSample{{Name: "n0", Readings: usage.LastReadings(noon.Add(-time.Second), used)}}}
	for _, name := range pods {
		batch.Pods = append(batch.Pods, usage.PodSample{
			Namespace: "web", Name: name, Last: usage.Sample{At: noon.Add(-time.Second), Used: cluster.Amounts{cluster.CPU: 1000, cluster.Memory: 1 << 30}},
		})
	}
	return batch
}

func newSourceReader(t *testing.T, sources ...observer.Source) *SourceReader {
	t.Helper()
	reader, err := NewSourceReader(SourceReaderConfig{Sources: sources, Now: func() time.Time { return noon }, Usage: usage.Config{
		SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// Every source is asked, even if earlier ones were complete, and each is judged on its own. It is
// therefore not a mistake if two of them report the same pod.
func TestSourceReaderAsksEverySource(t *testing.T) {
	good := cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 20 << 30}
	first := &scripted{name: "first", batches: []usage.Batch{sample(good, "p")}}
	second := &scripted{name: "second", batches: []usage.Batch{sample(good, "p", "gone")}}
	broken := &scripted{name: "broken", err: errors.New("down")}
	r := newSourceReader(t, first, broken, second).Ask(t.Context(), snapshot())
	if r.Sources[1].Err == nil || len(r.Sources[1].Batch.Nodes) != 0 {
		t.Errorf("broken: got %+v", r.Sources[1])
	}
	if got := r.Sources[0].Problems; len(got) != 0 {
		t.Errorf("first: got %v", got)
	}
	want := usage.Problems{usage.UnmatchedPod: {Count: 1, Examples: []string{"pod web/gone"}}}
	if diff := cmp.Diff(want, r.Sources[2].Problems); diff != "" {
		t.Errorf("second (-want +got)\n%s", diff)
	}
	if r.View.Nodes[0].Source != "first" {
		t.Errorf("together: got %q", r.View.Nodes[0].Source)
	}
}

// A source that reads counters is complete only after the second reading.
func TestSourceReaderIncomplete(t *testing.T) {
	counters := sample(cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 20 << 30})
	counters.Nodes[0].Readings = counters.Nodes[0].Readings[1:] // no CPU yet
	source := &scripted{name: "s", batches: []usage.Batch{counters, sample(cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 20 << 30})}}
	reader, load := newSourceReader(t, source), policy.Default(kinds.All)
	incomplete := func(r *doctor.Readings) bool {
		installation := doctor.Installation{Load: &load, Readings: r}
		return installation.Incomplete()
	}
	if r := reader.Ask(t.Context(), snapshot()); !incomplete(r) || r.View.Nodes[0].Unknown != reasons.NoUsageSample {
		t.Errorf("first reading: got %+v", r.View.Nodes[0])
	}
	if r := reader.Ask(t.Context(), snapshot()); incomplete(r) || r.View.Nodes[0].Unknown != reasons.WindowTooShort {
		t.Errorf("second reading: got %+v", r.View.Nodes[0])
	}
}

func TestNewPanelWantsSourcesAndAClock(t *testing.T) {
	if _, err := NewSourceReader(SourceReaderConfig{}); err == nil {
		t.Error("no error")
	}
	if _, err := NewSourceReader(SourceReaderConfig{Sources: []observer.Source{&scripted{}}, Now: time.Now}); err == nil {
		t.Error("no error for a usage store that cannot be")
	}
}
