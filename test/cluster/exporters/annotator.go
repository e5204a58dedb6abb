package exporters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// Unit is the format of an annotation's value.
type Unit string

// The units used in practice: Crane writes a fraction with five decimals,
// crane-scheduler-plus a percentage with one.
const (
	Fraction Unit = "fraction"
	Percent  Unit = "percent"
)

// stampLayout ends in a Z that does not mean UTC.
const stampLayout = "2006-01-02T15:04:05Z"

// Shanghai returns Crane's default time zone, which has no daylight saving time.
func Shanghai() *time.Location { return time.FixedZone("Asia/Shanghai", 8*60*60) }

// AnnotatorConfig defines what is written.
type AnnotatorConfig struct {
	Cluster *cluster.Cluster
	// Unit defaults to Fraction.
	Unit Unit
	// Location is the time zone of the timestamps; nil means Shanghai.
	Location *time.Location
}

// Annotator writes Crane's annotations on the nodes, once per call of Write. The windows
// begin as if the nodes had been in their first state for five minutes. Down, Slow and
// Status leave existing annotations unchanged, Truncated cuts the values, and Missing,
// HalfMissing and OneMissing remove a node's annotations. Duplicate and Huge are
// rejected, because annotations cannot express them.
type Annotator struct {
	faults

	config   AnnotatorConfig
	truths   *truths
	recorder *recorder
}

// StartAnnotator starts sampling the nodes but does not write anything yet.
func StartAnnotator(ctx context.Context, config AnnotatorConfig) (*Annotator, error) {
	if config.Unit == "" {
		config.Unit = Fraction
	}
	if config.Location == nil {
		config.Location = Shanghai()
	}
	a := &Annotator{config: config, truths: &truths{cluster: config.Cluster}}
	var err error
	if a.recorder, err = startRecorder(ctx, a.truths); err != nil {
		return nil, err
	}
	return a, nil
}

// Stop stops sampling. The annotations remain.
func (a *Annotator) Stop() { a.recorder.Stop() }

// Write annotates all nodes now.
func (a *Annotator) Write(ctx context.Context) error {
	nodes, err := a.truths.all(ctx)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for place, node := range nodes {
		what := a.of(node.Name)
		switch what.Kind {
		case fault.Down, fault.Slow, fault.Status:
			continue
		case fault.Duplicate, fault.Huge:
			return fmt.Errorf("annotating node %q: fault %q: %w", node.Name, what.Kind, errors.ErrUnsupported)
		default:
			group.Go(func() error { return a.annotate(groupCtx, node.Name, passOver(what, place), what) })
		}
	}
	return group.Wait()
}

// Run writes now, and then at every interval until the context ends.
func (a *Annotator) Run(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := a.Write(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *Annotator) annotate(ctx context.Context, node string, remove bool, what fault.Fault) error {
	windows, known := a.recorder.of(node)
	if !known {
		return nil
	}
	stamp := what.Time(time.Now()).In(a.config.Location).Format(stampLayout)
	annotations := map[string]any{"node_hot_value": "0," + stamp}
	for name, percent := range windows.values(false) {
		text := a.text(percent, what) + "," + stamp
		if what.Kind == fault.Truncated {
			text = text[:len(text)/2]
		}
		annotations[name] = text
	}
	if remove {
		for name := range annotations {
			annotations[name] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	_, err = a.config.Cluster.Client().CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("annotating node %q: %w", node, err)
	}
	return nil
}

// text formats a percentage in the unit. A fault that turns it into a fraction does not
// change the format.
func (a *Annotator) text(percent float64, what fault.Fault) string {
	value, nan := what.Value(percent)
	switch {
	case nan:
		return "NaN"
	case a.config.Unit == Percent:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case value < 0:
		return strconv.FormatFloat(value, 'f', 5, 64)
	default:
		return strconv.FormatFloat(value/100, 'f', 5, 64)
	}
}
