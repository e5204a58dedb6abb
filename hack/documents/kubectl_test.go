package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verbs are the kubectl commands that documents may use, each with the flags that it may have in
// addition to those of every command. A flag that ends with = takes a value.
var verbs = map[string][]string{
	"annotate":     {"--all", "--overwrite", "-l="},
	"apply":        {"-f=", "-k=", "--server-side", "--dry-run="},
	"auth":         nil,
	"create":       {"-f=", "--from-file=", "--from-literal=", "--dry-run=", "-o="},
	"delete":       {"-f=", "-k=", "--ignore-not-found"},
	"describe":     {"-l="},
	"drain":        {"--ignore-daemonsets", "--delete-emptydir-data"},
	"edit":         nil,
	"exec":         {"-c=", "-i", "-t"},
	"get":          {"-A", "--all-namespaces", "-o=", "-l=", "-w", "--raw=", "--field-selector=", "--sort-by="},
	"krew":         nil,
	"label":        {"--overwrite", "-l="},
	"logs":         {"-c=", "--follow", "--since=", "-l=", "--tail=", "-p", "--previous", "--prefix", "--ignore-errors"},
	"patch":        {"--patch-file=", "--patch=", "--type="},
	"port-forward": nil,
	"rollout":      nil,
	"scale":        {"--replicas="},
	"top":          nil,
	"uncordon":     nil,
	"wait":         {"--for=", "--timeout="},
}

// everywhere are the flags that every kubectl command has.
var everywhere = []string{"-n=", "--namespace=", "--kubeconfig=", "--context=", "--as="}

// Every documented kubectl command has a known verb and known flags, with values if they take some.
// The names of Evenkeel's objects are those that the manifests or Evenkeel itself create.
func TestKubectlCommandsAreWellFormed(t *testing.T) {
	lines, checked := readAll(t), 0
	known := append(shippedNames(t), createdNames(lines)...)
	for _, line := range lines {
		for _, c := range line.Commands() {
			if c.Program != Kubectl {
				continue
			}
			checked++
			words, mistakes := kubectlWords(c.Args)
			if line.File == "CHANGELOG.md" {
				words = nil // it names objects of earlier versions as well
			}
			for _, word := range words {
				kind, name, both := strings.Cut(word, "/")
				if !both {
					name = kind
				}
				if strings.HasPrefix(name, "evenkeel-") && !slices.Contains(known, name) {
					mistakes = append(mistakes, "neither the manifests nor Evenkeel create "+name)
				}
			}
			for _, mistake := range mistakes {
				t.Errorf("%s: %q: %s", line.Where(), line.Text, mistake)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d commands were checked", checked)
	}
}

// createdNames returns the names of objects that documents tell the reader to
// create.
func createdNames(lines []Line) (names []string) {
	for _, line := range lines {
		for _, c := range line.Commands() {
			words, _ := kubectlWords(c.Args)
			if c.Program == Kubectl && len(words) > 1 && slices.Contains(c.Args, "create") {
				names = append(names, words[len(words)-1])
			}
		}
	}
	return names
}

// kubectlWords returns those of kubectl's arguments that are not flags, without the verb, and the
// mistakes in the others.
func kubectlWords(args []string) (words, mistakes []string) {
	var flags []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			words = append(words, args[i])
			continue
		}
		flags = append(flags, name)
		if takesValue(name) && !joined && i+1 < len(args) {
			i++
		}
	}
	if len(words) == 0 {
		return nil, []string{"it has no verb"}
	}
	own, exists := verbs[words[0]]
	if !exists {
		mistakes = append(mistakes, words[0]+" is no known verb of kubectl")
	}
	for _, flag := range flags {
		if allowed := slices.Concat(own, everywhere); !slices.Contains(allowed, flag) && !slices.Contains(allowed, flag+"=") {
			mistakes = append(mistakes, flag+" is no known flag of kubectl "+words[0])
		}
	}
	return words[1:], mistakes
}

// takesValue reports whether the flag takes a value in any command, because the verb may follow it.
func takesValue(flag string) bool {
	for _, flags := range verbs {
		if slices.Contains(flags, flag+"=") {
			return true
		}
	}
	return slices.Contains(everywhere, flag+"=")
}

func TestKubectlWords(t *testing.T) {
	for command, want := range map[string][2]int{ // numbers of words and of mistakes
		"-n evenkeel create configmap evenkeel-pause --from-literal=reason=x": {2, 0},
		"apply -k deploy/base":        {0, 0},
		"frobnicate -n evenkeel pods": {1, 1},
		"delete pods --froce":         {1, 1},
		"-n evenkeel":                 {0, 1},
	} {
		words, mistakes := kubectlWords(strings.Fields(command))
		if len(words) != want[0] || len(mistakes) != want[1] {
			t.Errorf("kubectl %s: words %q, mistakes %q", command, words, mistakes)
		}
	}
}

var objectName = regexp.MustCompile(`(?m)^\s*-?\s*name: (evenkeel[a-z-]*)$`)

// inCode matches the names of objects that Evenkeel itself creates.
var inCode = regexp.MustCompile(`= "(evenkeel-[a-z-]+)"`)

// shippedNames returns the names of the objects in the manifests and of those that Evenkeel
// creates.
func shippedNames(t *testing.T) (names []string) {
	t.Helper()
	for folder, pattern := range map[string]*regexp.Regexp{"deploy": objectName, "evictor": inCode, "internal/commands": inCode} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			for _, found := range pattern.FindAllStringSubmatch(string(content), -1) {
				names = append(names, found[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"evenkeel", "evenkeel-extender", "evenkeel-ledger", "evenkeel-pause", "evenkeel-server-tls"} {
		if !slices.Contains(names, name) {
			t.Fatalf("%s is not among the names %q: they were not read", name, names)
		}
	}
	return names
}
