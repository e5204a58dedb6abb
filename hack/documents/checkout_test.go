package documents

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// readAll returns the command lines of the documents.
func readAll(t *testing.T) []Line {
	t.Helper()
	lines, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 100 {
		t.Fatalf("the documents have %d command lines: they were not read", len(lines))
	}
	return lines
}

// Every document linked from the front page is read, and the program of every command is checked
// here or elsewhere.
func TestEveryCommandIsKnown(t *testing.T) {
	read := map[string]int{}
	for _, line := range readAll(t) {
		for _, c := range line.Commands() {
			read[line.File]++
			if c.Program == Unknown {
				t.Errorf("%s: %q: nothing is known of the program %s. If this is output, mark the block as text or begin commands with %q; else add the program to tools",
					line.Where(), line.Text, c.Name, prompt)
			}
		}
	}
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		if read[file] == 0 {
			t.Errorf("%s has no command: it was not read", file)
		}
	}
}

var (
	makeTarget   = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	makeVariable = regexp.MustCompile(`(?m)\$\(([A-Z0-9_]+)\)|^([A-Z0-9_]+) *[?:]?=`)
)

// Every documented make target exists, and so does every variable that is set for one.
func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, found := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		known[found[1]] = true
	}
	for _, found := range makeVariable.FindAllStringSubmatch(string(makefile), -1) {
		known[found[1]+found[2]+"="] = true
	}
	checked := 0
	for _, line := range readAll(t) {
		for _, c := range line.Commands() {
			for _, word := range c.Args {
				if c.Program != Make {
					break
				}
				name, _, variable := strings.Cut(word, "=")
				if variable {
					name += "="
				}
				if checked++; !known[name] {
					t.Errorf("%s: %q: the Makefile has no %s", line.Where(), line.Text, name)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d words were checked", checked)
	}
}

// goVerbs are the subcommands of the go tool that documents use.
var goVerbs = []string{"build", "install", "mod", "run", "test", "tool", "version", "vet"}

// Every documented go command names only existing packages, and existing tests in them.
func TestGoPackagesAndTestsExist(t *testing.T) {
	for _, line := range readAll(t) {
		folder := ""
		for _, c := range line.Commands() {
			switch {
			case c.Name == "cd" && len(c.Args) == 1:
				folder = c.Args[0]
			case c.Program == Go:
				for _, mistake := range goMistakes(folder, c.Args) {
					t.Errorf("%s: %q: %s", line.Where(), line.Text, mistake)
				}
			}
		}
	}
}

func goMistakes(folder string, args []string) (mistakes []string) {
	if len(args) == 0 || !slices.Contains(goVerbs, args[0]) {
		return []string{fmt.Sprintf("%q is no command of go", args)}
	}
	var files []string
	pattern := ""
	for i, arg := range args {
		if i > 0 && args[i-1] == "-run" {
			pattern = arg
		}
		at, is := strings.CutPrefix(arg, "./")
		if arg == "." {
			at, is = "", true
		}
		if !is {
			continue
		}
		at, below := strings.CutSuffix(at, "/...")
		found := goFiles(filepath.Join(root, folder, at), below)
		if len(found) == 0 {
			mistakes = append(mistakes, arg+" has no Go files")
		}
		files = append(files, found...)
		if args[0] == "run" { // the remaining arguments are for the program
			break
		}
	}
	if args[0] == "test" && pattern != "" && !hasTest(files, pattern) {
		mistakes = append(mistakes, "no test matches -run "+pattern)
	}
	return mistakes
}

func goFiles(folder string, below bool) (files []string) {
	_ = filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && !below:
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go"):
			files = append(files, name)
		}
		return nil
	})
	return files
}

var testFunction = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)

func hasTest(files []string, pattern string) bool {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(name string) bool {
		source, err := os.ReadFile(name)
		return err == nil && strings.HasSuffix(name, "_test.go") &&
			slices.ContainsFunc(testFunction.FindAllStringSubmatch(string(source), -1), func(f []string) bool { return wanted.MatchString(f[1]) })
	})
}

func TestGoMistakes(t *testing.T) {
	for command, want := range map[string]int{
		"test ./ledger/...": 0, "test -run PureRooms ./internal/arch": 0, "run ./hack/policyref ./nothing": 0, "mod verify": 0,
		"frobnicate": 1, "test ./nothing": 1, "test -run Frobnicate ./internal/arch": 1, "vet ./docs": 1,
	} {
		if got := goMistakes("", strings.Fields(command)); len(got) != want {
			t.Errorf("go %s: %q, want %d mistakes", command, got, want)
		}
	}
}

