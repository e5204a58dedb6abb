package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/reasons"
)

// Config is what an Authority depends on.
type Config struct {
	Client    kubernetes.Interface
	Namespace string
	Lease     *Lease
	// Switch is the kill switch.
	Switch *pause.Switch
	// Moves holds the ledger of this process and adopts stored ones.
	Moves    Moves
	Clock    evictor.Clock
	Registry prometheus.Registerer
	// Follower is the separate extender; nil if there is none.
	Follower Follower
	DryRun   bool
	// Report receives the reason why the stored ledger cannot be read.
	Report func(error)
}

// Follower is another process that reads the stored ledger.
type Follower interface {
	// ReadGeneration returns the generation of the ledger that the process has read.
	ReadGeneration(ctx context.Context) (int64, error)
}

// Moves holds the ledger of this process and adopts ledgers that other processes have
// stored.
type Moves interface {
	Ledger() *ledger.Ledger
	Adopt(document ledger.Document)
}

// Authority decides whether this process may evict. It lives as long as the
// process.
type Authority struct {
	config Config
	store  *configmap.Store
	// saved is the ledger revision stored last.
	saved atomic.Int64
	// unwritable reports whether the last attempt to store failed.
	unwritable atomic.Bool
	// taken reports whether this process has read the ledger in its current term.
	taken atomic.Bool
	// alone reports whether this process works without the stored ledger, because it is
	// not allowed to read it and runs only upstream's plugins or changes nothing.
	alone atomic.Bool
}

var _ evictor.Authority = (*Authority)(nil)

const (
	// ledgerTimeout bounds each API call about the stored ledger.
	ledgerTimeout = 5 * time.Second
	// flushInterval is how soon a ledger change outside a cycle is stored.
	flushInterval = time.Second
	// announceWait is the time between storing the ledger and evicting the first
	// pod, so that all processes that answer kube-scheduler have the ledger by
	// then. announceTimeout bounds the wait for a separate extender that can be
	// queried.
	announceWait    = 500 * time.Millisecond
	announceTimeout = 3 * time.Second
	// pauseInterval is how often the kill switch is read for metrics and reports.
	// It is also read before each eviction.
	pauseInterval = 10 * time.Second
)

