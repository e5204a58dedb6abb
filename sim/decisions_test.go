package sim

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/go-logr/logr"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/sim/recording"
	"github.com/evenkeel/evenkeel/sim/trace"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

var update = flag.Bool("update", false, "rewrite the decisions in test/decisions")

// Evenkeel's decisions in a replay stay the same, step by step: each plan with its moves, what it
// declines and why, and the nodes that it leaves hot; what becomes of each move; and the answers to
// kube-scheduler. Texts may change, and -update records them, but the checksums cover only names.
func TestDecisionsAreAsBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		fleet   *Fleet
		change  func(*Config, *Policy)
		evicts  bool
		answers bool
	}{
		"generated":  {fleet: generated(t, 200, 50), evicts: true, answers: true},
		"evict-only": {fleet: generated(t, 80, 50), evicts: true},
		"crowded": {fleet: generated(t, 120, 63), evicts: true, answers: true, change: func(c *Config, p *Policy) {
			c.Steps, c.MaxUnavailablePercent, c.Gap, p.Evicting.MoveTTL = 144, 1, 10*time.Minute, 12*time.Minute
		}},
		"deploys": {fleet: generated(t, 100, 50), answers: true, evicts: true, change: func(c *Config, _ *Policy) { c.DeploysPerDay = 6 }},
		"restrained": {fleet: generated(t, 200, 56), evicts: true, answers: true, change: func(_ *Config, p *Policy) {
			p.Evicting.Safeguards, p.Options.MaxMoves, p.Options.MinGainPercent, p.Evicting.Interval = safeguards.New(safeguards.Config{
				MaxPerHour: 8, MaxPerHourOfOwner: 2, NodeSettle: 15 * time.Minute, MoveTTL: 5 * time.Minute,
				Cooldown: safeguards.Cooldown{Base: 30 * time.Minute, Max: 3 * time.Hour}, Breaker: lenient,
			}), 3, 4, 20*time.Second
		}},
		"hurried": {fleet: generated(t, 120, 60), evicts: true, answers: true, change: func(c *Config, p *Policy) {
			c.DeploysPerDay, c.Every, c.Gap, p.Evicting.Interval, p.Evicting.OwnerSettle = 20, 15*time.Minute, 3*time.Minute, 25*time.Second, 0
		}},
		"hurried-alone": {fleet: generated(t, 120, 50), evicts: true, change: func(c *Config, p *Policy) {
			c.DeploysPerDay, c.Every, p.Evicting.Interval, p.Evicting.OwnerSettle, p.Evicting.Deadline = 60, 10*time.Minute, 40*time.Second, 0, 3*time.Minute
			p.Observer.HotWindows = p.Observer.HotWindows[:1]
		}},
		"recording": {fleet: mixed(t), evicts: true, answers: true},
		"recording-deadline": {fleet: mixed(t), evicts: true, answers: true, change: func(c *Config, p *Policy) {
			c.Steps, p.Evicting.Interval, p.Evicting.Deadline = 10, 10*time.Second, 90*time.Second
		}},
		"recording-step": {fleet: mixed(t), evicts: true, answers: true, change: func(c *Config, p *Policy) {
			c.Steps, c.Gap, p.Evicting.Interval, c.MaxUnavailablePercent = 10, 5*time.Minute, 25*time.Second, 100
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := shipped(t), defaultsOn(tc.fleet)
			if tc.change != nil {
				tc.change(c, p)
			}
			testkit.Decisions(t, *update, name, decisions(t, c, &Variant{Name: name, Policy: p, Evicts: tc.evicts, Steers: tc.answers}))
		})
	}
}

