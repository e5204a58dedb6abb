package realusage

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/evictor"
	evictorowners "github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
)

// newGate returns an Evictor whose owners, budgets and safeguards allow every pod to be evicted.
func newGate(t *testing.T) *evictor.Evictor {
	t.Helper()
	gate, err := evictor.New(evictor.Config{
		Observer: atRest{}, Cluster: atRest{}, Evictions: atRest{}, DryRun: atRest{}, Clock: atRest{},
		Settings: evictor.Settings{
			Safeguards: safeguards.New(safeguards.Config{}), Deadline: time.Minute, OwnerPercent: 10, SchedulerNames: []string{v1.DefaultSchedulerName},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

// atRest is a cluster in which nothing happens.
type atRest struct {
	evictor.Cluster
	evictor.Evictions
}

func (atRest) Latest() *observer.Observation                      { return nil }
func (atRest) Ledger() *ledger.Ledger                             { return ledger.New(ledger.Config{}) }
func (atRest) Now() time.Time                                     { return time.Unix(1, 0) }
func (atRest) Local() time.Time                                   { return time.Unix(1, 0) }
func (atRest) Siblings(pod *v1.Pod) []*v1.Pod                     { return []*v1.Pod{pod} }
func (atRest) Owner(*v1.Pod) evictorowners.Owner                  { return evictorowners.Owner{Replicas: 1} }
func (atRest) Namespace(string) *v1.Namespace                     { return &v1.Namespace{} }
func (atRest) Budgets(*v1.Pod) []*policyv1.PodDisruptionBudget    { return nil }
func (atRest) Quotas(string) []*v1.ResourceQuota                  { return nil }
func (atRest) Replacement(*ledger.Move) (none ledger.Replacement) { return none }
func (atRest) Waiting() []safeguards.Waiting                      { return nil }
