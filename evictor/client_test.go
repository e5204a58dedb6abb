package evictor

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// allowing is an Authority that allows evictions unless the kill switch is set.
type allowing struct {
	Authority

	api    *api
	leads  func() error
	stored func() bool
	commit func(context.Context) error
}

func (a *allowing) Paused(ctx context.Context) error {
	return pause.NewSwitch(a.api.client, "kube-system", ConfigMapName, nil).Read(ctx, false).Err()
}

func (a *allowing) Leads() error {
	if a.leads == nil {
		return nil
	}
	return a.leads()
}

func (a *allowing) Commit(ctx context.Context) error {
	if a.commit == nil {
		return nil
	}
	return a.commit(ctx)
}

func (a *allowing) Stored() bool { return a.stored == nil || a.stored() }

// gate is a Client with a policy.
type gate struct {
	*Client
	dry     *Client
	evictor *Evictor
	// to is the destination of evictions that plugins ask for by themselves.
	to strategies.Destination
}

func (g *gate) place(context.Context, *v1.Pod) (strategies.Destination, error) { return g.to, nil }

func (g *gate) clientset() kubernetes.Interface { return g.Clientset(g.evictor, false, g.place) }

func newGate(t *testing.T, a *api, change ...func(*ClientConfig)) *gate {
	t.Helper()
	p := &play{t: t, ledger: ledger.New(ledger.Config{}), budgets: byNamespace()}
	p.config = script{now: time.Now, pod: func(string, string) *v1.Pod { return nil }, replicas: func(*v1.Pod) int { return 100 }}
	config := ClientConfig{
		Kube: a.client, Ledger: p.ledger, Authority: &allowing{api: a}, Timeout: 5 * time.Second, Clock: p,
	}
	for _, c := range change {
		c(&config)
	}
	client, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	dryRun(&config)
	dry, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{
		Observer: p, Cluster: p, Evictions: client, DryRun: dry, Clock: p,
		Settings: Settings{Deadline: time.Minute, OwnerPercent: 10, MoveTTL: 5 * time.Minute, Safeguards: safeguards.New(safeguards.Config{Breaker: lenient})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &gate{client, dry, e, strategies.Destination{None: "no node fits"}}
}

func dryRun(c *ClientConfig) { c.DryRun = true }

// moveOf returns the planned move of aPod(name).
func moveOf(name string) Move {
	return Move{
		Intent: ledger.Intent{
			Namespace: "ns", Pod: name, PodUID: "uid-" + name, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"},
			TemplateHash: "h1", Usage: cluster.Amounts{2200, 1 << 30}, From: "hot", To: "cool", TTL: 5 * time.Minute,
			Decision: &ledger.Decision{
				Message: "node hot is at 97 % of CPU", Policy: "0123456789ab", Cycle: "20261104T020000Z",
				Exceeded: []ledger.Exceeded{{Metric: "cpu", Window: "avg_5m", Value: 97, Line: 65, Percent: true}},
			},
		},
	}
}

// evictionOf returns the request that the framework's PodEvictor makes for the pod.
func evictionOf(name string) *policyv1.Eviction {
	return &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: "ns", Name: name},
		DeleteOptions: &metav1.DeleteOptions{},
	}
}

// planned makes a move that was recorded together with its plan.
func planned(t *testing.T, gate *gate, move Move) error {
	t.Helper()
	gate.config.Ledger.Record(time.Now(), move.Intent)
	return through(t.Context(), gate, move)
}

// through makes a move that is in the ledger.
func through(ctx context.Context, gate *gate, move Move) error {
	return made(ctx, gate, move, anyProfile)
}

// made makes a move as a cycle does for a profile.
func made(ctx context.Context, gate *gate, move Move, profile *strategies.Profile) error {
	e, pod := gate.evictor, aPod(move.Pod, func(p *v1.Pod) { p.Namespace = move.Namespace })
	return e.evict(ctx, &question{e: e, at: callPhase, evictions: e.evictionsOf(profile.DryRun), profile: profile, move: &move, pod: pod, eviction: e.request(&move, profile)})
}