// New returns an Authority.
func New(config Config) (*Authority, error) {
	a := &Authority{config: config}
	setAside := promauto.With(config.Registry).NewCounter(prometheus.CounterOpts{
		Name: "evenkeel_ledger_set_aside_total", Help: "How often the stored ledger could not be read.",
	})
	var err error
	a.store, err = configmap.New(configmap.Config{
		Client:    config.Client,
		Namespace: config.Namespace,
		Name:      evictor.ConfigMapName,
		Writer:    config.Lease.Identity(),
		Leader:    config.Lease,
		Timeout:   ledgerTimeout,
		// A write must end before another process can hold the Lease.
		WriteTimeout: min(ledgerTimeout, config.Lease.Margin()),
		Now:          config.Clock.Now,
		Report: func(err error) {
			setAside.Inc()
			klog.Background().Error(err, "The stored ledger cannot be read")
			config.Report(err)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the ledger's store: %w", err)
	}
	a.export(promauto.With(config.Registry))
	return a, nil
}

func (a *Authority) export(factory promauto.Factory) {
	gauge := func(name, help string, value func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	while := func(name, help string, holds func() bool) {
		gauge(name, help, func() float64 {
			if holds() {
				return 1
			}
			return 0
		})
	}
	gauge("evenkeel_ledger_generation", "Generation of the newest stored ledger that this process knows of.",
		func() float64 { return float64(a.store.Generation()) })
	gauge("evenkeel_ledger_bytes", "Compressed size of the stored ledger; the API server accepts at most 1048576.",
		func() float64 { return float64(a.store.Size()) })
	while("evenkeel_ledger_unreadable", "1 while evicting waits until the stored ledger can be read, or its loss is accepted.",
		func() bool { return a.Unreadable() != nil })
	// If a process fails to store the ledger, the next leader is responsible for it.
	while("evenkeel_ledger_unwritable", "1 while the leader cannot store the ledger, so that it makes no moves.",
		func() bool { return !a.Stored() && a.Leads() == nil })
	while("evenkeel_evictions_dry_run", "1 in a process that plans and logs evictions without making them.",
		func() bool { return a.config.DryRun })
}

// Unreadable returns why the stored ledger prevents evictions; nil if it does
// not.
func (a *Authority) Unreadable() error { return a.store.Unreadable() }

// Generation returns the generation of the newest stored ledger that was read
// or written.
func (a *Authority) Generation() int64 { return a.store.Generation() }

// Follow adopts the ledger that the evicting process stores, until the context ends.
func (a *Authority) Follow(ctx context.Context) error {
	a.store.Follow(ctx, func(document ledger.Document) {
		if a.config.Lease.Elected() {
			return // the evicting process is authoritative, and reads the stored ledger when a cycle begins
		}
		a.config.Moves.Adopt(document)
	})
	return nil
}

// Begin must be called when a term begins, before Take, because another leader may have
// written the ledger in the meantime.
func (a *Authority) Begin() {
	a.taken.Store(false)
	a.store.Release()
}

// errNotTaken is returned for a leading process that has not read the ledger yet, or
// works without it.
var errNotTaken = errors.New("the ledger was not taken over")

// Knows returns an error if the ledger of this process may lack moves in flight, because
// the process does not lead or works without the stored ledger.
func (a *Authority) Knows() error {
	if err := a.Leads(); err != nil {
		return err
	}
	if !a.taken.Load() {
		return errNotTaken
	}
	return nil
}

// Take reads the stored ledger at the start of a term; from then on, only this process
// writes it. It cancels moves that a predecessor intended but did not make. A process
// that does not need the ledger continues without it if it is not allowed to read it. If
// the stored document is not a ledger, Take fails until a user accepts the loss of holds,
// cooldowns and moves in flight. A dry run evicts nothing, so it continues in any case.
func (a *Authority) Take(ctx context.Context, needed bool) error {
	if a.alone.Load() {
		return nil
	}
	if err := a.config.Lease.Leads(); err != nil {
		return err
	}
	document, err := a.store.Load(ctx)
	if apierrors.IsForbidden(err) && (a.config.DryRun || !needed) {
		a.alone.Store(true)
		klog.FromContext(ctx).Info("The ledger is kept in this process only, and a kill switch that it may not read is ignored", "reason", err.Error())
		return nil
	}
	harmless := a.config.DryRun && errors.Is(err, configmap.ErrUnreadable)
	if err != nil && !harmless {
		return fmt.Errorf("taking the ledger over: %w", err)
	}
	if document.Writer != a.config.Lease.Identity() && document.Format != 0 {
		a.config.Moves.Adopt(document)
	}
	if !a.config.DryRun {
		a.config.Moves.Ledger().CancelIntended(a.config.Clock.Now())
	}
	a.taken.Store(true)
	return nil
}

// Alone reports whether this process works without the stored ledger.
func (a *Authority) Alone() bool { return a.alone.Load() }

// Reconsider makes the next Take read the ledger again, because another policy
// may need it.
func (a *Authority) Reconsider() { a.alone.Store(false) }

// Leads implements evictor.Authority.
func (a *Authority) Leads() error { return a.config.Lease.Leads() }

// Commit implements evictor.Authority.
func (a *Authority) Commit(ctx context.Context) error {
	if a.alone.Load() {
		return nil
	}
	if err := a.config.Lease.Leads(); err != nil {
		return err
	}
	moves := a.config.Moves.Ledger()
	revision := moves.Revision()
	err := a.store.Save(ctx, moves.Export())
	a.unwritable.Store(err != nil)
	if err == nil {
		a.saved.Store(revision)
	}
	return err
}

// Stored implements evictor.Authority.
func (a *Authority) Stored() bool { return !a.unwritable.Load() }

// Keep stores changes between cycles (landings, cancellations, outcomes) until
// the context ends. It calls assess before each check.
func (a *Authority) Keep(ctx context.Context, assess func(context.Context)) error {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		assess(ctx)
		if a.config.Moves.Ledger().Revision() == a.saved.Load() && !a.store.Damaged() {
			continue
		}
		err := a.Commit(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			klog.FromContext(ctx).Error(err, "Storing the ledger failed")
		}
		logged = fmt.Sprint(err)
	}
}

// Announced implements evictor.Authority. It waits until the separate extender reports
// that it has read the stored ledger or, if there is no extender, for as long as a watch
// usually takes.
func (a *Authority) Announced(ctx context.Context) {
	if a.config.Follower == nil {
		evictor.Sleep(ctx, announceWait)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	for ctx.Err() == nil {
		if generation, err := a.config.Follower.ReadGeneration(ctx); err == nil && generation >= a.store.Generation() {
			return
		}
		evictor.Sleep(ctx, announceWait/5)
	}
}

// Paused implements evictor.Authority. A process that may read neither the
// ledger nor the kill switch, and needs no ledger, cannot be paused.
func (a *Authority) Paused(ctx context.Context) error {
	return a.config.Switch.Read(ctx, a.alone.Load()).Err()
}

// Pause returns the newest state of the kill switch that was read.
func (a *Authority) Pause() pause.State { return a.config.Switch.Last() }

// WatchPause reads the kill switch periodically, until the context ends, and reports
// whether it is set. It reports nothing while the switch cannot be read.
func (a *Authority) WatchPause(ctx context.Context, report func(paused bool)) error {
	for ctx.Err() == nil {
		_ = a.Paused(ctx) // the Switch remembers the error
		if now := a.Pause().Reason; now != reasons.PauseUnreadable {
			report(now == reasons.Paused)
		}
		evictor.Sleep(ctx, pauseInterval)
	}
	return nil
}
