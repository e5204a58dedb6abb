package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
)

// A retired setting still takes effect. One warning contains its position and the reason for its
// removal.
func TestRetiredSettingsAreObeyedAndReported(t *testing.T) {
	file, err := Load("p.yaml", []byte(deschedulerPolicyText+"---\n"+loadPolicyHeader+`usage:
  sources:
  - {type: MetricsServer}
  - type: Kubelet
    kubelet:
      concurrency: 3
hot: {risingMemory: {within: 5m, window: 30s}}
eviction:
  interval: 2s # as before
`), known)
	if err != nil {
		t.Fatal(err)
	}
	load := file.Load
	source, ok := load.Usage.Sources[1].Config.(*kubelet.Config)
	if !ok || source.Concurrency != 3 || load.Eviction.Interval.Duration != 2*time.Second || load.Hot.RisingMemory.Within.Duration != 5*time.Minute {
		t.Errorf("the settings are not obeyed: %+v, %+v, %+v", source, load.Eviction.Interval, load.Hot.RisingMemory)
	}
	text := func(why string) string {
		return "is no longer documented and will be removed in two versions: " + why + "; remove it"
	}
	want := []Note{
		{Field: "eviction.interval", Place: "line 22, column 3", Lossy: true, Text: text("the hourly limits set the pace, and the default suits every cluster")},
		{Field: "hot.risingMemory.within", Place: "line 20, column 22", Lossy: true, Text: text("what counts is whether moves are made in time, and they take the same time everywhere")},
		{Field: "usage.sources[1].kubelet.concurrency", Place: "line 19, column 7", Lossy: true, Text: text("the default reads thousands of nodes within one sample")},
	}
	if diff := cmp.Diff(want, file.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The suggestions for a misspelt field do not include retired ones.
func TestRetiredSettingsAreNotOffered(t *testing.T) {
	_, err := Load("p.yaml", []byte(loadPolicyHeader+"hot: {risingMemory: {windw: 1m}}\n"), known)
	const want = `p.yaml: line 3, column 22: LoadPolicy: hot.risingMemory.windw: unknown field "windw", did you mean "window"? (allowed: window)`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}
