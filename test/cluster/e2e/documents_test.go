package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/hack/documents"
	"github.com/evenkeel/evenkeel/test/cluster/documented"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// perLine bounds the commands of one line. Some of them observe twice, each time for as long as the
// policy sets.
const perLine = 3 * time.Minute

// Every documented command line of Evenkeel that ends on its own is run as documented, with names
// and addresses filled in, on a cluster with two hot nodes. It exits as documented and shows what
// is hot. Commands that clean up come last, once nothing else is running.
//
//e2e:tier all
func TestDocumentedCommandsOnACluster(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	policy, metrics := f.Policy(stage.RealUsage, stage.Fast), f.FreeAddress()
	serving := f.Serve(policy, "--dry-run", "--metrics-address", metrics)
	f.Eventually(time.Minute, "the nodes that burn are called hot", func(context.Context) bool { return f.Are("hot", skew.Hot...) })
	f.waitCycles(metrics, 1)
	typist := typist{
		f: f, policy: policy, place: documented.Place{
			Node: skew.Hot[0], Pod: "shop/" + f.podsOn(t.Context(), "hog", skew.Hot[0])[0].Name,
			Reports: strings.TrimPrefix(stage.Reports(), "http://"), Extender: stage.Listen(), Kubeconfig: f.Kubeconfig(),
		},
	}
	var err error
	if typist.root, err = evenkeel.Root(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := documents.Read(typist.root)
	if err != nil {
		t.Fatal(err)
	}
	runs, _ := documented.Choose(lines)
	if len(runs) < 20 {
		t.Fatalf("%d command lines were chosen", len(runs))
	}
	var looking errgroup.Group
	looking.SetLimit(3)
	for i := range runs {
		if !runs[i].Cleans() {
			looking.Go(func() error {
				typist.typeLine(&runs[i])
				return nil
			})
		}
	}
	_ = looking.Wait() // the test itself reports its errors
	if err := serving.Stop(); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		if runs[i].Cleans() {
			typist.typeLine(&runs[i])
		}
	}
}

// typist runs command lines on a cluster.
type typist struct {
	f            *fixture
	root, policy string
	place        documented.Place
	// asking is held while the serving process is queried, because the process makes only one plan
	// for an explanation at a time.
	asking sync.Mutex
}

// typeLine runs one line in a separate folder, and fails the case if a command fails, does not end,
// or does not show what it should.
func (y *typist) typeLine(run *documented.Run) {
	t, dir := y.f.T, y.f.T.TempDir()
	policy, err := os.ReadFile(y.policy)
	if err == nil {
		err = documented.Furnish(dir, y.root, stage.Binary(), policy, run)
	}
	if err != nil {
		t.Errorf("%s: %v", run.Where, err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), perLine)
	defer cancel()
	for _, p := range run.Pipelines {
		printed, took, err := y.execute(ctx, dir, &p)
		if err != nil {
			t.Errorf("%s: %v after %v; it printed:\n%s", run.Where, err, took, printed)
			return
		}
		t.Logf("%s: %s: %v", run.Where, p.Text, took)
		if missing := y.missing(&p, printed); missing != "" {
			t.Errorf("%s: %q shows no %s:\n%s", run.Where, p.Text, missing, printed)
		}
	}
}

func (y *typist) execute(ctx context.Context, dir string, p *documented.Pipeline) (printed string, took time.Duration, err error) {
	if strings.Contains(p.Fill(y.place), y.place.Reports) {
		y.asking.Lock()
		defer y.asking.Unlock()
	}
	began := time.Now()
	printed, err = p.Execute(ctx, dir, y.place)
	return printed, time.Since(began).Round(100 * time.Millisecond), err
}

// missing returns what a command should have shown but did not: the hot node, a pod that would
// move, or any output.
func (y *typist) missing(p *documented.Pipeline, printed string) string {
	wanted := map[string][]string{
		"top": {y.place.Node}, "plan": {"shop/hog-"}, "explain": {y.place.Node, y.place.Pod}, "doctor": {"\n"}, "history": {"evictions"},
		"cleanup": {"\n"}, "nodesync": {"\n"},
	}[p.Command]
	for _, word := range wanted {
		if strings.Contains(printed, word) {
			return ""
		}
	}
	return strings.Join(wanted, " and no ")
}
