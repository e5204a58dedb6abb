package kubelets

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"text/template"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

//go:embed files/*
var files embed.FS

// The size of each node. MilliCPU is also its allocatable CPU; the rest of the machine's
// CPUs, which the node sees, is reserved.
const (
	MilliCPU  = 500
	MemoryMiB = 2048
)

// Addresses in the site, which the node program assigns.
const siteAddress = "10.99.0.1"

// Node is a running node.
type Node struct {
	Name string
	// Address is the address of its kubelet, which listens on port 10250.
	Address string

	dir     string
	command *exec.Cmd
	orders  io.WriteCloser
	// reports receives the lines that the node writes, until it ends.
	reports chan string
	done    chan struct{}
}

// startNode starts a node without waiting until it is ready. number counts from 1.
func startNode(c *cluster.Cluster, binDir string, number int) (*Node, error) {
	n := &Node{
		Name: "node-" + strconv.Itoa(number), Address: fmt.Sprintf("10.99.0.%d", 10+number),
		reports: make(chan string, 100), done: make(chan struct{}),
	}
	n.dir = filepath.Join(os.Getenv(variable), n.Name)
	if err := n.writeFiles(c, binDir, number); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(n.dir, "node.log"))
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", n.Name, err)
	}
	defer log.Close()
	n.command = exec.Command(program(binDir), "keep", "--name", n.Name, "--number", strconv.Itoa(number),
		"--dir", n.dir, "--bin", binDir, "--cpu", strconv.Itoa(MilliCPU), "--memory", strconv.Itoa(MemoryMiB))
	n.command.Stderr = log
	if n.orders, err = n.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", n.Name, err)
	}
	reports, err := n.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", n.Name, err)
	}
	if err := n.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", n.Name, err)
	}
	go func() {
		defer close(n.done)
		n.follow(reports)
		_ = n.command.Wait() // the log shows how it ended
	}()
	return n, nil
}

// follow passes reports on until the node ends. Those that nobody awaits are dropped, because
// a service that does not stay up is reported again and again.
func (n *Node) follow(reports io.Reader) {
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		select {
		case n.reports <- lines.Text():
		default:
		}
	}
}

// writeFiles writes the node's configuration files.
func (n *Node) writeFiles(c *cluster.Cluster, binDir string, number int) error {
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("removing the files of an earlier node: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(n.dir, "cni"), 0o755); err != nil {
		return fmt.Errorf("making the folder of a node: %w", err)
	}
	values := map[string]any{
		"PauseImage":    pauseImage,
		"PodSubnet":     fmt.Sprintf("10.88.%d.0/24", number),
		"ReservedMilli": runtime.NumCPU()*1000 - MilliCPU,
	}
	for from, to := range map[string]string{"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "node.conflist": "cni/node.conflist"} {
		text, err := template.New(from).ParseFS(files, "files/"+from)
		if err != nil {
			return fmt.Errorf("reading embedded %s: %w", from, err)
		}
		var content bytes.Buffer
		if err := text.Execute(&content, values); err != nil {
			return fmt.Errorf("filling in %s: %w", from, err)
		}
		if err := os.WriteFile(filepath.Join(n.dir, to), content.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", to, err)
		}
	}
	if err := writeImage(binDir, filepath.Join(n.dir, "image.tar")); err != nil {
		return err
	}
	return c.WriteKubeletKubeconfig(filepath.Join(n.dir, "kubeconfig"), siteAddress)
}

// await waits for a report from the node.
func (n *Node) await(ctx context.Context, want string) error {
	for {
		select {
		case got := <-n.reports:
			if got == want {
				return nil
			}
		case <-n.done:
			return fmt.Errorf("waiting until %s has %s: it ended\n%s", n.Name, want, n.Logs())
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s has %s: %w\n%s", n.Name, want, ctx.Err(), n.Logs())
		}
	}
}

// RestartKubelet ends the kubelet, as an upgrade does, and waits until it has started
// again. Containers keep running.
func (n *Node) RestartKubelet(ctx context.Context) error {
	for len(n.reports) > 0 {
		<-n.reports // of an earlier restart
	}
	if _, err := fmt.Fprintln(n.orders, "kill kubelet"); err != nil {
		return fmt.Errorf("restarting the kubelet of %s: %w", n.Name, err)
	}
	return n.await(ctx, "restarted kubelet")
}

// killAfter is longer than the node program's wait for the node's cgroup.
const killAfter = 30 * time.Second

// PowerOff ends all processes of the node immediately, as if its plug were pulled.
func (n *Node) PowerOff() error {
	_ = terminate(n.command.Process) // an error means that it has already ended
	select {
	case <-n.done:
		return nil
	case <-time.After(killAfter):
		_ = n.command.Process.Kill()
		<-n.done
		return fmt.Errorf("powering off %s: killed, because it did not end within %s", n.Name, killAfter)
	}
}

// Logs returns the last part of each of the node's logs.
func (n *Node) Logs() string {
	const tail = 3 << 10 // bytes of each log
	var all bytes.Buffer
	for _, name := range []string{"node.log", "containerd.log", "kubelet.log"} {
		content, err := os.ReadFile(filepath.Join(n.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		fmt.Fprintf(&all, "%s of %s:\n%s\n", name, n.Name, content[max(0, len(content)-tail):])
	}
	return all.String()
}
