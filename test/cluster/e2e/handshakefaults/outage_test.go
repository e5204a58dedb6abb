package handshakefaults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// The API server is unavailable for twice the duration of the Lease. Meanwhile nothing is evicted,
// and Evenkeel would still answer kube-scheduler. Afterwards, the process continues.
//
//e2e:tier all
func TestAPIServerAway(t *testing.T) {
	prove(t, outage{
		strike: func(s *scene) {
			if err := s.Kill(cluster.APIServer); err != nil {
				t.Fatal(err)
			}
		},
		lasts: 2 * leaseOver, dark: true,
		meanwhile: func(s *scene) {
			if kept := s.Filter(stage.Listen(), s.skew.Nodes); slices.Contains(kept, s.skew.Hot[0]) {
				t.Errorf("without the API server the extender keeps %v, of which %v are hot", kept, s.skew.Hot)
			}
		},
		heal: func(s *scene) {
			// kube-scheduler's own watches may take another minute to restart because of
			// client-go's backoff. Restarting kube-scheduler avoids that, because a pod that waits
			// then does not wait for Evenkeel.
			for _, part := range []cluster.Part{cluster.APIServer, cluster.Scheduler} {
				if err := s.Restart(t.Context(), part); err != nil {
					t.Fatal(err)
				}
			}
		},
	})
}

// rules returns a step that makes these fault rules apply from then on.
func rules(all ...apifault.Rule) func(*scene) {
	return func(s *scene) { s.proxy.Apply(all...) }
}

// saw returns a step that fails the case unless the fault affected a request.
func saw(kind apifault.Kind) func(*scene) {
	return func(s *scene) {
		if s.proxy.Seen(kind) == 0 {
			s.T.Errorf("no request was %s: the case proves nothing", kind)
		}
	}
}

// With the shipped Lease settings, each call takes five seconds.
//
//e2e:tier all
func TestAPIServerSlow(t *testing.T) {
	prove(t, outage{
		strike: rules(apifault.Rule{Effect: apifault.SlowBy(5 * time.Second)}),
		lasts:  30 * time.Second, meanwhile: saw(apifault.Slow), heal: rules(), patient: true,
	})
}

// The API server answers two of three requests with 429, which is also the status of a budget that
// refuses an eviction, and asks clients to retry after a second.
//
//e2e:tier all
func TestAPIServerThrottles(t *testing.T) {
	prove(t, outage{
		strike: rules(apifault.Rule{Percent: 66, Effect: apifault.WithStatus(http.StatusTooManyRequests, time.Second)}),
		lasts:  20 * time.Second, meanwhile: saw(apifault.Status), heal: rules(),
	})
}

// Three times, the API server answers everything with 500 for long enough to lose the Lease, and
// then works for a few seconds.
//
//e2e:tier all
func TestBurstsOf500(t *testing.T) {
	prove(t, outage{
		strike: func(s *scene) {
			for range 3 {
				s.proxy.Apply(apifault.Rule{Effect: apifault.WithStatus(http.StatusInternalServerError, 0)})
				s.passes(leaseOver + time.Second)
				s.proxy.Apply()
				s.passes(3 * time.Second)
			}
		},
		meanwhile: saw(apifault.Status),
	})
}

// The API server executes all requests, but half of its responses to writes are lost.
//
//e2e:tier all
func TestAnswersAreLost(t *testing.T) {
	prove(t, outage{
		strike: rules(apifault.Rule{
			Verbs: []string{"create", "update", "patch"}, Percent: 50,
			Resources: []string{"pods/eviction", "configmaps", "leases"}, Effect: apifault.OfKind(apifault.Lost),
		}),
		lasts: 20 * time.Second, meanwhile: saw(apifault.Lost), heal: rules(),
	})
}

// All watches are closed and none can resume. Priority and fairness rejects the lists that are then
// needed.
//
//e2e:tier all
func TestListsAreRefused(t *testing.T) {
	prove(t, outage{
		strike: func(s *scene) {
			s.proxy.Apply(
				apifault.Rule{Verbs: []string{"list"}, Effect: apifault.WithStatus(http.StatusTooManyRequests, time.Second)},
				apifault.Rule{Verbs: []string{"watch"}, Effect: apifault.WithStatus(http.StatusGone, 0)},
			)
			if s.proxy.CloseWatches() == 0 {
				t.Error("there were no watches: the case proves nothing")
			}
		},
		lasts: 20 * time.Second, meanwhile: saw(apifault.Status), heal: rules(),
	})
}

