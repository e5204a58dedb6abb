package exporters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// StatisticsPort is the port of crane-scheduler-plus' exporter.
const StatisticsPort = 19101

// StatisticsConfig configures Statistics.
type StatisticsConfig struct {
	Cluster *cluster.Cluster
	// Port defaults to StatisticsPort.
	Port int
}

// Statistics serves, like crane-scheduler-plus' exporter,
// http://<InternalIP>:<port>/statistics of each node: percentages of capacity. The
// windows begin as if the nodes had been in their first state for five minutes. Missing,
// HalfMissing and OneMissing make a node's answer empty; Shifted has no effect, because
// the format has no timestamps.
type Statistics struct {
	faults

	config   StatisticsConfig
	truths   *truths
	recorder *recorder
	fleet    fleet
}

// StartStatistics simulates the exporters of all existing nodes.
func StartStatistics(ctx context.Context, config StatisticsConfig) (*Statistics, error) {
	if config.Port == 0 {
		config.Port = StatisticsPort
	}
	s := &Statistics{config: config, truths: &truths{cluster: config.Cluster}}
	var err error
	if s.recorder, err = startRecorder(ctx, s.truths); err != nil {
		return nil, err
	}
	s.fleet = fleet{handler: s.handler, port: func(cluster.NodeTruth) int { return config.Port }}
	if err := s.Sync(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	context.AfterFunc(ctx, func() { _ = s.Stop() })
	return s, nil
}

// Sync starts exporters for new nodes, and stops those of deleted nodes.
func (s *Statistics) Sync(ctx context.Context) error {
	nodes, err := s.config.Cluster.Truth(ctx)
	if err != nil {
		return err
	}
	return s.fleet.sync(ctx, nodes)
}

// Stop stops all exporters.
func (s *Statistics) Stop() error {
	s.recorder.Stop()
	return s.fleet.stop()
}

func (s *Statistics) handler(node string) http.Handler {
	mux := http.NewServeMux()
	current := func(*http.Request) fault.Fault { return s.of(node) }
	mux.Handle("GET /statistics", fault.Handler(current, s.statistics(node)))
	return mux
}

func (s *Statistics) statistics(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, place, err := s.truths.of(r.Context(), node)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		windows, known := s.recorder.of(node)
		what := s.of(node)
		values := map[string]float64{}
		if known && !passOver(what, place) {
			values = windows.values(true)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, statisticsText(values, what))
	})
}

// statisticsText also writes what encoding/json rejects: NaN and duplicate names.
func statisticsText(values map[string]float64, what fault.Fault) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, nan := what.Value(values[name])
		text := fmt.Sprintf("%g", value)
		if nan {
			text = "NaN"
		}
		members = append(members, fmt.Sprintf("%q:%s", name, text))
		if what.Kind == fault.Duplicate {
			members = append(members, fmt.Sprintf("%q:%g", name, value/2))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}
