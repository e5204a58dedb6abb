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
	words := append(command[min(1, len(command)):], texts(container["args"])...)
	if unknown := p.unknown(words); len(unknown) > 0 {
		field := "args"
		if _, given := container["args"]; !given {
			field = "command"
		}
		marks = append(marks, mark{field, fmt.Sprintf("take out %s, which evenkeel run does not have", strings.Join(unknown, ", "))})
	}
	return marks
}

// unknown returns the flags among words that the successor does not accept.
func (p *program) unknown(words []string) []string {
	if p.flags == nil {
		return nil
	}
	var unknown []string
	for _, word := range words {
		flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && !slices.Contains(p.flags, flag) {
			unknown = append(unknown, "--"+shorten(flag))
		}
	}
	return unknown
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
