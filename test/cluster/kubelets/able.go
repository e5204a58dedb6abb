package kubelets

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrUnable means that this machine cannot run nodes.
var ErrUnable = errors.New("this machine cannot run real kubelets")

// controllers holds the cgroup controllers that a node needs.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids"}

// Unable returns ErrUnable with the reason; nil if nodes can be built and run on this
// machine.
func Unable() error {
	if reason := unable(); reason != "" {
		return fmt.Errorf("%w: %s", ErrUnable, reason)
	}
	return nil
}

func unable() string {
	if runtime.GOOS != "linux" {
		return "it runs " + runtime.GOOS + ", not linux"
	}
	if os.Getuid() != 0 {
		return "only root may make their namespaces and cgroups"
	}
	// gcc compiles runc; the kubelet calls mount and umount for volumes.
	for _, program := range []string{"gcc", "mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program + " on the PATH"
		}
	}
	systems, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err.Error()
	}
	if !strings.Contains(string(systems), "\toverlay\n") {
		return "its kernel has no overlay file system"
	}
	if err := tryDisk(); err != nil {
		return "its " + siteParent + " cannot hold the files of nodes: " + err.Error()
	}
	if missing := missingControllers(); len(missing) > 0 {
		return "it has no cgroup hierarchies of version 1 with the controllers " + strings.Join(missing, ", ")
	}
	if err := tryNamespaces(); err != nil {
		return "it makes no namespaces: " + err.Error()
	}
	return tryCgroup()
}

func missingControllers() (missing []string) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return controllers
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return controllers
	}
	for _, controller := range controllers {
		if !hasController(string(own), string(mounts), controller) {
			missing = append(missing, controller)
		}
	}
	return missing
}

// hasController reports whether a controller has a mounted hierarchy of version 1. own
// and mounts are the contents of /proc/self/cgroup and /proc/mounts.
func hasController(own, mounts, controller string) bool {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || !contains(fields[1], controller) {
			continue
		}
		for mount := range strings.Lines(mounts) {
			if fields := strings.Fields(mount); len(fields) > 3 && fields[2] == "cgroup" && contains(fields[3], controller) {
				return true
			}
		}
	}
	return false
}

// contains reports whether a comma-separated list contains a word.
func contains(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// tryCgroup creates a cgroup and removes it again. It returns what failed.
func tryCgroup() string {
	for _, mount := range []string{"cpu", "cpu,cpuacct"} {
		dir := filepath.Join("/sys/fs/cgroup", mount)
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		probe, err := os.MkdirTemp(dir, "evenkeel-probe-")
		if err == nil {
			err = os.Remove(probe)
		}
		if err != nil {
			return "it allows no new cgroups: " + err.Error()
		}
		return ""
	}
	return "its cgroups are not mounted at /sys/fs/cgroup"
}
