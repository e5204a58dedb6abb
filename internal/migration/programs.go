package migration

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// program describes what replaces a program of a legacy system.
type program struct {
	// binaries and images are its names, without those that other programs
	// share.
	binaries, images []string
	// image says what replaces its image; command replaces its binary.
	image, command string
	// flags are those that its successor accepts; nil if it accepts all.
	flags []string
}

// The images that replace others.
const (
	ourImage       = "put the image of deploy/Dockerfile here"
	schedulerImage = "put the image that deploy/Dockerfile makes with --target kube-scheduler here"
)

// programs are matched in this order.
var programs = []program{
	{
		binaries: []string{"descheduler"}, images: []string{"descheduler"},
		image:   ourImage,
		command: `["/evenkeel", "run"]`,
		flags:   RunFlags,
	},
	{
		binaries: []string{"kube-scheduler-extender"}, images: []string{"kube-scheduler-extender"},
		image:   ourImage,
		command: `["/evenkeel", "extender"]`,
	},
	{
		binaries: []string{"dynamicScheduler", "dynamic-scheduler", "dynamicscheduler"}, images: []string{"dynamicscheduler", "dynamic-scheduler"},
		image:   ourImage,
		command: `["/evenkeel", "nodesync"]`,
	},
	{
		images: []string{"crane-scheduler-controller"},
		image: "Evenkeel reads usage itself, so this can be deleted; who else reads its annotations gets them from " +
			"nodesync.annotations of the LoadPolicy",
	},
	{
		images: []string{"crane-scheduler"},
		image:  "put an image with the kube-scheduler of cmd/kube-scheduler here, which has the plugin Dynamic; command and arguments stay",
	},
	{
		binaries: []string{"kube-scheduler"},
		image:    "if a plugin of an earlier system is in its configuration, " + schedulerImage,
		command:  `["/kube-scheduler"]`,
	},
}

// RunFlags are the flags of descheduler that `evenkeel run` accepts.
var RunFlags = []string{
	"descheduling-interval", "dry-run", "kubeconfig", "leader-elect", "leader-elect-lease-duration",
	"leader-elect-renew-deadline", "leader-elect-resource-name", "leader-elect-retry-period", "logging-format", "policy-config-file", "v", "vmodule",
}

// programOf returns the legacy program that a container runs; nil for any
// other.
func programOf(container map[string]any) *program {
	image, _ := container["image"].(string)
	image = strings.ToLower(imageName(image))
	binary := ""
	if words := texts(container["command"]); len(words) > 0 {
		binary = path.Base(words[0])
	}
	for i := range programs {
		if p := &programs[i]; slices.Contains(p.images, image) || slices.Contains(p.binaries, binary) {
			return p
		}
	}
	return nil
}

// imageName returns the last part of an image's name, without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = path.Base(image)
	image, _, _ = strings.Cut(image, ":")
	return image
}

// mark is what to change in a field of a container.
type mark struct{ field, text string }

func (p *program) marks(container map[string]any) []mark {
	marks := []mark{{"image", p.image}}
	command := texts(container["command"])
	switch {
	case p.command == "":
		return marks
	case len(command) > 0:
		marks = append(marks, mark{"command", p.command + " takes the place of its first word; the arguments stay"})
	default:
		marks[0].text += "; its command is " + p.command
	}
	field := "args"
	if _, given := container["args"]; !given {
		field = "command"
	}
	words := append(command[min(1, len(command)):], texts(container["args"])...)
	if script, ok := scriptOf(command, words); ok {
		// The image has no shell.
		words = p.wordsOf(script)
		marks[len(marks)-1] = mark{field, fmt.Sprintf("put the command as %s here, and the arguments of %s from the script behind it, each as an item of the list: "+
			"the image has no shell", p.command, p.binaries[0])}
	}
	if advice := p.advice(words); len(advice) > 0 {
		marks = append(marks, mark{field, strings.Join(advice, "; ")})
	}
	return marks
}

// shells run the text behind -c.
var shells = []string{"sh", "bash", "ash", "dash"}

