package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration/compat"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/slim"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/kinds"
	"github.com/evenkeel/evenkeel/usage/prometheus"
)

// Marking is what `evenkeel nodesync` lays over its policy, and where it
// reports nodes.
type Marking struct {
	// Prometheus is the address of the policy's Prometheus source, where it is
	// not empty.
	Prometheus string
	// Interval is the time between two samples, where it is not 0.
	Interval time.Duration
	// WebAddress serves /nodes and /status; "0" serves nothing.
	WebAddress string
}

// NodeSync is `evenkeel nodesync`: it observes and publishes on nodes, and does
// nothing else.
func NodeSync(ctx context.Context, options Options) error {
	a, err := newApp(ctx, options, parts{marking: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	if !a.publishesUsage() {
		return exit.Usagef("%s: the policy switches no part of nodesync on; what an earlier one wrote is taken back with --remove",
			options.PolicyFile)
	}
	return a.start(ctx, a.tellMarks, a.mark, a.watchPolicy)
}

// amend lays the flags over the policy.
func (m *Marking) amend(file *policy.File) error {
	if m == nil {
		return nil
	}
	u := &file.Load.Usage
	if m.Prometheus != "" {
		i := slices.IndexFunc(u.Sources, func(s policy.Source) bool { return s.Type == prometheus.Name })
		if i < 0 {
			return m.wrong(file, fmt.Sprintf("--prom: there is no usage source of type %s", prometheus.Name))
		}
		u.Sources[i].Config.(*prometheus.Config).Address = m.Prometheus
	}
	if m.Interval != 0 {
		u.SampleInterval = metav1.Duration{Duration: m.Interval}
		u.MaxAge.Duration = max(u.MaxAge.Duration, staleAfter*m.Interval)
		u.ObservationPeriod.Duration = max(u.ObservationPeriod.Duration, time.Duration(file.Load.Hot.ConsecutiveSamples)*m.Interval)
	}
	var wrong []string
	for _, err := range policy.Validate(&file.Load, kinds.All) {
		wrong = append(wrong, "with --prom and --seconds: "+err.Error())
	}
	if len(wrong) > 0 {
		return m.wrong(file, wrong...)
	}
	return nil
}

func (m *Marking) wrong(file *policy.File, problems ...string) error {
	return policyfile.Invalid(policyfile.NameOf(file), strings.Join(problems, "\n"))
}

// staleAfter is how many intervals a sample is good for at least.
const staleAfter = 3

// signalsOnly says that nothing needs to be known of cpu, memory and pods.
func (a *App) signalsOnly() bool {
	return a.parts.marking && !a.load.JudgesResources() && !a.load.NodeSync.Annotations.Enabled
}

func (a *App) usageConfig() usage.Config {
	config := settings.Usage(a.load)
	config.SignalsOnly = a.signalsOnly()
	return config
}

// wireMarking makes what publishes on nodes, and requests their informer.
func (a *App) wireMarking() error {
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.kube.Client, 0, informers.WithTransform(slim.New().Transform))
	synced, err := a.observer.Store().AttachNodes(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	return a.wireNodeSync()
}

// mark observes and publishes, as leader where asked for.
func (a *App) mark(ctx context.Context) error {
	if err := a.kube.Start(ctx, a.informers, a.synced...); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.eachPolicy(ctx, feedPods) })
	group.Go(func() error { return a.eachPolicy(ctx, observe) })
	group.Go(func() error { return a.heartbeat(ctx) })
	a.health.Ready()
	group.Go(func() error {
		sync := func(ctx context.Context) error { return a.eachPolicy(ctx, syncNodes) }
		if a.options.LeaderElect {
			return a.lead(ctx, sync)
		}
		return sync(ctx)
	})
	return group.Wait()
}

// feedPods feeds the observer with pods, if the policy judges anything that
// they have a part in.
func feedPods(ctx context.Context, a *App) error {
	store := a.observer.Store()
	if a.signalsOnly() {
		store.WithoutPods()
		return nil
	}
	store.ReflectPods(ctx, cache.NewListWatchFromClient(a.kube.Client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything()))
	return nil
}

// policyOf returns the policy that the options name, with its text: what is
// given has none.
func policyOf(options *Options) (*policy.File, []byte, error) {
	if options.Given != nil {
		return options.Given, nil, nil
	}
	file, content, err := policyfile.Read(options.PolicyFile)
	if err != nil {
		return nil, nil, err
	}
	return file, content, options.Marking.amend(file)
}

// tellMarks serves /nodes and /status until the context ends.
func (a *App) tellMarks(ctx context.Context) error {
	return serve.Listen(ctx, a.options.Marking.WebAddress, "/nodes and /status", compat.NodePages(a.marked))
}

// marked lists the nodes that carry the label, whoever put it there.
func (a *App) marked() (value string, nodes []string, err error) {
	label := &a.current().load.NodeSync.Label
	objects, err := a.informers.Core().V1().Nodes().Lister().List(labels.SelectorFromSet(labels.Set{label.Key: label.Value}))
	if err != nil {
		return "", nil, fmt.Errorf("listing nodes: %w", err)
	}
	nodes = make([]string, 0, len(objects))
	for _, object := range objects {
		nodes = append(nodes, object.Name)
	}
	slices.Sort(nodes)
	return label.Value, nodes, nil
}
