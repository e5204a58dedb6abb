package documented

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/evenkeel/evenkeel/hack/documents"
)

const root = "../../.."

func read(t *testing.T) []documents.Line {
	t.Helper()
	lines, err := documents.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// place has values that occur in none of the documents.
var place = Place{Node: "a-node", Pod: "a/pod", Reports: "127.0.0.1:1", Extender: "127.0.0.1:2", Kubeconfig: "a-kubeconfig"}

// readers matches the placeholders in documents, which readers fill in.
var readers = regexp.MustCompile(`\b[A-Z]{2,}\b|…|\.\.\.`)

// At least one documented form of each command that reads from a cluster or cleans it up is run,
// and every placeholder in it is filled in.
func TestWhatIsRun(t *testing.T) {
	runs, _ := Choose(read(t))
	commands := map[string]bool{}
	for _, run := range runs {
		for _, p := range run.Pipelines {
			commands[p.Command] = true
			if filled := p.Fill(place); readers.MatchString(filled) {
				t.Errorf("%s: %q is not filled in: %q", run.Where, p.Text, filled)
			}
		}
	}
	for _, command := range []string{"top", "plan", "explain", "doctor", "history", "record", "lint", "convert", "simulate", "certificates", "cleanup"} {
		if !commands[command] {
			t.Errorf("no documented form of evenkeel %s is run", command)
		}
	}
}

// Each command that is not run is listed with a reason, and no entry of that list is superfluous.
func TestWhatIsLeft(t *testing.T) {
	_, left := Choose(read(t))
	used := map[string]bool{}
	for _, l := range left {
		if used[l.Why] = true; l.Why == Unexplained {
			t.Errorf("%s: %q is not run, and nothing says why: hack/documents does not know its program", l.Where, l.Text)
		}
	}
	for _, e := range except {
		if !used[e.why] {
			t.Errorf("no document has a command that matches %v any more, which is in except", e.pattern)
		}
	}
}

// Each replacement of a placeholder is used by a command that is run.
func TestFillsAreNeeded(t *testing.T) {
	runs, _ := Choose(read(t))
	for _, f := range fills {
		needed := slices.ContainsFunc(runs, func(r Run) bool {
			return slices.ContainsFunc(r.Pipelines, func(p Pipeline) bool { return f.pattern.MatchString(p.Text) })
		})
		if !needed {
			t.Errorf("no command that is run matches %v", f.pattern)
		}
	}
}

// Each command is chosen once, with its placeholders filled in. The order is such that what a
// command reads still exists when it runs.
func TestChoose(t *testing.T) {
	lines, err := documents.Parse("x.md", strings.Join([]string{
		"```", "evenkeel cleanup --ledger", "bin/evenkeel top", "bin/evenkeel top", "evenkeel certificates --directory pki && kubectl apply -f pki/a.yaml",
		"evenkeel plan -o name | xargs -n 1 evenkeel explain --policy-config-file a.yaml pod", "kubectl evenkeel explain node NAME",
		"evenkeel record --out a.gz --for 24h && evenkeel simulate --recording a.gz", "evenkeel serve", "evenkeel nodesync --remove",
		"evenkeel plan | frobnicate", "kubectl logs a | evenkeel history --from-logs -", "```", "`evenkeel lint FILE`",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	runs, left := Choose(lines)
	var got, why []string
	for _, run := range runs {
		var texts []string
		for _, p := range run.Pipelines {
			texts = append(texts, p.Fill(place))
		}
		got = append(got, strings.Join(texts, " && "))
	}
	for _, l := range left {
		why = append(why, l.Why)
	}
	want := []string{
		"bin/evenkeel top", "evenkeel certificates --directory pki",
		"evenkeel plan -o name | head -n 1 | xargs -n 1 evenkeel explain --policy-config-file a.yaml pod", "kubectl-evenkeel explain node a-node",
		"evenkeel record --out a.gz --for 25s --interval 5s && evenkeel simulate --recording a.gz --stretch --warm-up 0",
		"evenkeel nodesync --remove", "evenkeel cleanup --ledger",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("to run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{untried[documents.Kubectl], "it keeps running, and cases of its own run it", Unexplained, untried[documents.Kubectl]}, why); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// kustomize can render each folder that a document applies or deletes with kubectl -k.
func TestKustomizationsRender(t *testing.T) {
	rendered := map[string]bool{}
	for _, line := range read(t) {
		for _, c := range line.Commands() {
			at := slices.Index(c.Args, "-k")
			if c.Program != documents.Kubectl || at < 0 || at+1 == len(c.Args) || rendered[c.Args[at+1]] {
				continue
			}
			folder := c.Args[at+1]
			rendered[folder] = true
			objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), root+"/"+folder)
			if err != nil || objects.Size() == 0 {
				t.Errorf("%s: %q: kustomize renders %s to nothing: %v", line.Where(), line.Text, folder, err)
			}
		}
	}
	if len(rendered) < 4 {
		t.Errorf("%d folders were rendered", len(rendered))
	}
}
