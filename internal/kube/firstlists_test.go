package kube

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// listing is a factory whose kinds are completely listed after a while.
type listing struct {
	informers.SharedInformerFactory
	began time.Time
	after map[reflect.Type]time.Duration
}

func (l *listing) WaitForCacheSync(stop <-chan struct{}) map[reflect.Type]bool {
	<-stop
	synced := map[reflect.Type]bool{}
	for kind, after := range l.after {
		synced[kind] = time.Since(l.began) >= after
	}
	return synced
}

const never = 1000 * time.Hour

// The process waits for first lists as long as the missing ones make progress, and gives up soon if
// they do not.
func TestFirstLists(t *testing.T) {
	pods, csiNodes := reflect.TypeFor[*v1.Pod](), reflect.TypeFor[*storagev1.CSINode]()
	cases := map[string]struct {
		after map[reflect.Type]time.Duration
		fed   time.Duration
		// until is for how long each resource makes progress.
		until map[string]time.Duration
		took  time.Duration
		want  string
	}{
		"at once":                           {after: map[reflect.Type]time.Duration{pods: 0, csiNodes: 0}},
		"pods that keep coming for an hour": {after: map[reflect.Type]time.Duration{pods: time.Hour, csiNodes: 0}, until: map[string]time.Duration{"pods": time.Hour}, took: time.Hour},
		"pods that stop coming":             {after: map[reflect.Type]time.Duration{pods: never, csiNodes: 0}, until: map[string]time.Duration{"pods": 10 * time.Minute}, took: 12 * time.Minute, want: "nothing new for 2m0s of Pod"},
		"the existing ones keep coming":     {after: map[reflect.Type]time.Duration{pods: 0, csiNodes: never}, until: map[string]time.Duration{"pods": time.Hour}, took: 2 * time.Minute, want: "of CSINode"},
		"one kind after the other":          {after: map[reflect.Type]time.Duration{pods: 90 * time.Second, csiNodes: 3 * time.Minute}, took: 3 * time.Minute},
		"nothing of any":                    {after: map[reflect.Type]time.Duration{pods: never, csiNodes: never}, took: 2 * time.Minute, want: "of CSINode, Pod"},
		"the feed takes nothing in":         {after: map[reflect.Type]time.Duration{pods: 0, csiNodes: 0}, fed: never, took: 2 * time.Minute, want: "nothing new for 2m0s"},
		"the feed ends later":               {after: map[reflect.Type]time.Duration{pods: time.Minute, csiNodes: 0}, fed: 2 * time.Minute, took: 2 * time.Minute},
		"plurals are those of the server":   {after: map[reflect.Type]time.Duration{pods: 0, csiNodes: time.Hour}, until: map[string]time.Duration{"csinodes": time.Hour}, took: time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := firstLists{
					factory: &listing{began: began, after: tc.after},
					synced:  []func() bool{func() bool { return time.Since(began) >= tc.fed }},
					arrived: func(resources ...string) (sum int64) {
						for resource, until := range tc.until {
							if slices.Contains(resources, resource) {
								sum += int64(min(time.Since(began), until) / time.Second)
							}
						}
						return sum
					},
					patience: Patience[progress]{Now: time.Now},
				}
				err := f.await(t.Context())
				if (err == nil) != (tc.want == "") || err != nil && (!errors.Is(err, ErrNotSynced) || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				if took := time.Since(began); took < tc.took || took > tc.took+5*time.Second {
					t.Errorf("waited for %v, want %v", took, tc.took)
				}
			})
		})
	}
}

// A process that is stopped reports that, and what it was waiting for.
func TestFirstListsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		f := firstLists{
			factory:  &listing{began: time.Now(), after: map[reflect.Type]time.Duration{reflect.TypeFor[*v1.Pod](): never}},
			arrived:  func(...string) int64 { return 0 },
			patience: Patience[progress]{Now: time.Now},
		}
		if err := f.await(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "of Pod") {
			t.Errorf("got %v", err)
		}
		if err := exit.UnlessStopped(ctx, f.await(ctx)); err != nil {
			t.Errorf("stopped: %v", err)
		}
	})
}