// The results of every variant on the same input stay the same: its figures, the step of each
// eviction, and the usage of each node in each step, which depends on where its pods are.
// Upstream's plugin by usage is not covered, because it visits nodes in map order.
func TestVariantsDecideAsBefore(t *testing.T) {
	for name, tc := range map[string]struct {
		fleet  *Fleet
		change func(*Config)
	}{
		"variants-generated": {generated(t, 150, 55), func(c *Config) { c.DeploysPerDay, c.Seed = 3, 5 }},
		"variants-slow": {generated(t, 100, 60), func(c *Config) {
			c.Every, c.Lag, c.Gap, c.HotLinePercent, c.ExtenderWeight, c.MaxUnavailablePercent = 30*time.Minute, 4*time.Minute, 10*time.Minute, 60, 3, 1
		}},
		"variants-recording": {mixed(t), func(c *Config) { c.DeploysPerDay, c.MaxUnavailablePercent, c.Seed = 4, 5, 8 }},
	} {
		t.Run(name, func(t *testing.T) {
			c := defaultsOn(tc.fleet)
			tc.change(c)
			c.WarmUp, c.KeepUsage = DefaultWarmUp, true
			c.Variants = []Variant{
				{Name: "none"}, {Name: "upstream-requests", Upstream: byRequests}, {Name: "oracle", Oracle: true},
				{Name: "evict-only", Policy: shipped(t), Evicts: true}, {Name: "extender-only", Policy: shipped(t), Steers: true},
				{Name: "evenkeel", Policy: shipped(t), Evicts: true, Steers: true},
			}
			for _, file := range []string{"tight", "pools", "measured"} {
				c.Variants = append(c.Variants, Variant{Name: file, Policy: written(t, file+".yaml"), Evicts: true, Steers: true})
			}
			results, err := Run(t.Context(), *c)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for i := range results {
				text.WriteString(outcome(t, &results[i]))
			}
			testkit.Decisions(t, *update, name, text.String())
		})
	}
}

// outcome describes a variant's figures, how many pods it evicts in which steps, and checksums of
// the nodes' usage. There is one checksum per two hours, which shows when a difference began.
func outcome(t *testing.T, r *Result) string {
	t.Helper()
	const steps = 24
	var evicted, marks []string
	for step, n := range r.EvictionsAt {
		if n > 0 {
			evicted = append(evicted, fmt.Sprintf("%d×%d", step, n))
		}
	}
	sum := crc32.NewIEEE()
	for i, row := range r.Usage {
		fmt.Fprintf(sum, "%.6f", row)
		if (i+1)%steps == 0 || i == len(r.Usage)-1 {
			marks = append(marks, fmt.Sprintf("%08x", sum.Sum32()))
		}
	}
	figures := *r
	figures.Usage, figures.EvictionsAt = nil, nil
	document, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s evicted: %s\n%s usage: %s\n%s", r.Variant, strings.Join(evicted, " "), r.Variant, strings.Join(marks, " "), testkit.Facts(t, r.Variant, document))
}

// byRequests are the args of upstream's plugin in its own documentation.
var byRequests = &nodeutilization.LowNodeUtilizationArgs{
	Thresholds:       api.ResourceThresholds{"cpu": 20, "memory": 20},
	TargetThresholds: api.ResourceThresholds{"cpu": 50, "memory": 50},
}

// defaultsOn returns the defaults for playing a whole fleet.
func defaultsOn(fleet *Fleet) *Config {
	return &Config{
		Fleet: fleet, Steps: fleet.Steps, Every: DefaultEvery, Lag: DefaultLag, Gap: DefaultGap, HotLinePercent: DefaultHotLine,
		ExtenderWeight: DefaultExtenderWeight, MaxUnavailablePercent: DefaultMaxUnavailable, Seed: 1,
	}
}

