package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
)

// handshake keeps the ledgers of all processes together: the one that evicts writes, the others follow.
type handshake struct {
	store *configmap.Store
	// saved is the ledger's revision that was stored last.
	saved atomic.Int64
	// unwritable says that storing failed last time.
	unwritable atomic.Bool
	setAside   prometheus.Counter
	// alone says that the stored ledger is not for this process: it may not read it, and runs upstream's plugins only or
	// changes nothing.
	alone atomic.Bool
}

// The reasons of Events about content that is no ledger: the process that holds the ledger sets it aside, any other one
// evicts nothing.
const (
	ledgerSetAside   = "LedgerSetAside"
	ledgerUnreadable = "LedgerUnreadable"
)

func (a *App) wireHandshake() (err error) {
	a.handshake.setAside = promauto.With(a.registry).NewCounter(prometheus.CounterOpts{
		Name: "evenkeel_ledger_set_aside_total", Help: "How often the stored ledger could not be read.",
	})
	a.handshake.store, err = configmap.New(configmap.Config{
		Client:    a.client,
		Namespace: cmp.Or(a.options.Namespace, DefaultNamespace),
		Name:      evictor.ConfigMapName,
		Writer:    a.identity,
		Timeout:   ledgerTimeout,
		Now:       a.now,
		Report: func(err error) {
			a.handshake.setAside.Inc()
			klog.Background().Error(err, "The stored ledger cannot be read")
			reason := ledgerSetAside
			if errors.Is(err, configmap.ErrUnreadable) {
				reason = ledgerUnreadable
			}
			a.gateEvent(v1.EventTypeWarning, reason, err.Error())
		},
	})
	if err != nil {
		return fmt.Errorf("making the ledger's store: %w", err)
	}
	promauto.With(a.registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_ledger_generation", Help: "Generation of the newest stored ledger that this process knows of.",
	}, func() float64 { return float64(a.handshake.store.Generation()) })
	return nil
}

const (
	// ledgerTimeout bounds each call about the stored ledger.
	ledgerTimeout = 5 * time.Second
	// flushInterval is how soon a change of the ledger is stored outside of a cycle.
	flushInterval = time.Second
	// announceWait is how long after the ledger was stored the first pod is evicted, so that all who answer kube-scheduler
	// have it by then; announceTimeout how long a separate extender is waited for that can be asked.
	announceWait    = 500 * time.Millisecond
	announceTimeout = 3 * time.Second
)

// follow takes in what the process that evicts writes.
func (a *App) follow(ctx context.Context) error {
	a.handshake.store.Follow(ctx, func(document ledger.Document) {
		if elector := a.elector.Load(); elector != nil && a.leads() == nil {
			return // who evicts has the last word, and reads what is stored at the beginning of a cycle
		}
		a.observer.Adopt(document)
	})
	return nil
}

// takeLedger reads what is stored, as the one process that writes it from now on. What a predecessor intended and has not
// done is not done any more. Where what is stored cannot be read it fails, but for a dry run, which evicts nothing anyway:
// holds, cooldowns and pods on the move would be forgotten.
func (a *App) takeLedger(ctx context.Context) error {
	if a.handshake.alone.Load() {
		return nil
	}
	if err := a.leads(); err != nil {
		return err
	}
	document, err := a.handshake.store.Load(ctx)
	if apierrors.IsForbidden(err) && (a.options.DryRun || !a.readsUsage()) {
		a.handshake.alone.Store(true)
		klog.FromContext(ctx).Info("The ledger is kept in this process alone", "reason", err.Error())
		return nil
	}
	if err != nil && !(a.options.DryRun && errors.Is(err, configmap.ErrUnreadable)) {
		return fmt.Errorf("taking the ledger over: %w", err)
	}
	if document.Writer != a.identity && document.Format != 0 {
		a.observer.Adopt(document)
	}
	if !a.options.DryRun {
		a.observer.Ledger().CancelIntended(a.now())
		a.scaler.settleSurges(ctx, a.observer.Ledger())
	}
	return nil
}

// commit stores the ledger.
func (a *App) commit(ctx context.Context) error {
	if a.handshake.alone.Load() {
		return nil
	}
	if err := a.leads(); err != nil {
		return err
	}
	moves := a.observer.Ledger()
	revision := moves.Revision()
	err := a.handshake.store.Save(ctx, moves.Export())
	a.handshake.unwritable.Store(err != nil)
	if err == nil {
		a.handshake.saved.Store(revision)
	}
	return err
}

// stored says whether the ledger could be stored lately.
func (a *App) stored() bool { return !a.handshake.unwritable.Load() }

// keepLedger stores what changes between cycles: landings, cancellations, outcomes.
func (a *App) keepLedger(ctx context.Context) error {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		a.current().judgeMoves(ctx)
		if a.observer.Ledger().Revision() == a.handshake.saved.Load() {
			continue
		}
		err := a.commit(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			klog.FromContext(ctx).Error(err, "Storing the ledger failed")
		}
		said = fmt.Sprint(err)
	}
}

// announced waits until those who answer kube-scheduler know what was stored: a separate extender says so, others have had
// the time that a watch takes.
func (a *App) announced(ctx context.Context) {
	if a.options.ExtenderURL == "" {
		pause(ctx, announceWait)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	for ctx.Err() == nil {
		status, err := askExtender(ctx, a.options.ExtenderURL, "")
		if err == nil && status.Ledger.Generation >= a.handshake.store.Generation() {
			return
		}
		pause(ctx, announceWait/5)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// LedgerReport is what a process knows of the stored ledger.
type LedgerReport struct {
	// Generation is that of the newest document it has read or written.
	Generation int64 `json:"generation"`
	InFlight   int   `json:"inFlight"`
	// Hold is why evicting rests; empty when it does not.
	Hold string `json:"hold,omitempty"`
	// HoldUntil is when it goes on by itself.
	HoldUntil string `json:"holdUntil,omitempty"`
}

func (a *App) ledgerReport(inFlight []ledger.Move) LedgerReport {
	report := LedgerReport{InFlight: len(inFlight)}
	if a.handshake.store != nil {
		report.Generation = a.handshake.store.Generation()
	}
	if hold := a.observer.Ledger().Hold(); hold.Reason != "" {
		report.Hold, report.HoldUntil = hold.Reason, hold.Until.UTC().Format(time.RFC3339)
	}
	return report
}
