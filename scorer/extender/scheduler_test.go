package extender

import (
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TestKubeScheduler verifies that kube-scheduler's own client understands the replies, both with
// names and with whole nodes on the wire.
func TestKubeScheduler(t *testing.T) {
	names := nodeNames(300)
	answerer := newFakeAnswerer(names...).reject(RejectHot, names[0], names[7], names[299]).score(8, names[1]).score(3, names[2])
	var asked Pod
	answerer.before = func(pod *Pod) { asked = *pod }
	server := httptest.NewServer(newTestServer(t, Config{Answerer: answerer}))
	t.Cleanup(server.Close)
	pod := realisticPod()

	for name, cacheCapable := range map[string]bool{"names": true, "whole nodes": false} {
		t.Run(name, func(t *testing.T) {
			client := schedulerClient(t, server.URL+"/any/prefix", cacheCapable)
			nodes := nodeInfos(names)
			kept, failed, unresolvable, err := client.Filter(pod, nodes)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Delete(slices.Delete(slices.Clone(names), 7, 8), 0, 1)
			if diff := cmp.Diff(want[:len(want)-1], infoNames(kept)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{names[0], names[7], names[299]}, slices.Sorted(maps.Keys(unresolvable))); diff != "" || len(failed) > 0 {
				t.Errorf("unresolvable (-want +got), failed %v:\n%s", failed, diff)
			}
			if diff := cmp.Diff(podOf(pod), asked); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			scores, weight, err := client.Prioritize(pod, nodes)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for _, s := range *scores {
				got[s.Host] = s.Score
			}
			if diff := cmp.Diff(map[string]int64{names[1]: 8, names[2]: 3}, got); diff != "" || weight != 15 {
				t.Errorf("weight %d, scores (-want +got):\n%s", weight, diff)
			}
		})
	}
}

// TestKubeSchedulerKeepsNodes verifies that no possible response of the server
// makes kube-scheduler believe that no node is left.
func TestKubeSchedulerKeepsNodes(t *testing.T) {
	answerer := newFakeAnswerer("a", "b").reject(RejectHot, "a", "b")
	server := httptest.NewServer(newTestServer(t, Config{Answerer: answerer}))
	t.Cleanup(server.Close)
	for name, cacheCapable := range map[string]bool{"names": true, "whole nodes": false} {
		t.Run(name, func(t *testing.T) {
			client := schedulerClient(t, server.URL, cacheCapable)
			for _, names := range [][]string{{"a", "b"}, {"a"}, {"unknown"}} {
				kept, _, unresolvable, err := client.Filter(realisticPod(), nodeInfos(names))
				if diff := cmp.Diff(names, infoNames(kept)); diff != "" || err != nil || len(unresolvable) > 0 {
					t.Errorf("error %v, rejected %v, kept (-want +got):\n%s", err, unresolvable, diff)
				}
			}
		})
	}
	t.Run("a panic is an error, which ignorable passes over", func(t *testing.T) {
		answerer.before = func(*Pod) { panic("boom") }
		client := schedulerClient(t, server.URL, true)
		if _, _, _, err := client.Filter(realisticPod(), nodeInfos([]string{"a"})); err == nil || !client.IsIgnorable() {
			t.Errorf("error %v, ignorable %t", err, client.IsIgnorable())
		}
	})
}

func schedulerConfig(url string, cacheCapable bool) *schedulerapi.Extender {
	return &schedulerapi.Extender{
		URLPrefix: url, FilterVerb: "filter", PrioritizeVerb: "prioritize", Weight: 15,
		NodeCacheCapable: cacheCapable, Ignorable: true, HTTPTimeout: metav1.Duration{Duration: 10 * time.Second},
	}
}

func schedulerClient(t *testing.T, url string, cacheCapable bool) fwk.Extender {
	t.Helper()
	client, err := scheduler.NewHTTPExtender(schedulerConfig(url, cacheCapable))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func nodeInfos(names []string) []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, len(names))
	for i, name := range names {
		info := framework.NewNodeInfo()
		info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "é\"\\"}}})
		infos[i] = info
	}
	return infos
}

func infoNames(infos []fwk.NodeInfo) (names []string) {
	for _, info := range infos {
		names = append(names, info.Node().Name)
	}
	return names
}
