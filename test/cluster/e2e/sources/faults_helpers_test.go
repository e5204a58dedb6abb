package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// patient is an Evenkeel in a dry run. It logs each second what it would evict, so a healthy one
// never falls silent, and it never changes the cluster.
type patient struct {
	*stage.Fixture
	skew    stage.Skewed
	process *evenkeel.Process
	// policy is the path of its policy, listen the address at which it answers, and metrics that of
	// its metrics page.
	policy, listen, metrics string
}

// spoiltSkew is stage.Skew with nodes that use enough for ten times their usage to be implausible,
// and little enough for a hundredth of it to pass as a fraction.
//
//	hot node:   12 hog × 2200m = 26.4 of 32 cores = 82.5 %; requests 12 × 250m =  3 cores
//	other node:  8 bg  × 1650m = 13.2 of 32 cores = 41.3 %; requests  8 × 2    = 16 cores; ten times that are 413 %
func spoiltSkew(t *testing.T, f *stage.Fixture) stage.Skewed {
	t.Helper()
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "2Gi"})
	bg := stage.Workload("bg", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "1650m", Memory: "2Gi"})
	err = f.Place(t.Context(),
		cluster.Placement{Workload: hog, On: stage.On(12, nodes[:2]...)},
		cluster.Placement{Workload: bg, On: stage.On(8, nodes[2:]...)})
	if err != nil {
		t.Fatal(err)
	}
	return stage.Skewed{Nodes: nodes, Hot: nodes[:2], Fewest: 6}
}

// admit starts an Evenkeel with a LoadPolicy for the duration of a case. kube-scheduler does not
// ask it, so several can run at a time.
func admit(t *testing.T, f *stage.Fixture, skew stage.Skewed, load string) *patient {
	t.Helper()
	own := *f
	own.T = t
	p := &patient{
		Fixture: &own, skew: skew, policy: own.Policy(stage.RealUsage, load), listen: own.FreeAddress(), metrics: own.FreeAddress(),
	}
	p.process = own.Start("serve", "--policy-config-file", p.policy, "--dry-run", "--descheduling-interval", "1s",
		"--listen-address", p.listen, "--metrics-address", p.metrics, "--v", "1")
	if err := p.process.WaitServing(t.Context(), "http://"+p.listen+"/livez"); err != nil {
		t.Fatal(err)
	}
	return p
}

// in returns the patient for a subtest.
func (p *patient) in(t *testing.T) *patient {
	own, fixture := *p, *p.Fixture
	fixture.T = t
	own.Fixture = &fixture
	return &own
}

// moved is an eviction that would have been made.
type moved struct{ from, to string }

// told is what the log contains about a period.
type told struct {
	moves  []moved
	cycles int
}

var (
	wouldEvict = regexp.MustCompile(`"Would evict pod".* node="([^"]+)" destination="([^"]*)"`)
	cycleEnded = regexp.MustCompile(`"Cycle ended"`)
)

// mark returns the current length of the log.
func (p *patient) mark() int64 {
	p.T.Helper()
	info, err := os.Stat(p.process.LogPath)
	if err != nil {
		p.T.Fatal(err)
	}
	return info.Size()
}

// since reads the log from a mark on. If whole is set, it skips the cycle that may have been
// running at the mark.
func (p *patient) since(mark int64, whole bool) told {
	p.T.Helper()
	file, err := os.Open(p.process.LogPath)
	if err != nil {
		p.T.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, mark, 1<<30))
	if err != nil {
		p.T.Fatal(err)
	}
	var all told
	ended := false
	for line := range strings.Lines(string(text)) {
		switch found := wouldEvict.FindStringSubmatch(line); {
		case found != nil && (ended || !whole):
			all.moves = append(all.moves, moved{found[1], found[2]})
		case cycleEnded.MatchString(line):
			if ended || !whole {
				all.cycles++
			}
			ended = true
		}
	}
	return all
}

// wrongful returns the moves that do not lead from a truly hot node to one that is not.
func (p *patient) wrongful(moves []moved) []moved {
	return slices.DeleteFunc(slices.Clone(moves), func(m moved) bool {
		return slices.Contains(p.skew.Hot, m.from) && !slices.Contains(p.skew.Hot, m.to)
	})
}

