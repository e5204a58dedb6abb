package faultproxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
	"github.com/evenkeel/evenkeel/test/cluster/faultproxy"
)

const (
	head  = `{"status":"success","data":{"resultType":"vector","result":[`
	tail  = `]}}`
	nodeA = `{"metric":{"instance":"a"},"value":[100.5,"8"]}`
	nodeB = `{"metric":{"instance":"b"},"value":[100.5,"6"]}`
	nodeC = `{"metric":{"instance":"c"},"value":[100.5,"4"]}`
	pod   = `{"metric":{"pod":"p"},"value":[100.5,"2"]}`
)

func TestFaultsOfValues(t *testing.T) {
	whole := head + nodeA + "," + nodeB + "," + nodeC + "," + pod + tail
	tests := map[string]struct {
		fault        fault.Fault
		answer, want string
	}{
		"no fault": {answer: whole, want: whole},
		"an empty vector": {
			fault: fault.OfKind(fault.Missing), answer: whole, want: head + tail,
		},
		"half of the nodes are missing, pods are not": {
			fault: fault.OfKind(fault.HalfMissing), answer: whole, want: head + nodeB + "," + pod + tail,
		},
		"one node is missing": {
			fault: fault.OfKind(fault.OneMissing), answer: whole, want: head + nodeB + "," + nodeC + "," + pod + tail,
		},
		"values are no number": {
			fault: fault.OfKind(fault.NaN), answer: head + nodeA + tail,
			want: head + `{"metric":{"instance":"a"},"value":[100.5,"NaN"]}` + tail,
		},
		"values are negative": {
			fault: fault.OfKind(fault.Negative), answer: head + nodeA + tail,
			want: head + `{"metric":{"instance":"a"},"value":[100.5,"-1"]}` + tail,
		},
		"values are ten times the truth": {
			fault: fault.OfKind(fault.Tenfold), answer: head + nodeA + tail,
			want: head + `{"metric":{"instance":"a"},"value":[100.5,"80"]}` + tail,
		},
		"values are fractions": {
			fault: fault.OfKind(fault.Hundredth), answer: head + nodeA + tail,
			want: head + `{"metric":{"instance":"a"},"value":[100.5,"0.08"]}` + tail,
		},
		"timestamps are off": {
			fault: fault.ShiftedBy(-time.Minute), answer: head + nodeA + tail,
			want: head + `{"metric":{"instance":"a"},"value":[40.5,"8"]}` + tail,
		},
		"each series comes twice": {
			fault: fault.OfKind(fault.Duplicate), answer: head + nodeA + tail,
			want: head + nodeA + `,{"metric":{"instance":"a","replica":"b"},"value":[100.5,"4"]}` + tail,
		},
		"each series of a matrix comes twice": {
			fault:  fault.OfKind(fault.Duplicate),
			answer: `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"8"],[2,"6"]]}]}}`,
			want: `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"8"],[2,"6"]]},` +
				`{"metric":{"replica":"b"},"values":[[1,"4"],[2,"3"]]}]}}`,
		},
		"what is no vector passes": {
			fault: fault.OfKind(fault.NaN), answer: "not JSON", want: "not JSON",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			proxy := start(t, tc.answer)
			proxy.SetFault(tc.fault)
			if diff := cmp.Diff(tc.want, get(t, proxy.URL()+"/api/v1/query?query=up")); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			proxy.SetFault(fault.Fault{})
			if diff := cmp.Diff(tc.answer, get(t, proxy.URL()+"/api/v1/query?query=up")); diff != "" {
				t.Errorf("answer of the mended proxy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherAnswersPass(t *testing.T) {
	proxy := start(t, head+nodeA+tail)
	proxy.SetFault(fault.OfKind(fault.Missing))
	if got := get(t, proxy.URL()+"/-/ready"); got != head+nodeA+tail {
		t.Errorf("answer %q, want it unchanged", got)
	}
	if proxy.Requests() != 1 {
		t.Errorf("%d requests counted, want 1", proxy.Requests())
	}
}

func start(t *testing.T, truth string) *faultproxy.Proxy {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, truth) }))
	t.Cleanup(server.Close)
	proxy, err := faultproxy.Start(context.WithoutCancel(t.Context()), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Stop(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