// scriptOf returns the text that a shell runs.
func scriptOf(command, words []string) (script string, ok bool) {
	if len(command) == 0 || !slices.Contains(shells, path.Base(command[0])) {
		return "", false
	}
	for i, word := range words {
		if option, short := strings.CutPrefix(word, "-"); short && !strings.HasPrefix(option, "-") && strings.Contains(option, "c") && i+1 < len(words) {
			return words[i+1], true
		}
	}
	return "", false
}

// wordsOf returns the arguments of the program in a script.
func (p *program) wordsOf(script string) []string {
	words := strings.Fields(strings.ReplaceAll(script, "\\\n", " "))
	at := slices.IndexFunc(words, func(word string) bool { return slices.Contains(p.binaries, path.Base(strings.Trim(word, `"'`))) })
	if at < 0 {
		return nil
	}
	words = words[at+1:]
	if end := slices.IndexFunc(words, func(word string) bool { return strings.ContainsAny(word[:1], ";|&<>") }); end >= 0 {
		words = words[:end]
	}
	for i := range words {
		words[i] = strings.Trim(strings.TrimRight(words[i], ";"), `"'`)
		if name, value, ok := strings.Cut(words[i], "="); ok {
			words[i] = name + "=" + strings.Trim(value, `"'`)
		}
	}
	return words
}

// successor is the field of a policy that takes the place of a flag.
type successor struct {
	field, of string
	boolean   bool
}

const (
	topLevel    = "in the DeschedulerPolicy"
	evictorArgs = "among the args of DefaultEvictor"
)

// successors are those of flags that earlier releases of descheduler had.
var successors = map[string]successor{
	"node-selector":                   {"nodeSelector", topLevel, false},
	"max-pods-to-evict-per-node":      {"maxNoOfPodsToEvictPerNode", topLevel, false},
	"max-pods-to-evict-per-namespace": {"maxNoOfPodsToEvictPerNamespace", topLevel, false},
	"max-pods-to-evict-total":         {"maxNoOfPodsToEvictTotal", topLevel, false},
	"evict-local-storage-pods":        {"evictLocalStoragePods", evictorArgs, true},
	"evict-system-critical-pods":      {"evictSystemCriticalPods", evictorArgs, true},
	"evict-daemonset-pods":            {"evictDaemonSetPods", evictorArgs, true},
	"evict-failed-bare-pods":          {"evictFailedBarePods", evictorArgs, true},
	"ignore-pvc-pods":                 {"ignorePvcPods", evictorArgs, true},
	"node-fit":                        {"nodeFit", evictorArgs, true},
}

// advice says what to do about the flags among words that the successor of a program
// does not accept: a flag that limits evictions becomes a field of the policy.
func (p *program) advice(words []string) (advice []string) {
	if p.flags == nil {
		return nil
	}
	var unknown []string
	for i, word := range words {
		flag, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "-") || flag == "" || slices.Contains(p.flags, flag) {
			continue
		}
		to, known := successors[flag]
		switch {
		case !known:
			unknown = append(unknown, "--"+shorten(flag))
			continue
		case !given && to.boolean:
			value = "true"
		case !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			value = words[i+1]
		}
		advice = append(advice, to.words(flag, shorten(value)))
	}
	if len(unknown) > 0 {
		advice = append(advice, fmt.Sprintf("take out %s, which evenkeel run does not have", strings.Join(unknown, ", ")))
	}
	return advice
}

func (s successor) words(flag, value string) string {
	switch {
	case s.boolean && value == "false":
		return fmt.Sprintf("take out --%s=false, which is the default of %s", flag, s.field)
	case !s.boolean && value == "0", !s.boolean && value == "":
		return fmt.Sprintf("take out --%s, which sets no limit", flag)
	}
	return fmt.Sprintf("replace --%s with `%s: %s` %s", flag, s.field, value, s.of)
}

// texts returns the strings of a list.
func texts(list any) []string {
	items, _ := list.([]any)
	var found []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}
