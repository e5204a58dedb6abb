package compat

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// program describes a program of a legacy system and its replacement.
type program struct {
	// binaries and images are the program's names, except those that other programs share.
	binaries, images []string
	// image describes the replacement of its image; command replaces its binary.
	image, command string
	// flags are the flags that the program's successor accepts; nil if it
	// accepts all.
	flags []string
}

// Replacements of images.
const (
	ourImage       = "use the image built by deploy/Dockerfile here"
	schedulerImage = "use the image that deploy/Dockerfile builds with --target kube-scheduler here"
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
		image: "Evenkeel reads usage itself, so this can be deleted; other readers of its annotations can get them from " +
			"nodesync.annotations of the LoadPolicy",
	},
	{
		images: []string{"crane-scheduler"},
		image:  "use an image with the kube-scheduler of cmd/kube-scheduler here, which includes the plugin Dynamic; command and arguments stay",
	},
	{
		binaries: []string{"kube-scheduler"},
		image:    "if a plugin of an earlier system is in its configuration, " + schedulerImage,
		command:  `["/kube-scheduler"]`,
	},
}

// RunFlags holds descheduler's flags that `evenkeel run` accepts.
var RunFlags = []string{
	"descheduling-interval", "dry-run", "kubeconfig", "leader-elect", "leader-elect-lease-duration",
	"leader-elect-renew-deadline", "leader-elect-resource-name", "leader-elect-retry-period", "logging-format", "policy-config-file", "v", "vmodule",
}

// programOf returns the legacy program that a container runs; nil if it runs none. A
// patch may omit the image.
func programOf(container map[string]any) *program {
	image, given := container["image"].(string)
	image = strings.ToLower(imageName(image))
	if name, _ := container["name"].(string); !given {
		image = name
	}
	words := slices.Concat(texts(container["command"]), texts(container["args"]))
	for i := range programs {
		p := &programs[i]
		if slices.Contains(p.images, image) || len(p.binaries) > 0 && p.runs(words) {
			return p
		}
	}
	if slices.ContainsFunc(words, isLimit) {
		return &programs[0]
	}
	return nil
}

// runs reports whether words run a program.
func (p *program) runs(words []string) bool {
	found := callOf(words, p.binaries, 0)
	return found.at >= 0 || found.script && (len(found.args) > 0 || !found.unsure)
}

// isRunBy reports whether a word is a text that runs a program, such as an argument of an
// interpreter or of su. It does not parse the text's language.
func (p *program) isRunBy(word string) bool {
	return !strings.HasPrefix(word, "-") && strings.ContainsAny(word, " \t\n(;") &&
		slices.ContainsFunc(p.binaries, func(name string) bool { return strings.Contains(word, name) })
}

// isLimit recognizes a flag that only descheduler has.
func isLimit(word string) bool {
	flag, _, _ := flagOf(word)
	_, known := successors[flag]
	return known && strings.Contains(flag, "evict-")
}

// imageName returns the last part of an image's name, without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = path.Base(image)
	image, _, _ = strings.Cut(image, ":")
	return image
}

// mark describes what to change in a field of a container.
type mark struct{ field, text string }