// A pod is evicted under its UID. Its move is recorded before and in flight afterwards.
func TestClientEvicts(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	recorder := events.NewFakeRecorder(1)
	gate := newGate(t, a, func(c *ClientConfig) { c.Events = recorder })
	recorded := false
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		recorded = gate.config.Ledger.Moving("uid-web-1")
		status(w, http.StatusCreated, "")
	}
	if err := planned(t, gate, moveOf("web-1")); err != nil {
		t.Fatal(err)
	}
	if !recorded {
		t.Error("the move was not in the ledger when the call was made")
	}
	if got := a.evicted[0]; got.DeleteOptions.Preconditions == nil || *got.DeleteOptions.Preconditions.UID != "uid-web-1" || got.Name != "web-1" {
		t.Errorf("evicted with %+v, want the pod's UID as a precondition", got.DeleteOptions)
	}
	move, _ := gate.config.Ledger.Get("uid-web-1")
	if move.State != ledger.Evicted || move.Node != "cool" || !gate.Evicted("uid-web-1") {
		t.Errorf("move %+v, want it evicted and reserved on its destination", move)
	}
	if got := <-recorder.Events; got != "Normal EvictedFromHotNode node hot is at 97 % of CPU" {
		t.Errorf("event %q", got)
	}
	gate.ResetCycle()
	if gate.Evicted("uid-web-1") {
		t.Error("evicted in the next cycle")
	}
}

// The gate itself refuses these moves, without an eviction call and without a trace in the ledger.
// The moves stay planned.
func TestClientRefuses(t *testing.T) {
	cases := map[string]struct {
		pod    *v1.Pod
		paused string           // by the annotation
		answer http.HandlerFunc // of the kill switch
		want   reasons.Reason
	}{
		"the pod is gone":                 {want: reasons.PodChanged},
		"a namesake has replaced it":      {pod: aPod("web-1", func(p *v1.Pod) { p.UID = "second" }), want: reasons.PodChanged},
		"it runs elsewhere":               {pod: aPod("web-1", func(p *v1.Pod) { p.Spec.NodeName = "other" }), want: reasons.PodChanged},
		"it is terminating":               {pod: aPod("web-1", terminating), want: reasons.PodChanged},
		"paused":                          {pod: aPod("web-1"), paused: "true", want: reasons.Paused},
		"paused with a reason":            {pod: aPod("web-1"), paused: "until monday", want: reasons.Paused},
		"paused, but false":               {pod: aPod("web-1"), paused: "false"},
		"the kill switch is not readable": {pod: aPod("web-1"), answer: failing(http.StatusForbidden, metav1.StatusReasonForbidden), want: reasons.PauseUnreadable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.paused, a.pauseAnswer = tc.paused, tc.answer
			if tc.pod != nil {
				a.pods["ns/web-1"] = tc.pod
			}
			gate := newGate(t, a)
			err := planned(t, gate, moveOf("web-1"))
			if tc.want == "" {
				if err != nil || len(a.evicted) != 1 {
					t.Errorf("not evicted: %v", err)
				}
				return
			}
			if got := reasonOf(err); got != tc.want {
				t.Errorf("%v: reason %q, want %q", err, got, tc.want)
			}
			inFlight, ended := gate.config.Ledger.Moves()
			if len(a.evicted)+len(ended) > 0 || len(inFlight) != 1 || inFlight[0].State != ledger.Intended || gate.Evicted("uid-web-1") {
				t.Errorf("%d calls, in flight %+v, ended %+v", len(a.evicted), inFlight, ended)
			}
		})
	}
}

