package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelSettings holds settings that a kubelet sets. They apply to the whole machine, so
// the kubelet is shown the values that it wants, and does not change anything.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// mountAll makes the node's file tree, which is the machine's with some folders of its
// own, and returns its root. All mounts end with the node.
func (s spec) mountAll() (root string, err error) {
	if err := ownMounts(); err != nil {
		return "", err
	}
	root = filepath.Join(s.dir, "root")
	for _, name := range []string{"root", "upper", "work", "containerd", "kubelet", "pods"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			return "", fmt.Errorf("making the node's folders: %w", err)
		}
	}
	layers := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", filepath.Join(s.dir, "upper"), filepath.Join(s.dir, "work"))
	if err := mount("overlay", root, "overlay", 0, layers); err != nil {
		return "", err
	}
	for _, step := range []func(string) error{s.mountProc, s.mountFolders, mountGroups} {
		if err := step(root); err != nil {
			return "", err
		}
	}
	return root, nil
}

func (s spec) mountProc(root string) error {
	proc := filepath.Join(root, "proc")
	if err := mount("proc", proc, "proc", 0, ""); err != nil {
		return err
	}
	settings := filepath.Join(proc, "sys")
	if err := bind(settings, settings); err != nil {
		return err
	}
	if err := mount("", settings, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	for name, value := range kernelSettings {
		if err := s.show(filepath.Join(settings, name), value); err != nil {
			return err
		}
	}
	// The kubelet reads its capacity from this file.
	kib := s.memoryMiB << 10
	return s.show(filepath.Join(proc, "meminfo"),
		fmt.Sprintf("MemTotal: %d kB\nMemFree: %d kB\nMemAvailable: %d kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", kib, kib/2, kib*9/10))
}

// show makes the node read a text instead of a kernel file, if the kernel has that file.
func (s spec) show(path, text string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	shown := filepath.Join(s.dir, "shown-"+filepath.Base(path))
	if err := os.WriteFile(shown, []byte(strings.TrimSuffix(text, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("writing what the node is shown: %w", err)
	}
	return bind(shown, path)
}

func (s spec) mountFolders(root string) error {
	if err := mount("sysfs", filepath.Join(root, "sys"), "sysfs", unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("tmpfs", filepath.Join(root, "run"), "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for path, source := range map[string]string{
		"var/lib/containerd": filepath.Join(s.dir, "containerd"),
		"var/lib/kubelet":    filepath.Join(s.dir, "kubelet"),
		"var/log/pods":       filepath.Join(s.dir, "pods"),
		nodeDir:              s.dir,
		nodeBin:              s.bin,
	} {
		if err := bind(source, filepath.Join(root, path)); err != nil {
			return err
		}
	}
	return nil
}

// bind makes a folder or file also appear at another path. It creates missing folders.
func bind(source, target string) error {
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("making a folder of the node: %w", err)
		}
	}
	return mount(source, target, "", unix.MS_BIND, "")
}

// mountGroups mounts each hierarchy of version 1. In this cgroup namespace, a hierarchy
// begins at the node's cgroup, so the kubelet takes that cgroup for the whole machine.
func mountGroups(root string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	groups := filepath.Join(root, "sys/fs/cgroup")
	if err := mount("tmpfs", groups, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, h := range all {
		if h.controllers == "" {
			continue
		}
		dir := filepath.Join(groups, strings.TrimPrefix(h.controllers, "name="))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("making a folder of the node: %w", err)
		}
		options := h.controllers
		if strings.HasPrefix(options, "name=") {
			options = "none," + options
		}
		if err := mount("cgroup", dir, "cgroup", 0, options); err != nil {
			return err
		}
	}
	return nil
}
