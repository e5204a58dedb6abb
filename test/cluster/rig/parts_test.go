package rig

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Tests can crash and restart the parts of a running cluster, configure an extender for
// kube-scheduler, act as a ServiceAccount and find its requests in the audit log, and keep a
// deleted pod for its grace period.
func TestPartsCanBeKilledRestartedAndWatched(t *testing.T) {
	c := start(t, cluster.Options{})
	if _, err := c.AddNodes(t.Context(), 3, cluster.NodeTemplate{}); err != nil {
		t.Fatal(err)
	}
	t.Run("each part comes back after a crash", func(t *testing.T) { crashEach(t, c) })
	t.Run("the scheduler asks an extender", func(t *testing.T) { askExtender(t, c) })
	t.Run("the audit log tells what a service account did", func(t *testing.T) { auditServiceAccount(t, c) })
	t.Run("a pod with grace stays for it after deletion", func(t *testing.T) { holdGrace(t, c) })
}

func crashEach(t *testing.T, c *cluster.Cluster) {
	for _, part := range []cluster.Part{
		cluster.MetricsServer, cluster.Kwok, cluster.Scheduler, cluster.ControllerManager, cluster.APIServer, cluster.Etcd,
	} {
		if err := c.Kill(part); err != nil {
			t.Fatal(err)
		}
		if c.Running(part) {
			t.Errorf("%s is running after Kill", part)
		}
		begin := time.Now()
		if err := c.Restart(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s back in %s", part, time.Since(begin).Round(time.Millisecond))
		begin = time.Now()
		if err := c.Deploy(t.Context(), cluster.Workload{Name: "after-" + string(part), Replicas: 3}); err != nil {
			t.Error(err)
		}
		t.Logf("pods run again %s later", time.Since(begin).Round(time.Millisecond))
	}
}

// neutralExtender keeps every node, gives each the same score, and counts the requests.
func neutralExtender(t *testing.T, filters, scores *atomic.Int64) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var arguments extenderv1.ExtenderArgs
		if err := json.NewDecoder(r.Body).Decode(&arguments); err != nil {
			t.Errorf("decoding the scheduler's request: %v", err)
		}
		var reply any
		switch r.URL.Path {
		case "/filter":
			filters.Add(1)
			reply = extenderv1.ExtenderFilterResult{NodeNames: arguments.NodeNames}
		case "/prioritize":
			scores.Add(1)
			list := extenderv1.HostPriorityList{}
			for _, node := range *arguments.NodeNames {
				list = append(list, extenderv1.HostPriority{Host: node, Score: 5})
			}
			reply = list
		}
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(server.Close)
	return server
}

func askExtender(t *testing.T, c *cluster.Cluster) {
	var filters, scores atomic.Int64
	server := neutralExtender(t, &filters, &scores)
	if err := c.RestartScheduler(t.Context(), cluster.Extender(server.URL)); err != nil {
		t.Fatal(err)
	}
	if scored, err := c.ExtenderScored(t.Context()); err != nil || scored {
		t.Errorf("ExtenderScored before any pod = %v, %v", scored, err)
	}
	if err := c.Deploy(t.Context(), cluster.Workload{Name: "extended", Replicas: 5}); err != nil {
		t.Fatal(err)
	}
	if filters.Load() != 5 || scores.Load() != 5 {
		t.Errorf("extender was asked to filter %d times and to score %d times, want 5 and 5", filters.Load(), scores.Load())
	}
	if scored, err := c.ExtenderScored(t.Context()); err != nil || !scored {
		t.Errorf("ExtenderScored after five pods = %v, %v", scored, err)
	}
	if err := c.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func auditServiceAccount(t *testing.T, c *cluster.Cluster) {
	ctx := t.Context()
	mark, err := c.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	client := serviceAccountClient(t, c, "default", "default")
	if _, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods without a role: %v, want forbidden", err)
	}
	requests, err := c.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	own := requests.By("system:serviceaccount:default:default")
	if got := len(own.To("list", "pods").Forbidden()); got != 1 || len(own) != 1 {
		t.Errorf("audit log has %d refused lists in %d requests of the service account, want 1 in 1: %v", got, len(own), own)
	}
	if got := len(requests.By(cluster.AdminUser).To("create", "serviceaccounts/token")); got != 1 {
		t.Errorf("audit log has %d token requests of the administrator, want 1", got)
	}
}

func serviceAccountClient(t *testing.T, c *cluster.Cluster, namespace, name string) kubernetes.Interface {
	t.Helper()
	path, err := c.KubeconfigFor(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func holdGrace(t *testing.T, c *cluster.Cluster) {
	const grace = 3 * time.Second
	ctx := t.Context()
	if err := c.Deploy(ctx, cluster.Workload{Name: "graceful", Replicas: 1, Grace: grace}); err != nil {
		t.Fatal(err)
	}
	pods, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=graceful"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("listing the pod: %d pods, %v", len(pods.Items), err)
	}
	pod := pods.Items[0].Name
	begin := time.Now()
	if err := c.Client().CoreV1().Pods("default").Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*grace, true, func(ctx context.Context) (bool, error) {
		_, err := c.Client().CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	// deletionTimestamp has whole seconds, so up to one second may be missing.
	if held := time.Since(begin); err != nil || held < grace-time.Second {
		t.Errorf("pod was held for %s (%v), want about %s", held, err, grace)
	}
}

// A cluster stops completely when its context ends, without further calls.
func TestEndOfContextStopsEverything(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := startWith(ctx, t, cluster.Options{})
	cancel()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []cluster.Part{cluster.Etcd, cluster.APIServer, cluster.Kwok, cluster.MetricsServer} {
		if c.Running(part) {
			t.Errorf("%s is running after the end of the context", part)
		}
	}
}