func (p *program) marks(container map[string]any) (marks []mark) {
	if _, given := container["image"]; given {
		marks = append(marks, mark{"image", p.image})
	}
	if p.command == "" {
		return marks
	}
	command, args := texts(container["command"]), texts(container["args"])
	field := "args"
	if _, given := container["args"]; !given {
		field = "command"
	}
	words := slices.Concat(command, args)
	found := callOf(words, p.binaries, 0)
	if len(words) == 0 || len(command) == 0 && strings.HasPrefix(words[0], "-") { // the image determines the program
		found = call{at: -1, args: words}
	} else if found.at < 0 && !found.script && slices.ContainsFunc(words, p.isRunBy) {
		found = call{at: -1, script: true, unsure: true}
	} else if found.at < 0 && !found.script { // another program
		found = call{at: -1, args: words[1:], unsure: found.unsure || len(command) == 0 || slices.Contains(wrappers, path.Base(words[0]))}
	}
	switch {
	case found.script:
		// The image contains no shell.
		marks = append(marks, mark{field, fmt.Sprintf("put the command as %s here, and the arguments of %s from the script behind it, each as an item of the list: "+
			"the image has no shell", p.command, p.binaries[0])})
	case len(command) > 0 && found.at > 0:
		marks = append(marks, mark{"command", fmt.Sprintf("%s replaces all words up to %s; the arguments stay", p.command, shorten(words[found.at]))})
	case len(command) > 0:
		marks = append(marks, mark{"command", p.command + " replaces its first word; the arguments stay"})
	case len(marks) > 0:
		marks[0].text += "; its command is " + p.command
	}
	advice := p.advice(found.args)
	if found.unsure {
		advice = append(advice, "this cannot be read completely: check which arguments "+p.binaries[0]+" gets, and which of them limit evictions")
	}
	if len(advice) > 0 {
		marks = append(marks, mark{field, strings.Join(advice, "; ")})
	}
	return marks
}

// successor is the policy field that replaces a flag.
type successor struct {
	field, of string
	boolean   bool
}

const (
	topLevel    = "in the DeschedulerPolicy"
	evictorArgs = "among the args of DefaultEvictor"
)

// successors maps flags of earlier descheduler releases to the fields that
// replace them.
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

// advice returns what to do about flags that the program's successor does not accept. For
// example, a flag that limits evictions becomes a policy field.
func (p *program) advice(words []string) (advice []string) {
	if p.flags == nil {
		return nil
	}
	var unknown []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		flag, value, given := flagOf(word)
		if flag == "" && strings.Contains(word, "$") {
			advice = append(advice, fmt.Sprintf("check what %s stands for: it may contain flags that limit evictions", shorten(word)))
		}
		if flag == "" || slices.Contains(p.flags, flag) {
			continue
		}
		to, known := successors[flag]
		switch {
		case !known:
			unknown = append(unknown, "--"+shorten(flag))
			continue
		case !given && to.boolean:
			value, given = "true", true
		case !given && i+1 < len(words):
			i++
			value, given = words[i], true
		}
		advice = append(advice, to.words(flag, shorten(value), given))
	}
	if len(unknown) > 0 {
		advice = append(advice, fmt.Sprintf("remove %s, which evenkeel run does not have", strings.Join(unknown, ", ")))
	}
	return advice
}

// flagOf parses a word as a flag; the flag is empty if the word is not one.
func flagOf(word string) (flag, value string, given bool) {
	name, dashed := strings.CutPrefix(word, "-")
	if level, short := strings.CutPrefix(name, "v"); dashed && short && level != "" && strings.Trim(level, "0123456789") == "" {
		return "v", level, true // as in -v4
	}
	if !dashed {
		return "", "", false
	}
	flag, value, given = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return flag, value, given
}

func (s successor) words(flag, value string, given bool) string {
	if on, err := strconv.ParseBool(value); s.boolean && err == nil {
		value = strconv.FormatBool(on)
	}
	switch {
	case !given, strings.Contains(value, "$"):
		return fmt.Sprintf("replace --%s with %s %s: its value is not written here, so look it up", flag, s.field, s.of)
	case s.boolean && value == "false":
		return fmt.Sprintf("remove --%s=false, which is the default of %s", flag, s.field)
	case !s.boolean && (value == "0" || value == "" || negative.MatchString(value)):
		return fmt.Sprintf("remove --%s, which sets no limit", flag)
	case !unquoted.MatchString(value):
		value = strconv.Quote(value)
	}
	return fmt.Sprintf("replace --%s with `%s: %s` %s", flag, s.field, value, s.of)
}

// negative matches numbers that, like 0, mean no limit.
var negative = regexp.MustCompile(`^-[0-9]+$`)

// unquoted matches values that need no quotes in YAML.
var unquoted = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./=!()<>, -]*$`)

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
