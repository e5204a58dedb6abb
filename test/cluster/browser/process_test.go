package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	usagecluster "github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/serve"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

const gib = 1 << 30

// fleet is a source of nodes that have 10 cores, 100 GiB and the usage that the test sets.
type fleet struct {
	mu     sync.Mutex
	used   map[string]usagecluster.Amounts
	failed error
}

func (*fleet) Name() string { return "fleet" }

func (f *fleet) Sample(context.Context, *usagecluster.Snapshot) (usage.Batch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	batch := usage.Batch{Source: "fleet", Received: now}
	for name, used := range f.used {
		readings := usage.LastReadings(now, used)
		for _, r := range usage.LastReadings(now, used) {
			r.Window = usage.Avg5m
			readings = append(readings, r)
		}
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: readings})
	}
	return batch, f.failed
}

// set sets a node's usage in millicores, out of 10,000.
func (f *fleet) set(node string, cpu int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used[node] = usagecluster.Amounts{cpu, 40 * gib}
}

// fail makes the source fail.
func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.used = err, map[string]usagecluster.Amounts{}
}

// process serves the reports that serve and extender serve.
type process struct {
	*fleet
	observer *observer.Observer
	url      string
	nodes    int
	// client is the API server from which the kill switch is read.
	client *fake.Clientset
	pause  *pause.Switch
}

func name(i int) string { return fmt.Sprintf("node-%04d", i) }

// start starts a process with the given number of nodes, of which node-0007 is hot. Readings are
// valid for maxAge.
func start(t *testing.T, nodes int, maxAge time.Duration) *process {
	t.Helper()
	p := &process{fleet: &fleet{used: map[string]usagecluster.Amounts{}}, nodes: nodes, client: fake.NewClientset()}
	p.pause = pause.NewSwitch(p.client, "evenkeel", "evenkeel-ledger", prometheus.NewRegistry())
	levels := thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 55}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	p.observer, err = observer.New(observer.Config{
		Sources: []observer.Source{p.fleet}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: usage.Config{SampleInterval: time.Second, MaxAge: maxAge, MinWindow: 5 * time.Second},
		Hot:   thresholds.HotRule{ConsecutiveSamples: 1, SampleInterval: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.populate()
	p.observer.Sample(t.Context())
	p.serve(t)
	return p
}

// populate adds the nodes, with one pod on each.
func (p *process) populate() {
	for i := range p.nodes {
		p.observer.Store().SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		}})
		pod := fmt.Sprintf("web-%04d", i)
		p.observer.Store().SetPod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod, UID: types.UID(pod)},
			Spec:       v1.PodSpec{NodeName: name(i), Containers: []v1.Container{{Name: "main"}}}, Status: v1.PodStatus{Phase: v1.PodRunning},
		})
		p.set(name(i), int64(300+i*7919%6000))
	}
	p.set(name(7), 9660)
}

// serve serves the reports until the test ends, and waits for the server to stop.
func (p *process) serve(t *testing.T) {
	t.Helper()
	address, err := evenkeel.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + address
	explainer := live.New(p.observer, nil, p.pause, &live.Terms{})
	pages := &serve.Pages{Address: address, Metrics: http.NotFoundHandler(), Reports: &serve.Reports{
		Observer: p.observer, Policies: &announce.Policies{}, Begun: time.Now(), Clock: servertime.New(time.Now), Explainer: explainer,
	}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- pages.Run(ctx) }()
	t.Cleanup(func() {
		began := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		const grace = 4 * time.Second // the server cuts busy connections after 5 s
		if took := time.Since(began); took > grace {
			t.Errorf("the process took %v to stop serving: the stream of the open page held it", took)
		}
	})
	for range 100 {
		if _, err := fetch(t, p.url+"/status"); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the reports are not served")
}

// fetch gets a URL as JSON.
func fetch(t *testing.T, url string) ([]byte, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// ask gets a report and decodes it.
func (p *process) ask(t *testing.T, path string, into any) {
	t.Helper()
	data, err := fetch(t, p.url+path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
}

// move records a move and, if cancelled is set, ends it.
func (p *process) move(pod, from, to string, cancelled bool) {
	p.observer.Ledger().Record(time.Now(), ledger.Intent{
		Namespace: "shop", Pod: pod, PodUID: pod, From: from, To: to, TTL: time.Hour,
		Owner: usagecluster.Owner{UID: "web", Kind: "ReplicaSet", Name: "web"}, Usage: usagecluster.Amounts{500, gib},
	})
	if cancelled {
		p.observer.Ledger().Cancel(pod, time.Now())
	}
}

// setPaused sets or lifts the kill switch, and makes the process read it.
func (p *process) setPaused(t *testing.T, paused bool) {
	t.Helper()
	configs := p.client.CoreV1().ConfigMaps("evenkeel")
	var err error
	if paused {
		_, err = configs.Create(t.Context(), &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: pause.Name}, Data: map[string]string{pause.ReasonKey: "incident 4711"},
		}, metav1.CreateOptions{})
	} else {
		err = configs.Delete(t.Context(), pause.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = p.pause.Read(t.Context(), false) // Pause keeps the state
}
