package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// device is the node's end of its network link.
	device = "eth0"
	// Paths in the node.
	nodeBin, nodeDir = "/run/evenkeel/bin", "/run/evenkeel/node"
	containerdSocket = "/run/containerd/containerd.sock"
	// startWithin bounds each wait at the start. Usually, each takes less than a second.
	startWithin = 30 * time.Second
)

// boot is process 1 of a node. It reads commands from standard input, one per line, and
// reports each on standard output.
func boot(args []string) error {
	s, err := readSpec("boot", args)
	if err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("the role boot needs a PID namespace of its own")
	}
	if err := unix.Sethostname([]byte(s.name)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := s.network(); err != nil {
		return err
	}
	root, err := s.mountAll()
	if err != nil {
		return err
	}
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("changing the root folder: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := os.Setenv("PATH", nodeBin+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	return s.serve()
}

// network waits for the node's network link and configures it.
func (s spec) network() error {
	var link netlink.Link
	err := await(func() (err error) {
		link, err = netlink.LinkByName(device)
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the node's link: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback device: %w", err)
	}
	for _, up := range []netlink.Link{lo, link} {
		if err := netlink.LinkSetUp(up); err != nil {
			return fmt.Errorf("setting up %s: %w", up.Attrs().Name, err)
		}
	}
	if err := addAddress(link, nodeAddress(s.number)); err != nil {
		return err
	}
	// This is a setting of the network namespace.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("forwarding pods' packets: %w", err)
	}
	return addRoute(link, "", siteAddress)
}

func await(condition func() error) error {
	deadline := time.Now().Add(startWithin)
	for {
		err := condition()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// services are processes that the node restarts when they end.
type services struct {
	spec
	commands map[string][]string
	pids     map[int]string
}

func (s spec) serve() error {
	services := services{spec: s, pids: map[int]string{}, commands: map[string][]string{
		"containerd": {"containerd", "--config", nodeDir + "/containerd.toml"},
		"kubelet": {
			"kubelet", "--config", nodeDir + "/kubelet.yaml", "--kubeconfig", nodeDir + "/kubeconfig",
			"--hostname-override", s.name, "--node-ip", nodeAddress(s.number), "--v", "2",
		},
	}}
	if err := services.start("containerd"); err != nil {
		return err
	}
	err := await(func() error {
		conn, err := net.Dial("unix", containerdSocket)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for containerd: %w", err)
	}
	if out, err := exec.Command("ctr", "--namespace", "k8s.io", "images", "import", nodeDir+"/image.tar").CombinedOutput(); err != nil {
		return fmt.Errorf("importing the image: %w: %s", err, out)
	}
	if err := services.start("kubelet"); err != nil {
		return err
	}
	return services.run()
}

func (s *services) start(name string) error {
	arguments := s.commands[name]
	path, err := exec.LookPath(arguments[0])
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(nodeDir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close()
	// This does not use exec.Command, because run waits for all children at once.
	process, err := os.StartProcess(path, arguments, &os.ProcAttr{Files: []*os.File{nil, log, log}, Env: os.Environ()})
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	s.pids[process.Pid] = name
	return process.Release()
}

// restartAfter is how long to wait before restarting a service, the same as for systemd.
const restartAfter = 100 * time.Millisecond

// run executes commands and restarts services that have ended.
func (s *services) run() error {
	commands, ended, failed := make(chan string), make(chan int), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	go func() {
		for {
			pid, _, err := reap()
			if err != nil {
				failed <- err
				return
			}
			ended <- pid
		}
	}()
	fmt.Println("started")
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("waiting for services: %w", err)
		case pid := <-ended:
			name, service := s.pids[pid]
			if !service {
				continue
			}
			delete(s.pids, pid)
			<-time.After(restartAfter)
			if err := s.start(name); err != nil {
				return err
			}
			fmt.Println("restarted", name)
		case command := <-commands:
			if err := s.obey(command); err != nil {
				return err
			}
		}
	}
}

// obey executes "kill NAME", which ends a service and thereby restarts it.
func (s *services) obey(command string) error {
	name, kill := strings.CutPrefix(command, "kill ")
	if !kill || s.commands[name] == nil {
		return fmt.Errorf("unknown command %q", command)
	}
	var errs []error
	for pid, service := range s.pids {
		if service == name {
			errs = append(errs, syscall.Kill(pid, syscall.SIGTERM))
		}
	}
	return errors.Join(errs...)
}