// theirs are the reader's own files, with a description.
var theirs = map[string]string{
	"day.cpu.csv.gz":      "a trace of usage",
	"kube-scheduler.yaml": "the configuration of kube-scheduler",
	"old.yaml":            "a policy of an earlier system",
	"rule.yaml":           "rules of dynamicScheduler",
	"tighter.yaml":        "a policy to compare",
	"bin/bench-old.txt":   "an earlier run, saved by hand",
	"bin/bench.txt":       "the newest run of make bench",
	"cosign.key":          "whoever releases signs with it",

	"bin/image.linux-amd64.cdx.json":              "of make image",
	"bin/image.linux-arm64.cdx.json":              "of make image",
	"bin/image.evenkeel-sim.linux-amd64.cdx.json": "of make image",
	"bin/image.evenkeel-sim.linux-arm64.cdx.json": "of make image",
	"bin/release/v1.2.3/SHA256SUMS":               "of make release",
	"bin/release/v1.2.3/evenkeel-1.2.3.tgz":       "of make release",
}

// made are the flags that name a command's output.
var made = []string{"--bundle", "--out", "-o", "--output", "--report", "--directory"}

var (
	fileLike = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*\.(crt|csv|gz|html|json|key|log|md|pem|sh|tar|tgz|txt|ya?ml)$`)
	treeLike = regexp.MustCompile(`^(\./)?(bin|charts|cluster|cmd|compat|deploy|docs|evictor|examples|hack|internal|ledger|observe|placement|policy|reasons|scorer|sim|status|strategies|test)(/[A-Za-z0-9_.-]+)+$`)
)

// Every file or folder named in a documented command is in the repository, is written by another
// documented command, or is known to be the reader's own.
func TestPathsExist(t *testing.T) {
	lines := readAll(t)
	written := outputs(lines)
	used := map[string]bool{}
	for _, line := range lines {
		folder := ""
		for _, c := range line.Commands() {
			for _, name := range paths(c) {
				_, err := os.Stat(filepath.Join(root, folder, name))
				switch {
				case theirs[name] != "": // whether or not it exists
					used[name] = true
				case err == nil || writes(written, name):
				default:
					t.Errorf("%s: %q: there is no %s, and no documented command writes it", line.Where(), line.Text, name)
				}
			}
			if c.Name == "cd" && len(c.Args) == 1 {
				folder = c.Args[0]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if !used[name] {
			t.Errorf("%s is in the table and in no document", name)
		}
	}
}

// kubectlFiles are the flags of kubectl that name files. Other words, such as
// deploy/evenkeel, name objects.
var kubectlFiles = []string{"-f", "--filename", "-k", "--kustomize", "--patch-file"}

// paths returns the words of a command that name a file or a folder of the repository, including
// words after a =.
func paths(c Command) (names []string) {
	for i, arg := range c.Args {
		flag, _, joined := strings.Cut(arg, "=")
		isFile := joined && (slices.Contains(kubectlFiles, flag) || flag == "--from-file") || i > 0 && slices.Contains(kubectlFiles, c.Args[i-1])
		if c.Program == Kubectl && !isFile {
			continue
		}
		arg = strings.TrimSuffix(arg, "/...")
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return r == '=' || r == ' ' || r == ',' }) {
			if fileLike.MatchString(word) || treeLike.MatchString(word) {
				names = append(names, path.Clean(word))
			}
		}
	}
	return names
}

// outputs returns the files and folders that documented commands write, and the programs that make
// builds.
func outputs(lines []Line) []string {
	written := []string{"bin/evenkeel", "bin/kube-scheduler"}
	for _, line := range lines {
		for _, c := range line.Commands() {
			for i, arg := range c.Args {
				flag, value, joined := strings.Cut(arg, "=")
				if !slices.Contains(made, flag) {
					continue
				}
				if !joined && i+1 < len(c.Args) {
					value = c.Args[i+1]
				}
				written = append(written, path.Clean(value))
			}
		}
	}
	return written
}

func writes(written []string, name string) bool {
	return slices.ContainsFunc(written, func(w string) bool { return w == name || strings.HasPrefix(name, w+"/") })
}

func TestPaths(t *testing.T) {
	args := []string{
		"--policy-config-file", "policy.yaml", "--from-file=policy.yaml=examples/minimal.yaml", "-k", "deploy/overlays/serve", "deploy/evenkeel", "shop/web-a",
		"/etc/evenkeel/policy.yaml", "http://a/b.yaml", "FLAGS=--trace day.csv --only x", "./ledger/...", "http://127.0.0.1:8889",
	}
	for program, want := range map[Program][]string{
		Evenkeel: {"policy.yaml", "policy.yaml", "examples/minimal.yaml", "deploy/overlays/serve", "deploy/evenkeel", "day.csv"},
		Kubectl:  {"policy.yaml", "examples/minimal.yaml", "deploy/overlays/serve"},
	} {
		if got := paths(Command{Program: program, Args: args}); !slices.Equal(got, want) {
			t.Errorf("paths %q, want %q", got, want)
		}
	}
}
