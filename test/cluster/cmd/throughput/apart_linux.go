package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controlPlane holds the names of processes that run on control plane machines, cut to
// the 15 characters that the kernel keeps.
var controlPlane = []string{"etcd", "kube-apiserver", "kube-controller", "kube-scheduler"}

// apart runs the control plane and kube-schedulers on the first processor, and this
// process and everything else that it has started on the others. Threads that start later
// run on the same processors as the threads that start them.
func apart() error {
	var first, others unix.CPUSet
	first.Set(0)
	for cpu := 1; cpu < runtime.NumCPU(); cpu++ {
		others.Set(cpu)
	}
	if others.Count() == 0 {
		return fmt.Errorf("--apart: needs at least 2 processors, got %d", runtime.NumCPU())
	}
	tasks, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat")
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	for _, task := range tasks {
		content, err := os.ReadFile(task)
		if err != nil {
			continue // it has already ended
		}
		process, id, _ := strings.Cut(strings.TrimPrefix(filepath.Dir(task), "/proc/"), "/task/")
		name, ours := member(string(content), process)
		thread, err := strconv.Atoi(id)
		if err != nil || !ours {
			continue
		}
		set := &others
		if slices.Contains(controlPlane, name) {
			set = &first
		}
		if err := unix.SchedSetaffinity(thread, set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("choosing processors for %s: %w", name, err)
		}
	}
	return nil
}

// member returns the name of a thread's process, which it reads from the process's files
// because threads may have their own names. ours reports whether it is this process or
// one of its children. stat has the format described in proc_pid_stat(5): id (name) state
// parent.
func member(stat, process string) (name string, ours bool) {
	_, rest, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(rest)
	self := strconv.Itoa(os.Getpid())
	if len(fields) < 2 || process != self && fields[1] != self {
		return "", false
	}
	comm, err := os.ReadFile("/proc/" + process + "/comm")
	return strings.TrimSpace(string(comm)), err == nil
}
