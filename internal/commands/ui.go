package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/internal/flags"
)

// UIOptions are the flags of `evenkeel ui` other than those for access.
type UIOptions struct {
	// Open starts a browser.
	Open bool
	// Lease is the name of the Lease that identifies the leader.
	Lease string
	// Progress receives errors that do not end the command.
	Progress io.Writer
}

// AddTo adds the flags.
func (o *UIOptions) AddTo(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Open, "open", false, "Open the page in a browser, with xdg-open or open.")
	flags.StringVar(&o.Lease, "leader-elect-resource-name", "evenkeel", "Name of the Lease. The page is that of the pod that holds it, because that pod knows the last cycle.")
}

// UI runs `evenkeel ui`: it forwards a local port to the page of a process in the
// cluster, with the user's permissions, until the context ends.
func UI(ctx context.Context, options flags.Options, wanted UIOptions, out io.Writer) error {
	connection, err := options.Connect()
	if err != nil {
		return err
	}
	namespace := cmp.Or(options.Namespace, flags.DefaultNamespace)
	pod, err := pageOf(ctx, connection.Client, namespace, wanted.Lease)
	if err != nil {
		return err
	}
	return connection.Forward(ctx, pod.Namespace, pod.Name, reportPort, func(ctx context.Context, address string) error {
		page := "http://" + address + "/"
		if err := hasPage(ctx, page); err != nil {
			return fmt.Errorf("reading the page of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		line(out, "%s\nshows pod %s/%s until Ctrl-C.", page, pod.Namespace, pod.Name)
		if wanted.Open {
			defer open(ctx, page, wanted.Progress)()
		}
		<-ctx.Done()
		return nil
	})
}

// pageOf returns the pod whose page is shown: the leader, which knows the plan of the last
// cycle, or otherwise the first pod that serves reports.
func pageOf(ctx context.Context, client kubernetes.Interface, namespace, lease string) (*v1.Pod, error) {
	found, err := candidates(ctx, client, namespace)
	pod := reporting(found)
	if pod == nil {
		if err != nil {
			return nil, fmt.Errorf("looking for pods of serve or extender: %w", err)
		}
		var in []string
		for _, name := range searched(namespace) {
			in = append(in, strconv.Quote(name))
		}
		return nil, fmt.Errorf("namespace %s has no ready pod of serve or extender (select another namespace with -n)", strings.Join(in, " or "))
	}
	held, err := client.CoordinationV1().Leases(pod.Namespace).Get(ctx, lease, metav1.GetOptions{})
	if err != nil || held.Spec.HolderIdentity == nil {
		return pod, nil //nolint:nilerr // users who may not read the Lease see any replica
	}
	leader, _, _ := strings.Cut(*held.Spec.HolderIdentity, "_")
	for i := range found {
		if found[i].Name == leader && found[i].Namespace == pod.Namespace && reporting(found[i:i+1]) != nil {
			return &found[i], nil
		}
	}
	return pod, nil
}

// hasPage returns an error if the process has no page.
func hasPage(ctx context.Context, page string) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, page, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return errors.New("it has no page, because it runs an earlier version")
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// open opens a page in a browser. wait waits for the browser command, which ends with the
// context.
func open(ctx context.Context, page string, progress io.Writer) (wait func()) {
	for _, name := range []string{"xdg-open", "open"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		command := exec.CommandContext(ctx, program, page)
		if err := command.Start(); err != nil {
			line(progress, "The browser could not be started: %v", err)
			return func() {}
		}
		return func() { _ = command.Wait() } // waits for the stopped browser command
	}
	line(progress, "No browser was started, because neither xdg-open nor open is in PATH.")
	return func() {}
}
