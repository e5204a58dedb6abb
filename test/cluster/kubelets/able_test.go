package kubelets

import "testing"

// A controller counts if a hierarchy of version 1 has it and is mounted.
func TestHasController(t *testing.T) {
	const (
		own    = "4:memory:/user\n3:cpu,cpuacct:/\n2:pids:/\n0::/init.scope\n"
		mounts = "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n" +
			"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw,nsdelegate 0 0\n"
		version2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n"
	)
	for name, tc := range map[string]struct {
		own, mounts, controller string
		want                    bool
	}{
		"alone":           {own, mounts, "memory", true},
		"with another":    {own, mounts, "cpuacct", true},
		"not mounted":     {own, mounts, "pids", false},
		"no hierarchy":    {own, mounts, "cpuset", false},
		"part of a word":  {own, mounts, "mem", false},
		"version 2 alone": {"0::/init.scope\n", version2, "memory", false},
	} {
		if got := hasController(tc.own, tc.mounts, tc.controller); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
