package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/thresholds"
)

// steered returns how to find out whether kube-scheduler asked about a replacement: it is known in this process, or a
// separate extender knows, or it is inferred from where the replacement landed.
func (a *App) steered(needs parts) func(context.Context, ledger.Move) evictor.Steered {
	return func(ctx context.Context, move ledger.Move) evictor.Steered {
		if needs.serving && (move.Asked || a.judge.AskedAbout(move.Replacement)) {
			return evictor.SteeredYes
		}
		if a.options.ExtenderURL != "" {
			status, err := askExtender(ctx, a.options.ExtenderURL, move.Replacement)
			if err == nil && status.PodAsked {
				return evictor.SteeredYes
			}
			oneOfSeveral := needs.serving && a.options.LeaderElect // another replica may have been asked
			if err == nil && !oneOfSeveral {
				return evictor.SteeredNo
			}
			if err != nil {
				klog.FromContext(ctx).Error(err, "Asking the extender whether it was asked failed, inferring from the landing")
			}
		}
		if needs.serving && !a.options.LeaderElect {
			return evictor.SteeredNo // this is the only process that kube-scheduler could have asked
		}
		return a.inferred(&move)
	}
}

// inferred judges by the landing: one that no extender would have allowed shows that none was asked, a good one proves
// nothing.
func (a *App) inferred(move *ledger.Move) evictor.Steered {
	latest := a.observer.Latest()
	if move.Node == move.From || latest == nil {
		return evictor.SteeredNo
	}
	if latest.States[move.Node].State == thresholds.Hot {
		return evictor.SteeredNo
	}
	if move.To == "" || move.Node != move.To {
		a.luck = 1
		return evictor.SteeredUnproven
	}
	return a.unlikely(latest)
}

// luckAtMost is how likely landings as planned may be by chance to prove that kube-scheduler is steered.
const luckAtMost = 0.05

// unlikely takes a landing as planned for what it is: one of the cool nodes, by chance, or steered.
func (a *App) unlikely(latest *observer.Observation) evictor.Steered {
	cool := 0
	for _, state := range latest.States {
		if state.State == thresholds.Cool {
			cool++
		}
	}
	if a.luck <= 0 || a.luck > 1 {
		a.luck = 1
	}
	if a.luck /= float64(max(cool, 1)); a.luck <= luckAtMost {
		return evictor.SteeredYes
	}
	return evictor.SteeredUnproven
}

// extenderTimeout bounds the question to a separate extender.
const extenderTimeout = 5 * time.Second

// asked returns how to count the requests of kube-scheduler that this process and a separate extender have answered.
func (a *App) asked(needs parts) func(context.Context) int64 {
	return func(ctx context.Context) (asked int64) {
		if needs.serving {
			asked = a.judge.Asked()
		}
		if a.options.ExtenderURL != "" {
			status, err := askExtender(ctx, a.options.ExtenderURL, "")
			if err != nil {
				klog.FromContext(ctx).Error(err, "Asking the extender how often it was asked failed")
			}
			asked += status.Asked
		}
		return asked
	}
}

// askExtender reads a separate extender's /status, with what it knows about one pod.
func askExtender(ctx context.Context, base, podUID string) (status Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, extenderTimeout)
	defer cancel()
	address := strings.TrimSuffix(base, "/") + "/status?pod=" + url.QueryEscape(podUID)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return status, fmt.Errorf("asking the extender: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return status, fmt.Errorf("asking the extender: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return status, fmt.Errorf("asking the extender: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&status); err != nil {
		return status, fmt.Errorf("reading the extender's status: %w", err)
	}
	return status, nil
}
