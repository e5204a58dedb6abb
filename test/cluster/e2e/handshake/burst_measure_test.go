package handshake

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	// measureVariable, when set, enables the cases that only measure and assert nothing.
	measureVariable = "EVENKEEL_MEASURE"
	// measureUnseen is how long the new pods remain unmeasured, as they do if the intervals of
	// metrics-server and the kubelet add up.
	measureUnseen = time.Minute
	// measureFor is how long the effects of the burst are observed.
	measureFor = 4 * time.Minute
)

// lowNodeUtilization configures upstream's plugin with the usage from metrics-server and the
// thresholds of stage.Fast.
const lowNodeUtilization = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: upstream
  pluginConfig:
  - name: DefaultEvictor
    args: {nodeFit: true}
  - name: LowNodeUtilization
    args:
      metricsUtilization: {source: KubernetesMetrics}
      thresholds: {cpu: 45, memory: 45}
      targetThresholds: {cpu: 65, memory: 65}
  plugins:
    balance:
      enabled: [LowNodeUtilization]
`

// Other programs handle the same burst. The case takes 20 minutes and asserts nothing:
//
//	EVENKEEL_MEASURE=1 go test ./e2e/handshake -run MeasureBurst -timeout 40m -v
//
//e2e:tier measure
func TestMeasureBurst(t *testing.T) {
	if os.Getenv(measureVariable) == "" {
		t.Skipf("this measures; set %s to run it", measureVariable)
	}
	rows := []string{"| | spread at once | spread after 4 min | highest node at any time | evictions | hot-node-seconds |"}
	for name, start := range map[string]func(*fixture, string){
		"Evenkeel":                           (*fixture).measureEvenkeel,
		"kube-scheduler":                     func(*fixture, string) {},
		"kube-scheduler, LowNodeUtilization": (*fixture).measureUpstream,
		"kube-scheduler, graded taints":      (*fixture).startGrading,
	} {
		t.Run(name, func(t *testing.T) {
			rows = append(rows, fmt.Sprintf("| %s | %s", name, measureBurst(t, name == "Evenkeel", start)))
		})
	}
	t.Logf("figures:\n%s", strings.Join(rows, "\n"))
}

func measureBurst(t *testing.T, steered bool, start func(f *fixture, listen string)) (row string) {
	fixed := newBurst(t, measureUnseen)
	serving := fixed.FreeAddress()
	fixed.RestoreScheduler()
	var extenders []schedulerv1.Extender
	if steered {
		extenders = append(extenders, stage.ShippedExtender())
	}
	if err := fixed.RestartScheduler(t.Context(), extenders...); err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := begin(fixed, serving)
	start(b, serving)
	b.come()
	atOnce := b.spreadOf(b.truth())
	hotSeconds := b.hotNodeSeconds(measureFor)
	highest := int64(0)
	for _, peak := range b.history.peaks() {
		highest = max(highest, peak)
	}
	return fmt.Sprintf("%.1f | %.1f | %.1f %% | %d | %.0f |",
		atOnce, b.spreadOf(b.truth()), float64(highest)/320, b.Evictions(b.mark), hotSeconds)
}

func (f *fixture) measureEvenkeel(serving string) {
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--listen-address", serving)
	f.waitKnown()
}

func (f *fixture) measureUpstream(string) {
	f.Start("run", "--policy-config-file", f.Policy(lowNodeUtilization), "--metrics-address", "0", "--leader-elect=false",
		"--descheduling-interval", "30s")
}

// hotNodeSeconds adds up how long each node is above the evict line, by true usage.
func (f *fixture) hotNodeSeconds(d time.Duration) (seconds float64) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), d)
	defer cancel()
	const every = 500 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return seconds
		case <-ticker.C:
			seconds += every.Seconds() * float64(len(f.Hot(f.T.Context(), evictLine)))
		}
	}
}
