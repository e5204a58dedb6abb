package nodesync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// DefaultInterval is the time between two passes over the nodes.
	DefaultInterval = 15 * time.Second
	// DefaultTimeout bounds one call.
	DefaultTimeout = 5 * time.Second
	// DefaultQueriesPerSecond bounds the calls. At this rate, writing the
	// annotations of 5,000 nodes takes 250 s: longer than the shortest period of 3
	// minutes, but well within the 8 minutes for which readers accept them.
	DefaultQueriesPerSecond = 20
	// concurrency is the number of calls in flight at once.
	concurrency = 4
	// maxFailures is the number of changes that may fail in a row before a pass gives up.
	// The API server is then unavailable or the permission is missing, so the other nodes
	// would fail, too.
	maxFailures = 5
)

// Config is what a Syncer depends on.
type Config struct {
	Policy Policy
	Client kubernetes.Interface
	// Leader is asked before each patch; nil if this process is the only one.
	Leader Leader
	// Nodes returns the current content of the nodes and what is known about them;
	// nil while nothing is known.
	Nodes func() []Node
	Now   func() time.Time
	// Interval, Timeout and QueriesPerSecond use their defaults if they are 0.
	Interval, Timeout time.Duration
	QueriesPerSecond  float32
	// Registerer registers the metrics; it may be nil.
	Registerer prometheus.Registerer
}

// Syncer keeps nodes as its Policy requires. Only one may run in a cluster: the
// leader's.
type Syncer struct {
	config  Config
	writer  writer
	metrics *metrics
	// budget is the maximum number of nodes that a pass changes, so that urgent
	// changes never wait for a long pass.
	budget int
	// failed holds the nodes that could not be changed in the last pass. They come last
	// in the next pass. logged holds the foreign keys and corrupt records that were
	// already logged.
	failed map[string]bool
	logged map[string]bool
	// changed counts the nodes changed so far, and missed those that the last pass could
	// not change.
	changed, missed atomic.Int64
}

// New returns a Syncer.
func New(config Config) (*Syncer, error) {
	if config.Client == nil || config.Nodes == nil || config.Now == nil {
		return nil, errors.New("nodesync: Client, Nodes and Now must be set")
	}
	config.Interval = cmp.Or(config.Interval, DefaultInterval)
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.QueriesPerSecond = cmp.Or(config.QueriesPerSecond, DefaultQueriesPerSecond)
	m, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, err
	}
	return &Syncer{
		config: config,
		writer: writer{
			nodes:   config.Client.CoreV1().Nodes(),
			leader:  config.Leader,
			limiter: flowcontrol.NewTokenBucketRateLimiter(config.QueriesPerSecond, concurrency),
			timeout: config.Timeout,
		},
		metrics: m,
		budget:  max(1, int(float64(config.QueriesPerSecond)*config.Interval.Seconds())),
	}, nil
}

// Run makes one pass after another until the context ends. It logs and retries
// nodes that fail.
func (s *Syncer) Run(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Syncing nodes failed")
		}
	}, s.config.Interval)
	return nil
}

// Progress describes what was changed so far.
func (s *Syncer) Progress() string {
	return fmt.Sprintf("%s so far, %d failed in the last pass", reasons.Count(int(s.changed.Load()), "change"), s.missed.Load())
}

// due is a node to change.
type due struct {
	node   Node
	urgent bool
}

// pass checks every node once and changes those that are not correct.
func (s *Syncer) pass(ctx context.Context) error {
	work := s.decide(klog.FromContext(ctx))
	s.metrics.waiting.Set(float64(max(0, len(work)-s.budget)))
	work = work[:min(len(work), s.budget)]
	failed := failures{nodes: map[string]bool{}}
	group := errgroup.Group{}
	group.SetLimit(concurrency)
	for _, d := range work {
		if ctx.Err() != nil || failed.tooMany() {
			break
		}
		group.Go(func() error {
			failed.note(d.node.Name, s.change(ctx, d.node))
			return nil
		})
	}
	_ = group.Wait() // failed holds the errors
	s.failed = failed.nodes
	s.missed.Store(int64(len(failed.nodes)))
	return failed.err(len(work))
}

func (s *Syncer) change(ctx context.Context, node Node) error {
	patch, r, err := s.writer.apply(ctx, node.Object, func(object Object) Patch {
		fresh := node
		fresh.Object = object
		return Decide(s.config.Policy, fresh, s.config.Now()).Patch
	})
	if r == resultError && ctx.Err() != nil {
		return err // stopped, not failed
	}
	if r == resultSuccess {
		s.changed.Add(1)
	}
	s.metrics.patched(patch.Kinds(), r)
	return err
}

// decide returns the nodes to change. Nodes that became hot or are no longer hot come
// first, then the others, beginning with those whose measurements are oldest. Nodes that
// failed in the last pass come at the end, so that they do not delay others.
func (s *Syncer) decide(logger klog.Logger) []due {
	var work []due
	found := findings{}
	for _, node := range s.config.Nodes() {
		decision := Decide(s.config.Policy, node, s.config.Now())
		found.add(node.Name, decision)
		if !decision.Patch.Empty() {
			work = append(work, due{node, decision.Patch.Urgent()})
		}
	}
	s.report(logger, found)
	slices.SortFunc(work, func(a, b due) int {
		return cmp.Or(
			compareBools(s.failed[a.node.Name], s.failed[b.node.Name]),
			compareBools(b.urgent, a.urgent),
			a.node.At.Compare(b.node.At),
			cmp.Compare(a.node.Name, b.node.Name),
		)
	})
	return work
}

// report exports findings and logs those that are new since the last pass.
func (s *Syncer) report(logger klog.Logger, found findings) {
	var byKind [numKinds]int
	logged := map[string]bool{}
	for what, f := range found {
		byKind[what.Kind] += f.nodes
		name := what.Kind.String() + " " + what.Key
		logged[name] = true
		switch {
		case s.logged[name]:
		case what == corruptRecord:
			logger.Info("Treating unreadable nodesync records as empty", "annotation", s.config.Policy.recordKey(),
				"nodes", f.nodes, "examples", strings.Join(f.examples, " "))
		default:
			logger.Info("Leaving another writer's key unchanged", "kind", what.Kind, "key", what.Key,
				"nodes", f.nodes, "examples", strings.Join(f.examples, " "))
		}
	}
	s.logged = logged
	for _, kind := range []Kind{KindAnnotations, KindLabel, KindTaint} {
		s.metrics.foreign.WithLabelValues(kind.String()).Set(float64(byKind[kind]))
	}
	s.metrics.corrupt.Set(float64(byKind[KindRecord]))
}

// Sync makes one pass, for a process that does not keep running.
func (s *Syncer) Sync(ctx context.Context) error { return s.pass(ctx) }

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// failures holds the failed changes of a pass.
type failures struct {
	mu    sync.Mutex
	nodes map[string]bool
	first error
	inRow int
}

func (f *failures) note(node string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.inRow = 0
		return
	}
	f.inRow++
	f.nodes[node] = true
	if f.first == nil {
		f.first = err
	}
}

func (f *failures) tooMany() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inRow >= maxFailures
}

func (f *failures) err(of int) error {
	if f.first == nil {
		return nil
	}
	return fmt.Errorf("changing %d of %d nodes failed, the first: %w", len(f.nodes), of, f.first)
}
