package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// argument makes a program run as a client; see Main.
const argument = "hostile-client"

// endsWithin is how long a client may take to end and report.
const endsWithin = 30 * time.Second

// Apart is a client in a separate process. If it floods, it gets only idle processor
// time, because a real attacker has a separate machine and uses no processor time of the
// attacked one.
type Apart struct {
	command *exec.Cmd
	input   io.Closer
	output  *json.Decoder
	stop    sync.Once
	report  Report
	err     error
}

// order is the input of the client's process.
type order struct {
	Config     Config
	Kubeconfig string
}

// Start runs this program, whose main function must call Main, as a client. Config.Kube
// is made from the kubeconfig file and must be nil.
func Start(ctx context.Context, config Config, kubeconfig string) (*Apart, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	a := &Apart{command: exec.CommandContext(ctx, "nice", "-n", niceness(config.Attacks), self, argument)}
	a.command.Stderr = os.Stderr
	input, err := a.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a hostile client: %w", err)
	}
	output, err := a.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a hostile client: %w", err)
	}
	if err := a.command.Start(); err != nil {
		return nil, fmt.Errorf("starting a hostile client: %w", err)
	}
	a.input, a.output = input, json.NewDecoder(output)
	if err := json.NewEncoder(input).Encode(order{config, kubeconfig}); err != nil {
		_, stopped := a.Stop()
		return nil, errors.Join(fmt.Errorf("telling a hostile client what to do: %w", err), stopped)
	}
	return a, nil
}

// niceness returns the nice value of a client. Clients that only forge requests use
// little processor time and must be as fast as kube-scheduler.
func niceness(attacks []Attack) string {
	if slices.ContainsFunc(attacks, func(a Attack) bool { return a == Bodies || a == Trickle || a == Crowd }) {
		return "19"
	}
	return "0"
}

// Stop stops the client, if it is still running, and returns its report.
func (a *Apart) Stop() (Report, error) {
	a.stop.Do(func() {
		late := time.AfterFunc(endsWithin, func() { _ = a.command.Process.Kill() })
		defer late.Stop()
		err := a.input.Close()
		a.err = errors.Join(err, a.output.Decode(&a.report), a.command.Wait())
		if a.err != nil {
			a.err = fmt.Errorf("a hostile client: %w", a.err)
		}
	})
	return a.report, a.err
}

// Main runs the client if this process was started by Start: it attacks until its input
// ends. Otherwise it does nothing and returns false.
func Main(ctx context.Context) (is bool) {
	if len(os.Args) != 2 || os.Args[1] != argument {
		return false
	}
	if err := serve(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hostile client:", err)
	}
	return true
}

func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var told order
	if err := decoder.Decode(&told); err != nil {
		return fmt.Errorf("reading what to do: %w", err)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", told.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if told.Config.Kube, err = kubernetes.NewForConfig(rest); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), in)) // the end of the input is the signal
		cancel()
	}()
	report, err := Run(ctx, told.Config)
	return errors.Join(err, json.NewEncoder(out).Encode(report))
}
