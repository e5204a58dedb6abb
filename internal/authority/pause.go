package authority

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/reasons"
)

// pauseInterval is how often the kill switch is read for metrics and reports.
// It is also read before each eviction.
const pauseInterval = 10 * time.Second

// Paused implements evictor.Authority. A process that may read neither the
// ledger nor the kill switch, and needs no ledger, has no kill switch.
func (a *Authority) Paused(ctx context.Context) error {
	before := a.config.Switch.Last()
	pause := a.config.Switch.Read(ctx, a.alone.Load())
	logger := klog.FromContext(ctx)
	switch {
	case pause == before:
	case pause.Reason == "":
		logger.Info("Evicting is not paused any more")
	default:
		logger.Info("Evicting is paused", "reason", pause.Reason, "detail", pause.Detail)
	}
	if pause.ByAnnotation && !a.hinted.Swap(true) {
		logger.Info("Pausing by an annotation on the ledger ends with the version after the next; a ConfigMap of this name pauses, whatever becomes of the ledger",
			"configMap", klog.KRef(a.config.Namespace, evictor.PauseName))
	}
	return pause.Err()
}

// Pause returns the newest state of the kill switch that was read.
func (a *Authority) Pause() evictor.Pause { return a.config.Switch.Last() }

// WatchPause reads the kill switch from time to time, until the context ends.
func (a *Authority) WatchPause(ctx context.Context) error {
	for ctx.Err() == nil {
		reading, cancel := context.WithTimeout(ctx, ledgerTimeout)
		_ = a.Paused(reading) // remembered by the Switch
		cancel()
		evictor.Sleep(ctx, pauseInterval)
	}
	return nil
}

// exportPause registers the metric of the kill switch.
func (a *Authority) exportPause() {
	for _, reason := range []reasons.Reason{reasons.Paused, reasons.PauseUnreadable} {
		promauto.With(a.config.Registry).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "evenkeel_paused", Help: "Whether the kill switch stops evicting, by reason.",
			ConstLabels: prometheus.Labels{"reason": string(reason)},
		}, func() float64 { return gauge(a.Pause().Reason == reason) })
	}
}

func gauge(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
