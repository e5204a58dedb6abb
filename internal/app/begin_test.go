package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// apart is an API server in memory that becomes reachable at a given time.
type apart struct {
	from  time.Time
	asked []string
}

var errRefused = errors.New("connection refused")

func (a *apart) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.Path)
	if time.Now().Before(a.from) {
		return nil, errRefused
	}
	code, body := http.StatusOK, `{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}`
	if strings.Contains(r.URL.Path, "priorityclasses") {
		code, body = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		Request: r,
	}, nil
}

// optionsApart returns the flags of a process that uses such an API server.
func optionsApart(t *testing.T, server *apart, text string, change ...func(*flags.Options)) flags.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options := flags.Options{PolicyFile: path, Namespace: "ns", MetricsAddress: "0", REST: &rest.Config{Host: "http://api", Transport: server}}
	for _, c := range change {
		c(&options)
	}
	return options
}

// runApart returns `evenkeel run` with such an API server.
func runApart(t *testing.T, server *apart, text string, change ...func(*flags.Options)) *evicting {
	t.Helper()
	e, err := newRun(t.Context(), optionsApart(t, server, text, change...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.process.stop)
	return e
}

// A process is created without the API server and answers neutrally until it reaches it. It is
// alive the whole time.
func TestAnsweringBeginsWithoutTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apart{from: time.Now().Add(time.Hour)}
		a, answers, err := newExtender(t.Context(), optionsApart(t, server, measuredPolicy))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		reached := make(chan error)
		go func() { reached <- a.begin(t.Context()) }()
		time.Sleep(30 * time.Minute)
		nodes, reasons, scores := []cluster.NodeIndex{-1, -1}, make([]extender.Reject, 2), make([]int8, 2)
		round, pod := answers.pages.Reports.Answerer.Begin(), &extender.Pod{Namespace: "web", Name: "new", UID: "1"}
		round.Filter(pod, nodes, reasons)
		round.Prioritize(pod, nodes, scores)
		if reasons[0]+reasons[1] != extender.RejectNone || scores[0] != scores[1] {
			t.Errorf("answered %v and %v without knowing anything", reasons, scores)
		}
		livez := httptest.NewRecorder()
		a.health.Livez(livez, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/livez", nil))
		if livez.Code != http.StatusOK {
			t.Errorf("livez answers %d while the API server is away", livez.Code)
		}
		if err := <-reached; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+20*time.Second {
			t.Errorf("reached after %v", took)
		}
	})
}

// A single run fails at once if the API server is unreachable, because its Job counts failures.
func TestASingleRunFailsWithoutTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apart{from: time.Now().Add(time.Hour)}
		began := time.Now()
		err := Run(t.Context(), optionsApart(t, server, byUsage))
		if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "reaching the API server at http://api") || time.Since(began) > time.Minute {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}

// A priority class that the policy names but the cluster lacks is an error once the API server
// reports that it does not exist. Until then, the process waits.
func TestAPriorityClassIsLookedUpOnceTheAPIServerIsReachable(t *testing.T) {
	const naming = upstreamHead + "  pluginConfig:\n  - {name: DefaultEvictor, args: {priorityThreshold: {name: gone}}}\n" +
		"  - {name: RealUsageLowNodeUtilization, args: {}}\n  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n---\n" + loadPolicyHead
	synctest.Test(t, func(t *testing.T) {
		server := &apart{from: time.Now().Add(time.Minute)}
		e, _, err := newServe(t.Context(), optionsApart(t, server, naming, func(o *flags.Options) { o.Interval = time.Minute }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.process.stop)
		began := time.Now()
		err = e.process.begin(t.Context())
		if exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), `there is no priority class "gone"`) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("ended after %v", took)
		}
	})
}

// A leader that cannot read its ledger for a while, because the API server is unreachable, stays
// the leader. Each cycle tries again.
func TestALoopOutlivesAnAPIServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := starting(t, nil, func(o *flags.Options) { o.Interval = time.Minute })
		a.process.kube.Client.(*fake.Clientset).PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errRefused
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if err := a.cycles(ctx); err != nil || time.Since(began) < time.Hour {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}