// written is the policy in a file next to the recorded decisions.
func written(t *testing.T, name string) *Policy {
	t.Helper()
	file, _, err := policyfile.Read(testkit.DecisionsFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := registry.New(policy.DefaultStrategy)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(&file.Load, shipped)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// generated returns a day of generated usage on nodes that are sized for a mean.
func generated(t *testing.T, series int, meanCPU float64) *Fleet {
	t.Helper()
	recipe := trace.DefaultRecipe()
	recipe.Series = series
	cpu, memory, err := trace.Generate(recipe)
	if err != nil {
		t.Fatal(err)
	}
	shape := DefaultShape()
	shape.PodsPerNode, shape.MeanCPUPercent = 12, meanCPU
	fleet, err := NewFleet(shape, cpu, memory)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// mixed is an artificial cluster with three node sizes, taints, pools and zones, one cordoned node
// and one that is not ready. Its pods have affinity, spread constraints, host ports, priorities and
// several kinds of owners. Some pods come and go, and some of their usage is unknown.
func mixed(t *testing.T) *Fleet {
	t.Helper()
	file, err := os.Open(testkit.DecisionsFile(t, "mixed.evenkeel.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read, err := recording.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	fleet, _, err := NewRecordedFleet(Recorded{Name: "mixed", Recording: read, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// shipped returns approximately the shipped policy.
func shipped(t testing.TB) *Policy {
	t.Helper()
	windows := []usage.Window{usage.Avg5m, {Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}, {Kind: usage.KindAvg, Over: 15 * time.Minute}}
	var rules []thresholds.Rule
	for _, window := range windows {
		rules = append(rules,
			thresholds.Rule{Metric: usage.CPU, Window: window, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
			thresholds.Rule{Metric: usage.Memory, Window: window, Levels: thresholds.Levels{Low: 60, Reject: 75, Evict: 80, Leave: 75}})
	}
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: rules}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return &Policy{
		Observer: observer.Config{
			Usage: usage.Config{
				SampleInterval: 15 * time.Second, MaxAge: 10 * time.Minute, MinWindow: 75 * time.Second, Windows: windows,
				Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: cluster.Amounts{250, 200 << 20}},
			},
			Scorer: scorer.Config{Weights: cluster.Percents{1, 1}, DampPercent: 5}, Lines: set, HotWindows: windows,
			Hot:         thresholds.HotRule{ConsecutiveSamples: 3, SampleInterval: 15 * time.Second},
			MinCoverage: 80, SampleInterval: 15 * time.Second, Ledger: ledger.Config{SourceAvoidance: 10 * time.Minute},
		},
		Strategies: []plugin.Strategy{&realusage.Args{}}, Options: plugin.Options{MaxMoves: 100, MinGainPercent: 0.5},
		Evicting: evictor.Settings{SchedulerNames: []string{v1.DefaultSchedulerName}, Safeguards: safeguards.New(safeguards.Config{
			MaxPerHour: 300, NodeSettle: time.Minute, MoveTTL: 5 * time.Minute, Cooldown: safeguards.Cooldown{Base: 10 * time.Minute, Max: 6 * time.Hour},
			Breaker: safeguards.Breaker{MaxPending: 3, PendingAfter: time.Minute, MaxUnready: 3, UnreadyAfter: 5 * time.Minute,
				MaxRefusedPercent: 50, MaxErrors: 5, Rest: 5 * time.Minute, MaxNotReadyPercent: 33},
		}),
			OwnerPercent: 10, MoveTTL: 5 * time.Minute, Interval: 200 * time.Millisecond, Deadline: 10 * time.Minute,
			OwnerSettle: 3 * time.Minute, OutcomeAfter: 5 * time.Minute},
	}
}

// chronicle records decisions.
type chronicle struct {
	t      *testing.T
	text   strings.Builder
	player *player
	step   int
	server *extender.Server
	told   map[string]string // the last text about each move
}

// witness records plans before their moves are made.
type witness struct {
	*evenkeel
	chronicle *chronicle
}

func (w witness) Planned(_ context.Context, _ *plugin.Plugin, made *strategies.Made) {
	w.chronicle.plan(made)
}

// decisions plays a variant and returns its decisions.
func decisions(t *testing.T, c *Config, v *Variant) string {
	t.Helper()
	r := &chronicle{t: t, player: started(t, c, v), told: map[string]string{}}
	r.listen()
	for r.step = range c.Steps {
		if err := r.player.step(t.Context(), r.step); err != nil {
			t.Fatalf("step %d: %v", r.step, err)
		}
		r.moves()
		if r.step%6 == 1 {
			// Answers wait for the pod watch, which never shows the pods in question.
			synctest.Test(t, func(t *testing.T) { r.ask(t) })
		}
	}
	return r.text.String()
}

// started returns a variant before its first step.
func started(t *testing.T, c *Config, v *Variant) *player {
	t.Helper()
	ctx := klog.NewContext(t.Context(), logr.Discard())
	places, err := firstPlaces(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{config: c, variant: v, tally: newTally()}
	if err := p.build(ctx, places); err != nil {
		t.Fatal(err)
	}
	return p
}

// playAll plays all steps, and calls after at the end of each.
func playAll(t *testing.T, p *player, after func(step int)) {
	t.Helper()
	ctx := klog.NewContext(t.Context(), logr.Discard())
	for step := range p.config.Steps {
		if err := p.step(ctx, step); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		after(step)
	}
}

// listen makes the chronicle record plans and the answers to kube-scheduler.
func (r *chronicle) listen() {
	e := r.player.evenkeel
	e.executor = witness{e, r}
	var err error
	if r.server, err = extender.NewServer(extender.Config{Answerer: e.answerer, FullReplies: true, ListedRejects: 1000}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *chronicle) write(format string, args ...any) {
	fmt.Fprintf(&r.text, "%d "+format+"\n", append([]any{r.step}, args...)...)
}

func (r *chronicle) plan(made *strategies.Made) {
	if made.Closed != "" {
		r.write("closed: %s", made.Closed)
	}
	for i := range made.Plan.Moves {
		m := &made.Plan.Moves[i]
		r.write("move %s %s -> %s %s %v: %.1f->%.1f, %.1f->%.1f", m.UID, m.From, m.To, m.Reason, m.Usage, m.FromBefore, m.FromAfter, m.ToBefore, m.ToAfter)
	}
	declined, details := map[string][]string{}, map[string]string{}
	for i := range made.Plan.Declined {
		d := &made.Plan.Declined[i]
		key := d.Node + " " + string(d.Reason)
		declined[key] = append(declined[key], d.UID)
		details[key] = cmp.Or(details[key], d.Detail)
	}
	for _, key := range slices.Sorted(maps.Keys(declined)) {
		r.write("declined %s: %s %s", key, short(declined[key]), details[key])
	}
	for i := range made.Plan.Nodes {
		if n := &made.Plan.Nodes[i]; n.State == thresholds.Hot || n.Reason != "" {
			r.write("node %s %s %s: %.1f->%.1f", n.Name, n.State, n.Reason, n.Before, n.After)
		}
	}
}

// short returns the first of several names, their number, and a checksum of all.
func short(names []string) string {
	return fmt.Sprintf("%s (%d, %08x)", names[0], len(names), crc32.ChecksumIEEE([]byte(strings.Join(names, "\n"))))
}

// moves records what has become of moves since the last call.
func (r *chronicle) moves() {
	inFlight, ended := r.player.evenkeel.observer.Ledger().Moves()
	all := slices.Concat(inFlight, ended)
	slices.SortStableFunc(all, func(a, b ledger.Move) int {
		return cmp.Or(a.Recorded.Compare(b.Recorded), strings.Compare(a.PodUID, b.PodUID))
	})
	for i := range all {
		m := &all[i]
		text := fmt.Sprintf("%s %s->%s at %s, evicted %s, asked %v, by %s", m.State, m.From, m.Node, clockOf(m.Recorded), clockOf(m.Evicted), m.Asked, m.Replacement)
		if m.Outcome != nil {
			text += fmt.Sprintf(", outcome %v %v %v %v", m.Outcome.Planned, m.Outcome.SourceCooler, m.Outcome.DestinationUnder, m.Outcome.Healthy)
		}
		if r.told[m.PodUID] != text {
			r.told[m.PodUID] = text
			r.write("of %s: %s", m.PodUID, text)
		}
	}
}

func clockOf(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format("02T15:04:05.000")
}

// ask asks about every node, for a pod without an owner and for another pod of a known owner, as
// kube-scheduler does over HTTP.
func (r *chronicle) ask(t *testing.T) {
	t.Helper()
	w := r.player.world
	stranger := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "stranger", UID: "stranger"}}
	sibling := w.pods()[r.step%len(w.pods())].DeepCopy()
	sibling.Name, sibling.UID, sibling.Spec.NodeName, sibling.Status = "sibling", "sibling", "", v1.PodStatus{}
	var names []string
	for _, node := range w.nodes {
		names = append(names, node.Name)
	}
	for _, pod := range []*v1.Pod{stranger, sibling} {
		body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
		if err != nil {
			t.Fatal(err)
		}
		var filtered extenderv1.ExtenderFilterResult
		r.post(t, "/filter", body, &filtered)
		var scores []extenderv1.HostPriority
		r.post(t, "/prioritize", body, &scores)
		var digits, rejected []string
		message := ""
		for _, score := range scores {
			digits = append(digits, fmt.Sprint(score.Score))
		}
		for _, failed := range []extenderv1.FailedNodesMap{filtered.FailedNodes, filtered.FailedAndUnresolvableNodes} {
			for _, name := range slices.Sorted(maps.Keys(failed)) {
				rejected, message = append(rejected, name), cmp.Or(message, failed[name])
			}
		}
		r.write("%s: scores %s; %d kept", pod.Name, strings.Join(digits, " "), len(*filtered.NodeNames))
		if len(rejected) > 0 {
			r.write("%s: rejected %s: %s", pod.Name, short(rejected), message)
		}
	}
}

func (r *chronicle) post(t *testing.T, path string, body []byte, reply any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.server.ServeHTTP(recorder, request)
	if err := json.Unmarshal(recorder.Body.Bytes(), reply); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", path, recorder.Code, err, recorder.Body.String())
	}
}