// A process that no longer leads evicts nothing: neither what it has planned nor what an upstream
// plugin requests.
func TestOnlyTheLeaderEvicts(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a, func(c *ClientConfig) {
		c.Authority = &allowing{api: a, leads: func() error { return errors.New("the Lease is lost") }}
	})
	err := planned(t, gate, moveOf("web-1"))
	if got := reasonOf(err); got != reasons.NotLeader {
		t.Errorf("a planned move: reason %q, want %q", got, reasons.NotLeader)
	}
	err = gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1"))
	if got := reasonOf(err); got != reasons.NotLeader || a.requests(http.MethodPost) > 0 {
		t.Errorf("an upstream plugin's: reason %q, want %q; requests %v", got, reasons.NotLeader, a.asked)
	}
}

// Evictions of upstream's plugins count towards the hourly limit until they are an hour old.
func TestUpstreamEvictionsKeepTheHour(t *testing.T) {
	a := newAPI(t, aPod("web-1"), aPod("web-2"))
	gate := newGate(t, a)
	gate.evictor.config.Settings.Safeguards = safeguards.New(safeguards.Config{Breaker: lenient, MaxPerHour: 1})
	evictions := gate.clientset().PolicyV1().Evictions("ns")
	if err := evictions.Evict(t.Context(), evictionOf("web-1")); err != nil {
		t.Fatal(err)
	}
	if got := reasonOf(evictions.Evict(t.Context(), evictionOf("web-2"))); got != reasons.MovesPerHour || len(a.evicted) != 1 {
		t.Errorf("the second one: reason %q, want %q; %d are evicted", got, reasons.MovesPerHour, len(a.evicted))
	}
}

// A planned move that ended before its call is neither made nor recorded again.
func TestClientRefusesMovesThatEnded(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, end := range map[string]func(*ledger.Ledger){
		"its owner was scaled down":  func(l *ledger.Ledger) { l.CancelOwner("ns", "rs-1", 1, later) },
		"it was cancelled":           func(l *ledger.Ledger) { l.Cancel("uid-web-1", later) },
		"its time was over":          func(l *ledger.Ledger) { l.Expire(later) },
		"it belonged to a past plan": func(l *ledger.Ledger) { l.CancelIntended(later) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"))
			gate := newGate(t, a)
			gate.config.Ledger.Record(time.Now(), moveOf("web-1").Intent)
			end(gate.config.Ledger)
			if err := through(t.Context(), gate, moveOf("web-1")); reasonOf(err) != reasons.MoveCancelled {
				t.Errorf("error %v, want %q", err, reasons.MoveCancelled)
			}
			inFlight, ended := gate.config.Ledger.Moves()
			if len(a.evicted) > 0 || len(inFlight) > 0 || len(ended) != 1 || gate.Evicted("uid-web-1") {
				t.Errorf("%d calls, in flight %+v, ended %+v", len(a.evicted), inFlight, ended)
			}
		})
	}
}

// A move that ends while the ledger is being stored is not made either.
func TestClientRefusesMovesThatEndWhileStoring(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a, func(c *ClientConfig) {
		c.Authority = &allowing{api: a, stored: func() bool { return false }, commit: func(context.Context) error {
			c.Ledger.CancelOwner("ns", "rs-1", 1, time.Now())
			return nil
		}}
	})
	if err := planned(t, gate, moveOf("web-1")); reasonOf(err) != reasons.MoveCancelled || len(a.evicted) > 0 {
		t.Errorf("error %v, %d calls", err, len(a.evicted))
	}
}

