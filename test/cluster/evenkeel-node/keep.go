package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/vishvananda/netlink"
)

// spec is a node as described by the flags from package kubelets.
type spec struct {
	name string
	// number is 1 for the first node of the site. The node's addresses are derived from it.
	number int
	// dir is the node's folder: it contains the node's settings, its files and its logs. bin
	// is the folder with the binaries.
	dir, bin            string
	cpuMilli, memoryMiB int
}

func readSpec(role string, args []string) (s spec, err error) {
	flags := flag.NewFlagSet(role, flag.ContinueOnError)
	flags.StringVar(&s.name, "name", "", "name of the node")
	flags.IntVar(&s.number, "number", 0, "number of the node in its site, from 1")
	flags.StringVar(&s.dir, "dir", "", "folder of the node")
	flags.StringVar(&s.bin, "bin", "", "folder of the binaries")
	flags.IntVar(&s.cpuMilli, "cpu", 0, "milli-cores that the node has")
	flags.IntVar(&s.memoryMiB, "memory", 0, "MiB of memory that the node has")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.name == "" || s.number < 1 || s.dir == "" || s.bin == "" || s.cpuMilli < 1 || s.memoryMiB < 1 {
		return s, fmt.Errorf("%s: all flags are required", role)
	}
	return s, nil
}

// group returns the name of the node's cgroup. It begins with the name of the site's
// folder, by which clean finds it.
func (s spec) group() string { return filepath.Base(filepath.Dir(s.dir)) + "-" + s.name }

// keep runs a node until it ends or SIGTERM arrives, which is like pulling the node's
// plug.
func keep(args []string) (err error) {
	s, err := readSpec("keep", args)
	if err != nil {
		return err
	}
	all, err := hierarchies()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leaveGroups(all), removeGroups(all, s.group())) }()
	// The node's cgroup namespace begins at this process's cgroup when the node is started.
	if err := makeGroups(all, s.group(), s.cpuMilli, s.memoryMiB); err != nil {
		return err
	}
	runtime.LockOSThread() // the kernel ends the child with the thread that started it
	self, err := os.Executable()
	if err != nil {
		return err
	}
	node := exec.Command(self, append([]string{"boot"}, args...)...)
	node.Stdin, node.Stdout, node.Stderr = os.Stdin, os.Stdout, os.Stderr
	node.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP,
		Pdeathsig:  syscall.SIGKILL,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if err := node.Start(); err != nil {
		return fmt.Errorf("starting the node's first process: %w", err)
	}
	plugged := s.plug(node.Process.Pid)
	if plugged != nil {
		_ = node.Process.Kill() // Wait's error is expected
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	select {
	case <-signals:
		_ = node.Process.Kill() // an error means that it has just ended
		<-ended                 //nolint:errcheck // the error only says that it was killed
		return nil
	case err := <-ended:
		return errors.Join(plugged, err)
	}
}

// plug connects the node to the site's bridge and routes its pods' addresses to it.
func (s spec) plug(pid int) error {
	site, err := netlink.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("finding the bridge of nodes: %w", err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = "node"+strconv.Itoa(s.number), site.Attrs().Index
	link := &netlink.Veth{LinkAttrs: attributes, PeerName: device, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("linking the node to the bridge: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting up the node's link: %w", err)
	}
	return addRoute(site, podSubnet(s.number), nodeAddress(s.number))
}
