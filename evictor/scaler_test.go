package evictor

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

func underDeployment(rs *appsv1.ReplicaSet) {
	rs.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "shop", UID: "d-1", Controller: new(true)}}
}

func asking(pod *v1.Pod) *v1.Pod {
	pod.Annotations = map[string]string{surgeAnnotation: "true"}
	return pod
}

// Which pods are joined by another one before they go.
func TestOwnersSurge(t *testing.T) {
	asks, single := asking(ownedBy("ReplicaSet", "rs-1")), replicaSet(1, underDeployment)
	otherwise := ownedBy("ReplicaSet", "rs-1")
	otherwise.Annotations = map[string]string{surgeAnnotation: "sometimes"}
	also := ownedBy("ReplicaSet", "rs-1")
	also.Annotations = map[string]string{surgeAnnotation: "Yes"}
	cases := map[string]struct {
		pod   *v1.Pod
		owner any
		want  string
	}{
		"the only pod of a Deployment, which asks":   {asks, single, "shop"},
		"that does not ask":                          {ownedBy("ReplicaSet", "rs-1"), single, ""},
		"that asks with another word":                {also, single, "shop"},
		"that asks with a word that nobody can read": {otherwise, single, ""},
		"one of two":                           {asks, replicaSet(2, underDeployment), ""},
		"one of none":                          {asks, replicaSet(0, underDeployment), ""},
		"of a ReplicaSet without a Deployment": {asks, replicaSet(1), ""},
		"of a ReplicaSet that another one followed": {
			asking(ownedBy("ReplicaSet", "rs-2")), single, "",
		},
		"of a ReplicaSet that is not known": {asks, nil, ""},
		"of something else's ReplicaSet": {asks, replicaSet(1, underDeployment, func(rs *appsv1.ReplicaSet) {
			rs.OwnerReferences[0].Kind = "Rollout"
		}), ""},
		"of a StatefulSet": {asking(ownedBy("StatefulSet", "sts-1")), statefulSet(), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			if tc.owner != nil {
				e.add(t, tc.owner)
			}
			owner := e.watched.Owner(tc.pod)
			if got := surges(tc.pod, &owner); got != tc.want || e.Surges(tc.pod) != (tc.want != "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// A budget that lets the only pod never go lets it go beside another one.
func TestOwnersRefuseWithSurge(t *testing.T) {
	cases := map[string]struct {
		asks         bool
		minAvailable intstr.IntOrString
		want         reasons.Reason
	}{
		"one has to be there":              {true, intstr.FromInt32(1), ""},
		"all have to be there":             {true, intstr.FromString("100%"), reasons.PodDisruptionBudgetForbids},
		"one has to be there, nobody asks": {false, intstr.FromInt32(1), reasons.PodDisruptionBudgetForbids},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			e.add(t, replicaSet(1, underDeployment))
			e.add(t, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one"},
				Spec: policyv1.PodDisruptionBudgetSpec{
					MinAvailable: &tc.minAvailable, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				},
				Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 1, DesiredHealthy: 1},
			})
			pod := ownedBy("ReplicaSet", "rs-1")
			if tc.asks {
				asking(pod)
			}
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// scales is an API server with one Deployment.
type scales struct {
	mu       sync.Mutex
	wants    int32
	version  int
	asked    []string
	forbids  bool
	meddlers int // how many reads are followed by somebody else's change of its status
}

func (s *scales) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.forbids:
		reply(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	case r.URL.Path != "/apis/apps/v1/namespaces/ns/deployments/shop/scale":
		reply(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodPut:
		var scale autoscalingv1.Scale
		if err := json.NewDecoder(r.Body).Decode(&scale); err != nil || scale.ResourceVersion != strconv.Itoa(s.version) {
			reply(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		s.wants, s.version = scale.Spec.Replicas, s.version+1
	}
	_ = json.NewEncoder(w).Encode(autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", ResourceVersion: strconv.Itoa(s.version)},
		Spec:       autoscalingv1.ScaleSpec{Replicas: s.wants},
	})
	if r.Method == http.MethodGet && s.meddlers > 0 {
		s.meddlers--
		s.version++
	}
}

func reply(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
	})
}

// leads is a Leader; with an error it leads no more.
type leads struct{ err error }

func (l leads) Leads() error { return l.err }

func newScaler(t *testing.T, s *scales) *DeploymentScaler {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	})
	if err != nil {
		t.Fatal(err)
	}
	return NewDeploymentScaler(client, leads{}, at(noon), time.Second)
}

// A process that does not lead any more scales nothing, neither up nor back.
func TestOnlyTheLeaderScales(t *testing.T) {
	s := &scales{wants: 2}
	scaler := newScaler(t, s)
	scaler.leader = leads{errors.New("the Lease is lost")}
	err := scaler.SetScale(t.Context(), "ns", "shop", Scale{Replicas: 1, Version: "0"})
	if refusal, ours := errors.AsType[*reasons.Refusal](err); !ours || refusal.Reason != reasons.NotLeader {
		t.Errorf("scaled: %v", err)
	}
	moves := left(t, "shop")
	scaler.SettleSurges(t.Context(), moves)
	if s.wants != 2 || len(moves.Surges()) != 1 {
		t.Errorf("%d replicas, %d surges are left to the next leader", s.wants, len(moves.Surges()))
	}
}

// left is a ledger with a surge that is open; begun says how far it came.
func left(t *testing.T, deployment string) *ledger.Ledger {
	t.Helper()
	moves := ledger.New(ledger.Config{})
	moves.Record(noon, ledger.Intent{
		Namespace: "ns", Pod: "web", PodUID: "uid", From: "hot", To: "cool", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"},
	})
	if !moves.BeginSurge("uid", ledger.Surge{Deployment: deployment, Replicas: 1}) {
		t.Fatal("the surge has not begun")
	}
	moves.CancelIntended(noon) // as who takes the ledger over does
	return moves
}

// What is left scaled up is scaled back, if nobody else has scaled it since.
func TestSettleSurges(t *testing.T) {
	cases := map[string]struct {
		deployment string
		scales     *scales
		want       int32
		asked      []string
		open       bool
	}{
		"still scaled up":                   {deployment: "shop", scales: &scales{wants: 2}, want: 1, asked: []string{"GET", "PUT"}},
		"while its status changes":          {deployment: "shop", scales: &scales{wants: 2, meddlers: 2}, want: 1, asked: []string{"GET", "PUT", "GET", "PUT", "GET", "PUT"}},
		"while it changes all the time":     {deployment: "shop", scales: &scales{wants: 2, meddlers: 99}, want: 2, asked: []string{"GET", "PUT", "GET", "PUT", "GET", "PUT", "GET", "PUT", "GET", "PUT"}, open: true},
		"never scaled up, or scaled back":   {deployment: "shop", scales: &scales{wants: 1}, want: 1, asked: []string{"GET"}},
		"somebody wants more":               {deployment: "shop", scales: &scales{wants: 3}, want: 3, asked: []string{"GET"}},
		"somebody wants none":               {deployment: "shop", scales: &scales{wants: 0}, want: 0, asked: []string{"GET"}},
		"gone":                              {deployment: "gone", scales: &scales{wants: 2}, want: 2, asked: []string{"GET"}},
		"no right to: tried again later on": {deployment: "shop", scales: &scales{wants: 2, forbids: true}, want: 2, asked: []string{"GET"}, open: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			moves := left(t, tc.deployment)
			s := newScaler(t, tc.scales)
			s.SettleSurges(t.Context(), moves)
			if tc.scales.wants != tc.want {
				t.Errorf("%d replicas, want %d", tc.scales.wants, tc.want)
			}
			if diff := cmp.Diff(tc.asked, tc.scales.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if open := len(moves.Surges()) > 0; open != tc.open {
				t.Errorf("still open: %v, want %v", open, tc.open)
			}
			asked := len(tc.scales.asked)
			if s.SettleSurges(t.Context(), moves); !tc.open && len(tc.scales.asked) > asked {
				t.Error("what was settled was settled again")
			}
		})
	}
}

// Once scaling was forbidden, pods that ask for it are left alone for a while.
func TestScalerForbids(t *testing.T) {
	api := &scales{wants: 1, forbids: true}
	s := newScaler(t, api)
	if s.Forbidden() {
		t.Error("forbidden before anybody asked")
	}
	if _, err := s.Scale(t.Context(), "ns", "shop"); err == nil || !s.Forbidden() {
		t.Errorf("error %v, forbidden %v", err, s.Forbidden())
	}
	if s.clock = at(noon.Add(surgeForbiddenFor)); s.Forbidden() {
		t.Error("forbidden for ever")
	}
	if err := s.SetScale(t.Context(), "ns", "shop", Scale{Replicas: 2}); err == nil || !s.Forbidden() {
		t.Errorf("error %v, forbidden %v", err, s.Forbidden())
	}
}

// What the restraint makes of a surge: its own move is not held against it, and
// one that failed has its owner rest.
func TestRestraintOfSurges(t *testing.T) {
	rules := safeguards.New(safeguards.Config{
		MaxPerHourOfOwner: 1, NodeSettle: time.Hour, MoveTTL: time.Minute,
		Cooldown: safeguards.Cooldown{Base: 10 * time.Minute, Max: time.Hour},
		Breaker:  safeguards.Breaker{PendingAfter: time.Minute, UnreadyAfter: time.Minute, MaxPending: 9, MaxUnready: 9, MaxNotReadyPercent: 100},
	})
	up := &ledger.Surge{Deployment: "shop", Replicas: 1}
	done := &ledger.Surge{Deployment: "shop", Replicas: 1, Done: true}
	ago := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	cases := map[string]struct {
		move        ledger.Move
		owner, node reasons.Reason
	}{
		"intended":                       {move: ledger.Move{State: ledger.Intended, Surge: up}},
		"booked long ago":                {move: ledger.Move{State: ledger.Booked, Surge: up, Recorded: ago(9)}},
		"landed, not ready":              {move: ledger.Move{State: ledger.Landed, Surge: up, Recorded: ago(9), Ended: ago(8)}},
		"landed, evicted":                {move: ledger.Move{State: ledger.Landed, Surge: up, Evicted: ago(1), Ended: ago(2)}, owner: reasons.OwnerMovesPerHour, node: reasons.NodeSettling},
		"failed before it landed":        {move: ledger.Move{State: ledger.Cancelled, Surge: done, Ended: ago(2)}, owner: reasons.OwnerCoolingDown},
		"failed when it had landed":      {move: ledger.Move{State: ledger.Landed, Surge: done, Ended: ago(9), Outcome: &ledger.Outcome{Judged: ago(2)}}, owner: reasons.OwnerCoolingDown},
		"failed, an hour ago":            {move: ledger.Move{State: ledger.Cancelled, Surge: done, Recorded: ago(70), Ended: ago(65)}},
		"cancelled, and no surge at all": {move: ledger.Move{State: ledger.Cancelled, Ended: ago(2)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			move := tc.move
			move.Intent = ledger.Intent{
				Namespace: "ns", Pod: "web", PodUID: "uid", From: "hot", To: "cool", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TTL: time.Minute,
			}
			if move.Recorded.IsZero() {
				move.Recorded = ago(3)
			}
			facts := safeguards.Facts{Replacement: func(*ledger.Move) ledger.Replacement { // it is ready once its predecessor goes, and gone after a failure
				return ledger.Replacement{Exists: move.Surging() && move.State == ledger.Landed, Ready: !move.Evicted.IsZero()}
			}}
			if seen := forSafeguards([]ledger.Move{move}); move.InFlight() {
				facts.InFlight = seen
			} else {
				facts.Ended = seen
			}
			verdict := rules.At(facts, noon)
			if move.Surge == up && move.Evicted.IsZero() {
				if reason, detail := verdict.Refuse(&move.Intent); reason != "" {
					t.Errorf("its own eviction is refused: %s, %s", reason, detail)
				}
				return
			}
			if reason, detail := verdict.Owner("ns", "rs-1"); reason != tc.owner {
				t.Errorf("owner: %q (%s), want %q", reason, detail, tc.owner)
			}
			if reason, detail := verdict.Node("hot"); reason != tc.node {
				t.Errorf("node: %q (%s), want %q", reason, detail, tc.node)
			}
		})
	}
}

// A move is judged some time after both its replacement came and its pod left.
func TestJudgeable(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	up := &ledger.Surge{Deployment: "shop", Replicas: 1}
	cases := map[string]struct {
		move ledger.Move
		want bool
	}{
		"landed long ago":                        {ledger.Move{State: ledger.Landed, Evicted: at(-6), Ended: at(-5)}, true},
		"landed lately":                          {ledger.Move{State: ledger.Landed, Evicted: at(-6), Ended: at(-4)}, false},
		"judged":                                 {ledger.Move{State: ledger.Landed, Evicted: at(-6), Ended: at(-5), Outcome: &ledger.Outcome{}}, false},
		"in flight":                              {ledger.Move{State: ledger.Evicted, Evicted: at(-6)}, false},
		"landed, its pod still there":            {ledger.Move{State: ledger.Landed, Ended: at(-9), Surge: up}, false},
		"landed long ago, its pod gone lately":   {ledger.Move{State: ledger.Landed, Ended: at(-9), Evicted: at(-4), Surge: &ledger.Surge{Done: true}}, false},
		"landed long ago, its pod gone long ago": {ledger.Move{State: ledger.Landed, Ended: at(-9), Evicted: at(-5), Surge: &ledger.Surge{Done: true}}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := assessable(&tc.move, noon, 5*time.Minute); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
