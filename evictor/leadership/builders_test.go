package leadership

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// shelf is an API server that stores one Lease, with versions.
type shelf struct {
	*fake.Clientset

	mu      sync.Mutex
	lease   *coordinationv1.Lease // nil before it is created
	version int
	// fails, if set, is the error of each request. between, if set, is called once between reading
	// and writing.
	fails   error
	between func(*coordinationv1.Lease)
	// late is how long a write takes to be answered.
	late time.Duration
	// holders are the identities for which the Lease was written, in order, and written is the time
	// of the last write.
	holders []string
	written time.Time
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func newShelf() *shelf {
	s := &shelf{Clientset: &fake.Clientset{}}
	s.AddReactor("*", "leases", s.answer)
	return s
}

func (s *shelf) answer(action clienttesting.Action) (bool, runtime.Object, error) {
	done, object, err := s.handle(action)
	if _, reads := action.(clienttesting.GetAction); !reads {
		time.Sleep(s.late)
	}
	return done, object, err
}

func (s *shelf) handle(action clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch action := action.(type) {
	case clienttesting.GetAction:
		if s.fails != nil {
			return true, nil, s.fails
		}
		if s.lease == nil {
			return true, nil, apierrors.NewNotFound(leases, action.GetName())
		}
		read := s.lease.DeepCopy()
		if s.between != nil {
			s.between(s.lease)
			s.between = nil
			s.stamp()
		}
		return true, read, nil
	case clienttesting.CreateActionImpl:
		return s.write(action.GetObject(), s.lease == nil)
	case clienttesting.UpdateActionImpl:
		given, _ := action.GetObject().(*coordinationv1.Lease)
		return s.write(given, s.lease != nil && given.ResourceVersion == s.lease.ResourceVersion)
	}
	return false, nil, nil
}

func (s *shelf) write(object runtime.Object, accepted bool) (bool, runtime.Object, error) {
	given, _ := object.(*coordinationv1.Lease)
	switch {
	case s.fails != nil:
		return true, nil, s.fails
	case !accepted:
		return true, nil, apierrors.NewConflict(leases, given.Name, nil)
	}
	s.lease = given.DeepCopy()
	s.stamp()
	return true, s.lease.DeepCopy(), nil
}

func (s *shelf) stamp() {
	s.version++
	s.written = time.Now()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	if holder := holderOf(s.lease); len(s.holders) == 0 || s.holders[len(s.holders)-1] != holder {
		s.holders = append(s.holders, holder)
	}
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// set changes how the shelf answers.
func (s *shelf) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *shelf) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return holderOf(s.lease)
}

// takenBy returns a change that gives a Lease to another process.
func takenBy(holder string) func(*coordinationv1.Lease) {
	return func(lease *coordinationv1.Lease) { lease.Spec.HolderIdentity = &holder }
}

// newLease returns a Lease with the shipped durations.
func (s *shelf) newLease(t *testing.T, change ...func(*LeaseConfig)) *Lease {
	t.Helper()
	config := LeaseConfig{
		Client: s, Namespace: "ns", Name: "evenkeel", Elect: true, Progress: func() {},
		Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
	for _, c := range change {
		c(&config)
	}
	l, err := NewLease(config)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// terms counts the terms of leaders and records which of them works when.
type terms struct {
	mu      sync.Mutex
	working int
	begun   []time.Time
	ended   []time.Time
	most    int
}

// work returns a function that runs until its context ends, and then for longer.
func (w *terms) work(longer time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		w.mu.Lock()
		w.working++
		w.most = max(w.most, w.working)
		w.begun = append(w.begun, time.Now())
		w.mu.Unlock()
		<-ctx.Done()
		time.Sleep(longer)
		w.mu.Lock()
		w.working--
		w.ended = append(w.ended, time.Now())
		w.mu.Unlock()
		return nil
	}
}

func (w *terms) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.begun)
}