// What happens to a move depends on the API server's answer. If the server refuses, a move
// requested by an upstream plugin is cancelled, while a planned one stays as it was, for the
// Executor to retry. Without an answer, or with an inconclusive one, the move stays in flight,
// because the pod may be gone.
func TestClientByAnswer(t *testing.T) {
	retryAfter := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		status(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	}
	cases := map[string]struct {
		answer http.HandlerFunc
		want   ledger.State
		is     func(error) bool
	}{
		"a budget forbids":              {failing(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests), ledger.Cancelled, apierrors.IsTooManyRequests},
		"too many requests, wait 10 s":  {retryAfter, ledger.Cancelled, apierrors.IsTooManyRequests},
		"the UID is another's by now":   {failing(http.StatusConflict, metav1.StatusReasonConflict), ledger.Cancelled, apierrors.IsConflict},
		"several budgets":               {failing(http.StatusInternalServerError, metav1.StatusReasonInternalError), ledger.Cancelled, apierrors.IsInternalError},
		"forbidden":                     {failing(http.StatusForbidden, metav1.StatusReasonForbidden), ledger.Cancelled, apierrors.IsForbidden},
		"the connection broke":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ledger.Evicted, nil},
		"the API server timed out":      {failing(http.StatusGatewayTimeout, metav1.StatusReasonTimeout), ledger.Evicted, apierrors.IsTimeout},
		"a proxy lost the API server":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, ledger.Evicted, nil},
		"a proxy gave up on the server": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusGatewayTimeout) }, ledger.Evicted, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, unplanned := range []bool{true, false} {
				a := newAPI(t, aPod("web-1"))
				a.answer = tc.answer
				gate := newGate(t, a)
				var err error
				want := tc.want
				if unplanned {
					err = gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1"))
				} else {
					err = planned(t, gate, moveOf("web-1"))
					if want == ledger.Cancelled {
						want = ledger.Intended
					}
				}
				if err == nil || tc.is != nil && !tc.is(err) {
					t.Fatalf("error %v", err)
				}
				if got := a.requests(http.MethodPost); got != 1 {
					t.Errorf("%d eviction calls, want 1: waiting is the Executor's business", got)
				}
				if move, _ := gate.config.Ledger.Get("uid-web-1"); move.State != want {
					t.Errorf("unplanned %v: move is %q, want %q", unplanned, move.State, want)
				}
				if gate.Evicted("uid-web-1") {
					t.Error("counts as evicted")
				}
			}
		})
	}
}

