package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hierarchy is one of the machine's cgroup hierarchies: of version 1, with a set of
// controllers or a name, or of version 2.
type hierarchy struct {
	// controllers is as in /proc/self/cgroup: "cpu,cpuacct", "name=systemd", or "" for
	// version 2.
	controllers string
	// base is this process's own cgroup in the hierarchy. Nodes' cgroups are below it, so
	// whatever limits this process limits them, too.
	base string
}

// hierarchies lists the mounted hierarchies.
func hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("finding cgroups: %w", err)
	}
	own, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("finding cgroups: %w", err)
	}
	defer own.Close()
	var found []hierarchy
	for lines := bufio.NewScanner(own); lines.Scan(); {
		_, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if base, mounted := mountOf(string(mounts), controllers, path); mounted {
			found = append(found, hierarchy{controllers, base})
		}
	}
	return found, nil
}

// mountOf returns where a cgroup of a hierarchy is in the file system.
func mountOf(mountinfo, controllers, path string) (dir string, mounted bool) {
	for line := range strings.Lines(mountinfo) {
		// 36 35 98:0 ROOT POINT OPTIONS… - TYPE SOURCE SUPER-OPTIONS
		before, after, _ := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if len(head) < 5 || len(tail) < 3 {
			continue
		}
		switch tail[0] {
		case "cgroup2":
			if controllers != "" {
				continue
			}
		case "cgroup":
			options := strings.Split(tail[2], ",")
			if controllers == "" || slices.ContainsFunc(strings.Split(controllers, ","), func(c string) bool { return !slices.Contains(options, c) }) {
				continue
			}
		default:
			continue
		}
		inside, below := strings.CutPrefix(path, strings.TrimSuffix(head[3], "/"))
		if !below {
			inside = "/"
		}
		return filepath.Join(head[4], inside), true
	}
	return "", false
}

func (h hierarchy) has(controller string) bool {
	return slices.Contains(strings.Split(h.controllers, ","), controller)
}

// nodeShares gives nodes a greater share of a busy machine than its other processes, so
// that those do not affect what a pod uses.
const nodeShares = 8192

// makeGroups makes a node's cgroup in each hierarchy, limits it, and moves this process
// into it.
func makeGroups(all []hierarchy, name string, cpuMilli, memoryMiB int) error {
	for _, h := range all {
		dir := filepath.Join(h.base, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making a cgroup: %w", err)
		}
		var settings [][2]string
		switch {
		case h.has("cpuset"):
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				inherited, err := os.ReadFile(filepath.Join(h.base, file))
				if err != nil {
					return fmt.Errorf("reading a cgroup: %w", err)
				}
				settings = append(settings, [2]string{file, string(inherited)})
			}
		case h.has("cpu"):
			const period = 100_000 // microseconds, the kernel's default
			settings = append(settings, [2]string{"cpu.cfs_quota_us", strconv.Itoa(cpuMilli * period / 1000)}, [2]string{"cpu.shares", strconv.Itoa(nodeShares)})
		case h.has("memory"):
			settings = append(settings, [2]string{"memory.limit_in_bytes", strconv.Itoa(memoryMiB << 20)})
		}
		for _, s := range append(settings, [2]string{"cgroup.procs", strconv.Itoa(os.Getpid())}) {
			if err := os.WriteFile(filepath.Join(dir, s[0]), []byte(s[1]), 0o644); err != nil {
				return fmt.Errorf("setting up a cgroup: %w", err)
			}
		}
	}
	return nil
}

// leaveGroups moves this process back to its original cgroups.
func leaveGroups(all []hierarchy) error {
	var errs []error
	for _, h := range all {
		errs = append(errs, os.WriteFile(filepath.Join(h.base, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644))
	}
	return errors.Join(errs...)
}

const (
	// removeWithin bounds the wait until the processes of a cgroup have ended.
	removeWithin = 20 * time.Second
	retryEvery   = 100 * time.Millisecond
)

// removeGroups removes the cgroups that match a pattern, and the cgroups below them, once
// their processes have ended.
func removeGroups(all []hierarchy, pattern string) error {
	deadline := time.Now().Add(removeWithin)
	for {
		var errs []error
		for _, h := range all {
			dirs, err := filepath.Glob(filepath.Join(h.base, pattern))
			errs = append(errs, err)
			for _, dir := range dirs {
				errs = append(errs, removeTree(dir))
			}
		}
		err := errors.Join(errs...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(retryEvery)
	}
}

// removeTree removes a cgroup and those below it, the deepest first. The files in a
// cgroup cannot be removed.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	errs := []error{err}
	for _, path := range slices.Backward(dirs) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
