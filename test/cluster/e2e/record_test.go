package e2e

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// `evenkeel record` runs with the rights of an extender, which is not allowed to change anything,
// and `evenkeel simulate` reads its recording. The simulation finds the two hot nodes of six, and
// Evenkeel cools them. If recording is stopped in the middle, the file is still complete.
// complete file.
func TestRecordAndSimulate(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	policy, dir := f.Policy(stage.Fast), t.TempDir()
	args := []string{
		"record", "--kubeconfig", f.Access.Extender, "--namespace", evenkeel.Namespace, "--policy-config-file", policy, "--interval", "5s",
	}
	stopped := filepath.Join(dir, "stopped.evenkeel.gz")
	p, err := evenkeel.Start(stage.Binary(), filepath.Join(dir, "record.log"), append(args, "--out", stopped)...)
	if err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "two readings", func(context.Context) bool { return strings.Count(recordedText(stopped), `{"reading"`) >= 2 })
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	f.wantExit(p, 5*time.Second)

	file := filepath.Join(dir, "day.evenkeel.gz")
	result := stage.Run(t.Context(), t, dir, append(args, "--out", file, "--for", "40s", "--hash-names")...)
	text := recordedText(file)
	// There should be nine readings, but a busy machine may miss one.
	if n := strings.Count(text, `{"reading"`); result.Code != 0 || n < 8 || n > 9 {
		t.Fatalf("record ended with %d after %d readings: %s%s", result.Code, n, result.Stdout, result.Stderr)
	}
	for _, name := range append([]string{"hog", "shop"}, skew.Nodes...) {
		if strings.Contains(text, name) {
			t.Errorf("%q can be read in the recording", name)
		}
	}
	for _, replayed := range []string{file, stopped} {
		none, own := simulated(t, dir, replayed)
		t.Logf("%s: %+v alone, %+v with Evenkeel", filepath.Base(replayed), none, own)
		if none.Nodes != 6 || none.Pods != 56 || none.HotPercent < 33 || none.HotPercent > 34 {
			t.Errorf("%s: %+v, want 6 nodes, 56 pods and a third of the time hot", replayed, none)
		}
		if replayed == file && (own.HotPercent >= none.HotPercent || own.Evictions == 0) {
			t.Errorf("with Evenkeel the result is %+v, without it %+v", own, none)
		}
	}
	again := stage.Run(t.Context(), t, dir, append(args, "--out", file)...)
	if again.Code != 2 || !strings.Contains(again.Stderr, "--force") {
		t.Errorf("recording over a file ended with %d: %s", again.Code, again.Stderr)
	}
}

// replayed is the result of one variant.
type replayed struct {
	Variant                string
	Nodes, Pods, Evictions int
	HotPercent             float64
}

func simulated(t *testing.T, dir, file string) (none, own replayed) {
	t.Helper()
	result := stage.Run(t.Context(), t, dir, "simulate", "--recording", file, "--stretch", "--warm-up", "0", "--compare", "none,evenkeel", "-o", "json")
	var document struct{ Results []replayed }
	if err := json.Unmarshal([]byte(result.Stdout), &document); err != nil || result.Code != 0 || len(document.Results) != 2 {
		t.Fatalf("simulate ended with %d, %v: %s", result.Code, err, result.Stderr)
	}
	return document.Results[0], document.Results[1]
}

// recordedText returns the part of a recording that can be read so far.
func recordedText(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(unpacked) // an incomplete recording ends with an error
	return string(text)
}
