package realkubelets

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

// summaries reads /stats/summary of kubelets with the rights of the shipped ServiceAccount.
type summaries struct {
	client *http.Client
	token  string
}

func newSummaries(f *stage.Fixture) *summaries {
	f.T.Helper()
	request := &authenticationv1.TokenRequest{}
	granted, err := f.Client().CoreV1().ServiceAccounts(evenkeel.Namespace).CreateToken(f.T.Context(), "evenkeel-kubelet-source", request, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // kubelets sign their certificates themselves
	f.T.Cleanup(transport.CloseIdleConnections)
	return &summaries{client: &http.Client{Transport: transport, Timeout: 5 * time.Second}, token: granted.Status.Token}
}

// of returns a node's summary, or nil while its kubelet does not answer.
func (s *summaries) of(ctx context.Context, node *kubelets.Node) *stats.Summary {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+node.Address+":10250/stats/summary", http.NoBody)
	if err != nil {
		return nil
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := s.client.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var summary stats.Summary
	if response.StatusCode != http.StatusOK || json.NewDecoder(response.Body).Decode(&summary) != nil {
		return nil
	}
	return &summary
}

// zeros counts the pods of a Deployment that read 0 milli-cores in a summary.
func zeros(summary *stats.Summary, deployment string) (count int) {
	for _, pod := range summary.Pods {
		if strings.HasPrefix(pod.PodRef.Name, deployment+"-") && pod.CPU != nil && pod.CPU.UsageNanoCores != nil && *pod.CPU.UsageNanoCores == 0 {
			count++
		}
	}
	return count
}

// A kubelet reads 0 for pods that it has not measured twice: new ones, and after its
// restart all of them. Evenkeel takes none of these zeros for usage: what it thinks of
// pods and node stays the same.
//
//	node 1: 3 hog × 90m = 270 of 500m = 54 %; from the second half on, a fourth
//
//e2e:tier all
func TestUnmeasuredPodsAreNotIdle(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 1)
	f.Component("kubelet-source")
	hog := burning("hog", cluster.Resources{CPU: "90m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 90, MemoryMiB: 30})
	if err := f.Place(t.Context(), cluster.Placement{Workload: hog, On: stage.On(3, nodes[0].Name)}); err != nil {
		t.Fatal(err)
	}
	f.Serve(f.Policy(fromKubelets("Summary")))
	f.Eventually(time.Minute, "the pods to be measured for a while", func(context.Context) bool {
		known := podUsage(f, "hog")
		return len(known) == 3 && !slices.ContainsFunc(known, func(p pod) bool { return !p.Measured || p.MeasuredSeconds < 30 || p.Usage.CPUMilli < 80 })
	})
	kubelet := newSummaries(f)

	if err := nodes[0].RestartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := watchUsage(f, kubelet, nodes[0])
	t.Logf("figures: after a restart of the kubelet pods read 0 in %d answers of %d", read.zero, read.answers)

	patch := []byte(`{"spec":{"replicas":4}}`)
	if _, err := f.Client().AppsV1().Deployments("shop").Patch(t.Context(), "hog", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(20*time.Second, "a fourth pod on the node", func(context.Context) bool { return len(podUsage(f, "hog")) == 4 })
	read = watchUsage(f, kubelet, nodes[0])
	t.Logf("figures: a new pod read 0 in %d answers of %d", read.zero, read.answers)
}

// pod is what GET /explain/pod says of a pod's usage.
type pod struct {
	Name            string
	Usage           struct{ CPUMilli int64 }
	Measured        bool
	MeasuredSeconds int
}

// podUsage returns that of the pods of a Deployment that Evenkeel knows.
func podUsage(f *stage.Fixture, deployment string) (all []pod) {
	f.T.Helper()
	for _, p := range f.Pods(f.T.Context(), deployment) {
		var explained pod
		if fetch(f, "/explain/pod/shop/"+p.Name, &explained) {
			all = append(all, explained)
		}
	}
	return all
}

type readings struct{ answers, zero int }

// watchUsage watches for longer than a kubelet takes to measure every pod again. It fails
// the case if Evenkeel believes that a pod uses less than it does.
func watchUsage(f *stage.Fixture, kubelet *summaries, node *kubelets.Node) (read readings) {
	f.T.Helper()
	for range 30 {
		if summary := kubelet.of(f.T.Context(), node); summary != nil {
			read.answers++
			if zeros(summary, "hog") > 0 {
				read.zero++
			}
		}
		for _, p := range podUsage(f, "hog") {
			if p.Usage.CPUMilli < 75 {
				f.T.Errorf("pod %s is believed to use %dm, measured: %v", p.Name, p.Usage.CPUMilli, p.Measured)
			}
		}
		if f.T.Failed() {
			return read
		}
		pause(f.T, time.Second)
	}
	return read
}
