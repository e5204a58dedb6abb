package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The site's network. Package kubelets uses the same addresses.
const (
	bridge      = "br0"
	siteAddress = "10.99.0.1"
	// nowhere is the gateway of the default route. kube-apiserver does not start without
	// such a route.
	nowhere = "10.99.0.254"
)

func nodeAddress(number int) string { return fmt.Sprintf("10.99.0.%d", 10+number) }

func podSubnet(number int) string { return fmt.Sprintf("10.88.%d.0/24", number) }

// site runs a command in the new namespaces of this process, and returns its exit code.
// Everything that runs in them ends with this process.
func site(args []string) (code int, err error) {
	if len(args) < 2 || args[0] != "--" {
		return 1, fmt.Errorf("usage: evenkeel-node site -- COMMAND")
	}
	if os.Getpid() != 1 {
		return 1, fmt.Errorf("the role site needs a PID namespace of its own")
	}
	if err := ownMounts(); err != nil {
		return 1, err
	}
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return 1, err
	}
	if err := siteNetwork(); err != nil {
		return 1, err
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	child, err := os.StartProcess(path, args[1:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 1, fmt.Errorf("starting %s: %w", path, err)
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // an error means that it has just ended
		}
	}()
	for {
		pid, status, err := reap()
		if err != nil {
			return 1, err
		}
		if pid == child.Pid {
			return exitCode(status), nil
		}
	}
}

// reap waits for the next child to end, including orphans, which process 1 inherits.
func reap() (pid int, status unix.WaitStatus, err error) {
	for {
		pid, err = unix.Wait4(-1, &status, 0, nil)
		if err != unix.EINTR {
			return pid, status, err
		}
	}
}

func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// siteNetwork makes the bridge that connects the nodes.
func siteNetwork() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback device: %w", err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridge
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil {
		return fmt.Errorf("adding the bridge of nodes: %w", err)
	}
	link, err := netlink.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("finding the bridge of nodes: %w", err)
	}
	for _, up := range []netlink.Link{lo, link} {
		if err := netlink.LinkSetUp(up); err != nil {
			return fmt.Errorf("setting up %s: %w", up.Attrs().Name, err)
		}
	}
	if err := addAddress(link, siteAddress); err != nil {
		return err
	}
	return addRoute(link, "", nowhere)
}

func addAddress(link netlink.Link, ip string) error {
	address, err := netlink.ParseAddr(ip + "/24")
	if err == nil {
		err = netlink.AddrAdd(link, address)
	}
	if err != nil {
		return fmt.Errorf("adding address %s to %s: %w", ip, link.Attrs().Name, err)
	}
	return nil
}

// addRoute adds a route to a network; "" means all networks.
func addRoute(link netlink.Link, to, via string) error {
	route := netlink.Route{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(via)}
	if to != "" {
		_, network, err := net.ParseCIDR(to)
		if err != nil {
			return fmt.Errorf("reading network %q: %w", to, err)
		}
		route.Dst = network
	}
	if err := netlink.RouteReplace(&route); err != nil {
		return fmt.Errorf("adding a route to %q by %s: %w", to, via, err)
	}
	return nil
}

// ownMounts keeps mounts in this process's namespace from propagating to the machine's.
func ownMounts() error {
	return mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mounting %q at %s: %w", slices.Max([]string{kind, source}), target, err)
	}
	return nil
}
