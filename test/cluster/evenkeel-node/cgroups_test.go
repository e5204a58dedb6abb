package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A cgroup is found below the mount of its hierarchy: on machines that mount controllers
// together, and in containers, which see only their own part of it.
func TestMountOf(t *testing.T) {
	const machine = `30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
`
	const container = "34 30 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	for name, tc := range map[string]struct {
		mounts, controllers, path string
		want                      string // "" if it is not mounted
	}{
		"the root of a controller":   {machine, "memory", "/", "/sys/fs/cgroup/memory"},
		"a cgroup below it":          {machine, "memory", "/user/7", "/sys/fs/cgroup/memory/user/7"},
		"controllers together":       {machine, "cpu,cpuacct", "/a", "/sys/fs/cgroup/cpu,cpuacct/a"},
		"a hierarchy with a name":    {machine, "name=systemd", "/a", "/sys/fs/cgroup/systemd/a"},
		"version 2":                  {machine, "", "/a", "/sys/fs/cgroup/unified/a"},
		"not mounted":                {machine, "pids", "/", ""},
		"part of another set":        {machine, "cpu,cpuset", "/", ""},
		"in a container":             {container, "memory", "/docker/abc/sub", "/sys/fs/cgroup/memory/sub"},
		"a namespace hides the path": {container, "memory", "/", "/sys/fs/cgroup/memory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, mounted := mountOf(tc.mounts, tc.controllers, tc.path)
			if got != tc.want || mounted != (tc.want != "") {
				t.Errorf("%q, mounted %v, want %q", got, mounted, tc.want)
			}
		})
	}
}

// Cgroups are removed from the deepest to the highest, like the folders of this test. What
// cannot be removed is an error, and so is not forgotten.
func TestRemoveTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	for _, below := range []string{"kubepods/burstable/pod1", "kubepods/pod2", "system"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busy := filepath.Join(dir, "kubepods", "pod2", "process")
	if err := os.WriteFile(busy, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(dir); err == nil {
		t.Error("a cgroup with a process counts as removed")
	}
	if err := os.Remove(busy); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there: %v", err)
	}
	if err := removeTree(dir); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}