// evicts waits until the patient reports would-be evictions from each of the nodes.
func (p *patient) evicts(within time.Duration, nodes ...string) {
	p.T.Helper()
	mark := p.mark()
	p.until(within, fmt.Sprintf("evictions from %v", nodes), func() string {
		moves := p.since(mark, false).moves
		for _, node := range nodes {
			if !slices.ContainsFunc(moves, func(m moved) bool { return m.from == node }) {
				return fmt.Sprintf("only %v: %+v", moves, p.status())
			}
		}
		return ""
	})
}

// twoCycles waits for two complete cycles and returns their would-be evictions.
func (p *patient) twoCycles(mark int64) []moved {
	p.T.Helper()
	var got told
	p.Eventually(15*time.Second, "two more cycles", func(context.Context) bool {
		got = p.since(mark, true)
		return got.cycles >= 2
	})
	return got.moves
}

// patientStatus is the part of GET /status that these cases read.
type patientStatus struct {
	Gate, GateDetail string
	Sources          []struct {
		Name, Error string
		ChosenNodes int
		Problems    map[string]struct {
			Count    int
			Examples []string
		}
	}
}

func (p *patient) status() (status patientStatus) {
	p.T.Helper()
	p.Fetch(evenkeel.Reports(p.listen)+"/status", &status)
	return status
}

// says joins all texts of the status about a source.
func (s *patientStatus) says(source int) string {
	if len(s.Sources) <= source {
		return ""
	}
	said := []string{s.Sources[source].Error}
	for _, problem := range s.Sources[source].Problems {
		said = append(said, problem.Examples...)
	}
	return strings.Join(said, "\n")
}

// unknown groups the unknown nodes by reason.
func (p *patient) unknown() map[string][]string {
	p.T.Helper()
	var nodes []struct{ Name, UnknownReason string }
	p.Fetch(evenkeel.Reports(p.listen)+"/nodes", &nodes)
	by := map[string][]string{}
	for _, node := range nodes {
		if node.UnknownReason != "" {
			by[node.UnknownReason] = append(by[node.UnknownReason], node.Name)
		}
	}
	return by
}

func (p *patient) skipped(source, cause string) float64 {
	p.T.Helper()
	return p.Metric(p.metrics, fmt.Sprintf("evenkeel_usage_samples_skipped_total{cause=%q,source=%q}", cause, source))
}

func (p *patient) failed(source string) float64 {
	p.T.Helper()
	return p.Metric(p.metrics, fmt.Sprintf("evenkeel_usage_readings_total{result=%q,source=%q}", "error", source))
}

// until waits until complaint returns nothing. If it never does, until fails with the last
// complaint.
func (p *patient) until(within time.Duration, want string, complaint func() string) {
	p.T.Helper()
	last := ""
	defer func() {
		if last != "" {
			p.T.Logf("last seen: %s", last)
		}
	}()
	p.Eventually(within, want, func(context.Context) bool {
		last = complaint()
		return last == ""
	})
}

// doctorReport is the part of `evenkeel doctor -o json` that these cases read.
type doctorReport struct {
	Problems int
	Findings []struct{ Check, Level, Subject, Says, Mend string }
}

// tells reports whether a finding other than OK contains a text.
func (r *doctorReport) tells(text string) bool {
	for _, finding := range r.Findings {
		if finding.Level != "ok" && strings.Contains(finding.Subject+" "+finding.Says, text) {
			return true
		}
	}
	return false
}

// grownUp waits until doctor no longer attributes missing data to nodes that have just started,
// which takes a minute and a half.
func (p *patient) grownUp() {
	p.T.Helper()
	list, err := p.Client().CoreV1().Nodes().List(p.T.Context(), metav1.ListOptions{})
	if err != nil {
		p.T.Fatal(err)
	}
	var youngest time.Time
	for i := range list.Items {
		for _, is := range list.Items[i].Status.Conditions {
			if is.Type == v1.NodeReady && is.LastTransitionTime.After(youngest) {
				youngest = is.LastTransitionTime.Time
			}
		}
	}
	wait(p.T, time.Until(youngest.Add(92*time.Second)))
}

// examine runs `evenkeel doctor` with a policy.
func (p *patient) examine(policy string) (report doctorReport, code int) {
	p.T.Helper()
	p.grownUp()
	got := stage.Run(p.T.Context(), p.T, p.T.TempDir(), "doctor", "-o", "json",
		"--kubeconfig", p.Access.Evenkeel, "--namespace", evenkeel.Namespace, "--policy-config-file", policy)
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
		p.T.Fatalf("doctor: exit code %d, %v in:\n%s\n%s", got.Code, err, got.Stdout, got.Stderr)
	}
	return report, got.Code
}
