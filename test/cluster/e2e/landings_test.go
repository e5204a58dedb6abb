package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Loops of evictions that descheduler's users have reported end, and evictions that help are made.
// kube-scheduler asks Evenkeel where the replacements should go.
//
//e2e:tier all
func TestLoopsEnd(t *testing.T) {
	for _, s := range stage.Landings(landings.Reported, landings.Related, landings.Right) {
		t.Run(s.Name, func(t *testing.T) { stage.New(t).EndsAsPlanned(s, stage.Fast) })
	}
}

// Upstream's descheduler evicts on the same clusters again in each of three cycles, and never gets
// to where its plugin asks for nothing. The number of its evictions is in the log.
//
//e2e:tier all
func TestLoopsOfDescheduler(t *testing.T) {
	f := newFixture(t)
	binDir, err := cluster.DefaultBinDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := cluster.BuildDescheduler(t.Context(), binDir, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	f.schedulerWithoutExtender()
	for _, s := range stage.Landings(landings.Reported) {
		t.Run(s.Name, func(t *testing.T) {
			f := stage.New(t)
			f.PlaceLandings(s)
			policy, begin, pods := f.Policy(s.Policy), f.Mark(), len(f.PodsByUID(t.Context()))
			for cycle := range 3 {
				mark := f.Mark()
				deschedule(t, binary, f.Kubeconfig(), policy)
				f.Eventually(time.Minute, "all replacements", func(ctx context.Context) bool { return onNodes(f.PodsByUID(ctx)) == pods })
				if f.Evictions(mark) == 0 {
					t.Errorf("descheduler evicts nothing in cycle %d, so this is no loop", cycle+1)
				}
			}
			t.Logf("figures: descheduler#%d: %d evictions in 3 cycles, %d help", s.Issue, f.Evictions(begin), s.Placed.Evictions)
		})
	}
}

// deschedule runs one cycle of upstream's descheduler.
func deschedule(t *testing.T, binary, kubeconfig, policy string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "--kubeconfig", kubeconfig, "--policy-config-file", policy, "--secure-port", "0", "--v", "3")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("descheduler: %v\n%s", err, out)
	}
}

// onNodes counts the pods that have a node and are not leaving it.
func onNodes(pods map[string]v1.Pod) (n int) {
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}
