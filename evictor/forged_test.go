package evictor

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Pods of another namespace that name an owner do not affect the counts of the owner's own pods,
// neither by being few and checked first nor by being many.
func TestForgedOwnersTallyNothing(t *testing.T) {
	forged := func(name string) *v1.Pod {
		pod := replica(types.UID(name))
		pod.Namespace = "other"
		return pod
	}
	for name, tc := range map[string]struct {
		own, others int // number of ready pods
		want        reasons.Reason
	}{
		"enough pods":  {own: 3, others: 1},
		"too few pods": {own: 1, others: 3, want: reasons.LastReadyReplica},
	} {
		t.Run(name, func(t *testing.T) {
			pods := replicas(tc.own)
			for n := range tc.others {
				pods = append(pods, forged(fmt.Sprint("forged-", n)))
			}
			e := newEstate(t, pods...)
			e.add(t, replicaSet(3))
			_ = e.Refuse(pods[len(pods)-1])
			if got := e.Refuse(pods[0]); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// Anyone who creates a pod or a ReplicaSet can name a controller of any length. Such a
// name must not take up space in the ledger, which all tenants share.
func TestLongOwnersFillNoLedger(t *testing.T) {
	random, long := rand.NewChaCha8([32]byte{}), make([]byte, ledger.MaxEncodedBytes)
	_, _ = random.Read(long) // it never fails
	name := hex.EncodeToString(long)
	for kind, change := range map[string]func(*metav1.OwnerReference){
		"name": func(r *metav1.OwnerReference) { r.Name = name },
		"kind": func(r *metav1.OwnerReference) { r.Kind = name },
		"UID":  func(r *metav1.OwnerReference) { r.UID = types.UID(name) },
	} {
		t.Run(kind, func(t *testing.T) {
			gate := newGate(t, newAPI(t, aPod("web-1", func(p *v1.Pod) { change(&p.OwnerReferences[0]) })))
			if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1")); err != nil {
				t.Fatal(err)
			}
			if _, err := gate.config.Ledger.Export().Encode(); err != nil {
				t.Error(err)
			}
		})
	}
}