// A denial by admission control ends the move, is recorded in the ledger with its message, and does
// not count as a failure of the API server. A missing permission does count as one.
func TestClientRemembersDenials(t *testing.T) {
	for name, tc := range map[string]struct {
		code    int
		reason  metav1.StatusReason
		message string
		denied  bool
		cause   metav1.CauseType
	}{
		"a namespace that is being deleted": {
			http.StatusForbidden, metav1.StatusReasonForbidden,
			`pods "web-1" is forbidden: unable to create new content in namespace shop because it is being terminated`, true, v1.NamespaceTerminatingCause,
		},
		"a webhook": {
			http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "guard.acme.io" denied the request: not in office hours`, true, "",
		},
		"a webhook with its own code and no explanation": {
			http.StatusBadRequest, metav1.StatusReasonBadRequest, `admission webhook "guard.acme.io" denied the request without explanation`, true, "",
		},
		"a ValidatingAdmissionPolicy": {
			http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`pods "web-1" is forbidden: ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not in office hours`, true, "",
		},
		"a right that is missing": {
			http.StatusForbidden, metav1.StatusReasonForbidden, `pods "web-1" is forbidden: User "evenkeel" cannot create resource "pods/eviction"`, false, "",
		},
		"a webhook that cannot be reached": {
			http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "guard.acme.io": ` +
				`failed to call webhook: Post "https://guard.acme.svc:443/?timeout=2s": dial tcp 10.0.0.7:443: connect: connection refused`, true, "",
		},
		"a webhook that does not answer in time": {
			http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "guard.acme.io": ` +
				`failed to call webhook: Post "https://guard.acme.svc:443/?timeout=2s": context deadline exceeded`, true, "",
		},
		"an API server that fails": {
			http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: etcdserver: request timed out`, false, "",
		},
		"an API server whose deadline is exceeded": {
			http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: context deadline exceeded`, false, "",
		},
		"a budget whose webhook says no for now": {
			http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, `admission webhook "guard.acme.io" denied the request: one at a time`, false, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"))
			a.answer = func(w http.ResponseWriter, _ *http.Request) {
				answer(w, tc.code, &metav1.Status{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
					Code: int32(tc.code), Reason: tc.reason, Message: tc.message,
					Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: tc.cause}}},
				})
			}
			gate := newGate(t, a)
			err := planned(t, gate, moveOf("web-1"))
			move, _ := gate.config.Ledger.Get("uid-web-1")
			if denied := reasonOf(err) == reasons.EvictionDenied; denied != tc.denied || (move.Denied == tc.message) != tc.denied {
				t.Errorf("error %v, the move has the denial %q, want a denial: %v", err, move.Denied, tc.denied)
			}
			ofWebhook := strings.Contains(tc.message, "webhook") // the answer of a webhook says nothing about other namespaces
			if (move.State == ledger.Cancelled) != tc.denied || (len(gate.config.Ledger.Calls()) == 0) != (tc.denied || ofWebhook) {
				t.Errorf("move is %q and %d calls are remembered", move.State, len(gate.config.Ledger.Calls()))
			}
		})
	}
}

// If the webhook of one namespace is down, it is called only once, and the other namespaces are
// relieved.
func TestADeadWebhookHoldsUpItsNamespaceAlone(t *testing.T) {
	a := newAPI(t)
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/vault/") {
			answer(w, http.StatusInternalServerError, &metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
				Reason: metav1.StatusReasonInternalError, Message: `Internal error occurred: failed calling webhook "guard": connection refused`,
			})
			return
		}
		status(w, http.StatusCreated, "")
	}
	gate := newGate(t, a)
	breaker := lenient
	breaker.MaxErrors, breaker.Rest = 5, 5*time.Minute
	gate.evictor.config.Settings.Safeguards = safeguards.New(safeguards.Config{Breaker: breaker})
	for _, name := range []string{"vault/a", "vault/b", "vault/c", "vault/d", "vault/e", "vault/f", "shop/g"} {
		move := moveOf(name[len(name)-1:])
		move.Namespace, _, _ = strings.Cut(name, "/")
		move.Owner.UID, move.From = "rs-"+name, "hot-"+name
		a.pods[name] = aPod(move.Pod, func(p *v1.Pod) { p.Namespace, p.Spec.NodeName = move.Namespace, move.From })
		err := planned(t, gate, move)
		if vault := move.Namespace == "vault"; (reasonOf(err) == reasons.EvictionDenied) != vault || (err != nil) != vault {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := a.requests(http.MethodPost); got != 2 {
		t.Errorf("%d eviction calls, want one of each namespace", got)
	}
}

// A webhook that answers "not now" for its namespace does not delay other namespaces.
func TestAWebhookThatPostponesDelaysOnlyItsNamespace(t *testing.T) {
	a := newAPI(t, aPod("mine"), aPod("other"))
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pods/other/") {
			status(w, http.StatusCreated, "")
			return
		}
		answer(w, http.StatusTooManyRequests, &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusTooManyRequests,
			Reason: metav1.StatusReasonTooManyRequests, Message: `admission webhook "mine" denied the request: not now`,
		})
	}
	gate := newGate(t, a)
	breaker := lenient
	breaker.MaxRefusedPercent, breaker.Rest = 50, 5*time.Minute
	gate.evictor.config.Settings.Safeguards = safeguards.New(safeguards.Config{Breaker: breaker})
	for range 10 { // a cycle retries every second for half a minute
		if err := planned(t, gate, moveOf("mine")); err == nil {
			t.Fatal("evicted against the webhook's word")
		}
	}
	other := moveOf("other")
	other.Owner.UID = "rs-2"
	if err := planned(t, gate, other); err != nil {
		t.Errorf("another owner's pod: %v", err)
	}
}

// A move that cannot be stored is not made, whoever requests it.
func TestAMoveThatIsNotStoredIsNotMade(t *testing.T) {
	a := newAPI(t, aPod("web-1"), aPod("web-2"))
	gate := newGate(t, a, func(c *ClientConfig) {
		c.Authority = &allowing{api: a, stored: func() bool { return false }, commit: func(context.Context) error { return errors.New("connection reset by peer") }}
	})
	err := planned(t, gate, moveOf("web-1"))
	upstream := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-2"))
	if reasonOf(err) != reasons.LedgerUnwritable || reasonOf(upstream) != reasons.LedgerUnwritable || len(a.evicted) > 0 {
		t.Errorf("planned: %v, upstream's: %v, %d calls", err, upstream, len(a.evicted))
	}
}

// A call that exceeds its timeout counts as a lost answer.
func TestClientTimeout(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	release := make(chan struct{})
	defer close(release)
	a.answer = func(http.ResponseWriter, *http.Request) { <-release }
	gate := newGate(t, a, func(c *ClientConfig) { c.Timeout = 50 * time.Millisecond })
	err := planned(t, gate, moveOf("web-1"))
	if err == nil || reasonOf(err) != reasons.EvictionFailed {
		t.Errorf("error %v", err)
	}
	if move, _ := gate.config.Ledger.Get("uid-web-1"); move.State != ledger.Evicted {
		t.Errorf("move is %q, want %q", move.State, ledger.Evicted)
	}
}

// An eviction whose answer was lost is counted and reported like any other if the pod is seen to
// leave. Otherwise it counts as failed and is not reported.
func TestLostAnswersAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*api)
		want    int // number of Events
	}{
		"the pod is gone": {func(a *api) { delete(a.pods, "ns/web-1") }, 1},
		"the pod is leaving": {func(a *api) {
			a.pods["ns/web-1"] = aPod("web-1", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		}, 1},
		"another has its name": {func(a *api) { a.pods["ns/web-1"] = aPod("web-1", func(p *v1.Pod) { p.UID = "other" }) }, 1},
		"the pod stays":        {func(*api) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := newAPI(t, aPod("web-1")), events.NewFakeRecorder(2)
			a.answer = func(http.ResponseWriter, *http.Request) {
				tc.happens(a)
				panic(http.ErrAbortHandler)
			}
			gate := newGate(t, a, func(c *ClientConfig) { c.Events = recorder })
			if err := planned(t, gate, moveOf("web-1")); (err == nil) != (tc.want > 0) {
				t.Errorf("error %v", err)
			}
			if got := len(recorder.Events); got != tc.want {
				t.Errorf("%d Events, want %d", got, tc.want)
			}
		})
	}
}

// A dry run only reads. It remembers what it would have evicted.
func TestClientDryRun(t *testing.T) {
	a := newAPI(t, aPod("web-1"))
	gate := newGate(t, a, dryRun, func(c *ClientConfig) {
		c.Authority = &allowing{api: a, commit: func(context.Context) error { return errors.New("the ledger is written") }}
	})
	if err := through(t.Context(), gate, moveOf("web-1")); err != nil {
		t.Fatal(err)
	}
	if err := gate.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if got := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), evictionOf("web-1")); got != nil {
		t.Errorf("an upstream plugin's eviction: %v", got)
	}
	if posts := a.requests(http.MethodPost); posts > 0 || a.requests(http.MethodGet) == 0 {
		t.Errorf("requests %v", a.asked)
	}
	inFlight, _ := gate.config.Ledger.Moves()
	if !gate.Evicted("uid-web-1") || len(inFlight) > 0 {
		t.Errorf("evicted %v, %d moves in flight", gate.Evicted("uid-web-1"), len(inFlight))
	}
}

// Evictions by upstream's plugins are recorded without a destination, and otherwise treated like
// planned ones.
func TestClientTakesUpstreamEvictions(t *testing.T) {
	ready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue}
	a := newAPI(t, aPod("web-1", func(p *v1.Pod) { p.Status.Conditions = []v1.PodCondition{ready} }))
	gate := newGate(t, a)
	eviction, grace := evictionOf("web-1"), int64(60)
	eviction.DeleteOptions.GracePeriodSeconds = &grace
	if err := gate.clientset().PolicyV1().Evictions("ns").Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	inFlight, _ := gate.config.Ledger.Moves()
	want := ledger.Intent{
		Namespace: "ns", Pod: "web-1", PodUID: "uid-web-1", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"},
		TemplateHash: "h1", From: "hot", TTL: 6 * time.Minute, Margin: 5 * time.Minute, // a minute of grace and the policy's five minutes
		Decision: &ledger.Decision{Message: "No destination: no node fits.", Cycle: gate.evictor.CycleID()},
	}
	if diff := cmp.Diff(want, inFlight[0].Intent); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if *a.evicted[0].DeleteOptions.GracePeriodSeconds != 60 || *a.evicted[0].DeleteOptions.Preconditions.UID != "uid-web-1" {
		t.Errorf("evicted with %+v", a.evicted[0].DeleteOptions)
	}
	if eviction.DeleteOptions.Preconditions != nil {
		t.Error("the plugin's own object was changed")
	}
}

func TestGrace(t *testing.T) {
	zero, minute := int64(0), int64(60)
	cases := map[string]struct {
		pod     *v1.Pod
		options *metav1.DeleteOptions
		want    time.Duration
	}{
		"the API's default":       {pod: &v1.Pod{}, want: 30 * time.Second},
		"the pod's own":           {pod: aPod("a"), want: 10 * time.Second},
		"the eviction's comes on": {pod: aPod("a"), options: &metav1.DeleteOptions{GracePeriodSeconds: &minute}, want: time.Minute},
		"none at all":             {pod: aPod("a"), options: &metav1.DeleteOptions{GracePeriodSeconds: &zero}},
		"options without a word":  {pod: aPod("a"), options: &metav1.DeleteOptions{}, want: 10 * time.Second},
		"longer than a move":      {pod: aPod("a", dyingFor(7*24*3600)), want: maxGrace},
		"longer than a Duration":  {pod: aPod("a", dyingFor(math.MaxInt64)), want: maxGrace},
		"less than none":          {pod: aPod("a", dyingFor(-1))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := grace(tc.pod, tc.options); got != tc.want {
				t.Errorf("grace %v, want %v", got, tc.want)
			}
		})
	}
}

func dyingFor(seconds int64) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

// Whatever a pod's grace period, the ledger that contains its move stays readable. An unreadable
// ledger would stop all evictions.
func TestNoGracePeriodMakesTheLedgerUnreadable(t *testing.T) {
	gate := newGate(t, newAPI(t))
	for name, seconds := range map[string]int64{"week": 7 * 24 * 3600, "ages": math.MaxInt64, "negative": -1} {
		move := gate.evictor.unplanned(aPod(name, dyingFor(seconds)), evictionOf(name))
		gate.config.Ledger.Record(time.Now(), move.Intent)
	}
	packed, err := gate.config.Ledger.Export().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Decode(packed); err != nil {
		t.Error(err)
	}
}

func TestClientConfigIsChecked(t *testing.T) {
	if _, err := NewClient(ClientConfig{}); err == nil {
		t.Error("a Client of nothing")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an Evictor of nothing")
	}
	if got := (&reasons.Refusal{Reason: reasons.Paused}).Error(); got != "Paused" {
		t.Errorf("refusal reads %q", got)
	}
	if reasonOf(errors.New("any")) != reasons.EvictionFailed {
		t.Error("an unknown error is not reasons.EvictionFailed")
	}
}