// While the process is cut off, etcd is compacted, and the API server is restarted so that its
// memory holds no older state. Once reconnected, the process learns that its watches are too old,
// and lists again.
//
//e2e:tier all
func TestWatchesAreTooOld(t *testing.T) {
	prove(t, outage{
		strike: func(s *scene) {
			if err := s.proxy.Refuse(); err != nil {
				t.Fatal(err)
			}
			for _, pod := range s.Pods(t.Context(), "bg") { // creates revisions that the process misses
				if err := s.SetUsage(t.Context(), pod.Namespace, pod.Name, cluster.Resources{CPU: "301m"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.queue.shut(true)
			if err := s.Kill(cluster.APIServer); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(t.Context(), cluster.APIServer); err != nil {
				t.Fatal(err)
			}
		},
		heal: func(s *scene) {
			if err := s.proxy.Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Eventually(normalWithin, "the API server to tell that watches are too old", func(context.Context) bool { return s.proxy.TooOld() > 0 })
		},
	})
}

// The process is killed between two moves, as happens at its memory limit, and is restarted.
//
//e2e:tier all
func TestKilledMidCycle(t *testing.T) {
	prove(t, outage{strike: func(s *scene) {
		s.process.Kill()
		s.process = s.Serve(s.policy, s.args...)
	}})
}

// A hot node is deleted between two moves off it. No more of its pods are evicted, and they are
// recreated elsewhere.
//
//e2e:tier all
func TestNodeDeletedMidCycle(t *testing.T) {
	var deleted time.Time
	prove(t, outage{
		strike: func(s *scene) {
			if err := s.Client().CoreV1().Nodes().Delete(t.Context(), s.skew.Hot[0], metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			deleted = time.Now()
		},
		meanwhile: func(s *scene) {
			on := func(pod v1.Pod) bool { return pod.Spec.NodeName == s.skew.Hot[0] }
			s.Eventually(2*time.Minute, "its pods to be gone", func(ctx context.Context) bool { return !slices.ContainsFunc(s.Pods(ctx, "hog"), on) })
			document, _ := s.witness.Document()
			for _, eviction := range s.witness.Evictions() {
				move, _ := document.Of(s.witness.UID(eviction.Pod))
				if late := eviction.At.Sub(deleted); move.From == s.skew.Hot[0] && late > time.Second {
					t.Errorf("pod %s was evicted from the node %v after that was deleted", eviction.Pod, late)
				}
			}
		},
	})
}

// A ResourceQuota allows no further ConfigMap, and there is no ledger yet. Nothing is evicted that
// cannot be recorded. Once the quota allows it, the ledger is created and pods are evicted.
//
//e2e:tier all
func TestQuotaOfConfigMapsIsFull(t *testing.T) {
	quotas := stage.Cluster().Client().CoreV1().ResourceQuotas(evenkeel.Namespace)
	lift := func(ctx context.Context) error { return quotas.Delete(ctx, "full", metav1.DeleteOptions{}) }
	prove(t, outage{
		before: func(s *scene) {
			s.fillQuota("full")
			ctx := context.WithoutCancel(t.Context())
			t.Cleanup(func() { _ = lift(ctx) }) // the quota has usually been lifted already
		},
		lasts: 25 * time.Second,
		meanwhile: func(s *scene) {
			s.Eventually(time.Minute, "evicting to end for it", func(context.Context) bool { return strings.Contains(s.process.Log(), "LedgerUnwritable") })
			s.stays(0, 5*time.Second)
			s.Firing("the ledger cannot be stored", []string{"EvenkeelLedgerUnwritable"}, s.metrics)
		},
		heal: func(*scene) {
			if err := lift(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// fillQuota limits the ConfigMaps in Evenkeel's namespace to their current number.
func (s *scene) fillQuota(name string) {
	s.T.Helper()
	const counted = v1.ResourceName("count/configmaps")
	there, err := s.Client().CoreV1().ConfigMaps(evenkeel.Namespace).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	quota := &v1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.ResourceQuotaSpec{Hard: v1.ResourceList{counted: *resource.NewQuantity(int64(len(there.Items)), resource.DecimalSI)}},
	}
	quotas := s.Client().CoreV1().ResourceQuotas(evenkeel.Namespace)
	if _, err := quotas.Create(s.T.Context(), quota, metav1.CreateOptions{}); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(30*time.Second, "the quota to be full", func(ctx context.Context) bool {
		stored, err := quotas.Get(ctx, name, metav1.GetOptions{})
		used := stored.Status.Used[counted]
		return err == nil && used.Value() == int64(len(there.Items))
	})
}
