package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/remote"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
)

// Options are the process's flags. Everything about what is hot and how to move
// is in the policy.
type Options struct {
	PolicyFile string
	Kubeconfig string
	Namespace  string
	// MetricsAddress serves /metrics, /livez and /readyz; "0" serves nothing.
	// MetricsAccess is who reads /metrics there: one of serve.Accesses.
	MetricsAddress, MetricsAccess string

	DryRun   bool
	Interval time.Duration
	Schedule string
	// ExtenderURL is that of a separate extender, which reports whether
	// kube-scheduler calls it.
	ExtenderURL string

	LeaderElect   bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	LeaseName     string

	// Marking, if set, overrides the policy for `evenkeel nodesync`.
	Marking *Marking

	// Observe answers kube-scheduler neutrally and compares its choices.
	Observe bool

	// MemoryOnly queries Prometheus for the memory of nodes only. Answers to
	// kube-scheduler have names and every score, and metrics are served on the
	// same port.
	MemoryOnly bool
	// Recording counts startups as any other usage: all that nodes and pods use
	// is recorded.
	Recording bool
	// Given, if set, is a policy without a file; REST is how the host process
	// reaches the API server.
	Given *policy.File
	REST  *rest.Config
	// LogBodies logs kube-scheduler's requests.
	LogBodies bool

	// ReportAddress serves reports, on loopback; "0" serves none. Profiling adds
	// profiles to them.
	ReportAddress string
	Profiling     bool

	ListenAddress                      string
	TLSCertFile, TLSKeyFile, ClientCAs string
}

// DefaultNamespace is where Evenkeel's Lease and ConfigMap are when neither
// flag nor environment says otherwise.
const DefaultNamespace = "kube-system"

// AddCommon adds the flags of every command.
func (o *Options) AddCommon(flags *pflag.FlagSet) {
	flags.StringVar(&o.PolicyFile, "policy-config-file", o.PolicyFile, "File with the DeschedulerPolicy and the LoadPolicy.")
	o.AddKubeconfig(flags)
	flags.StringVar(&o.Namespace, "namespace", namespaceFromEnvironment(), "Namespace of Evenkeel's Lease and ConfigMap.")
}

// AddKubeconfig adds the flag of every command that uses the API server.
func (o *Options) AddKubeconfig(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "File with kube configuration; without it $KUBECONFIG, else the pod's ServiceAccount.")
}

// AddMetrics adds the flags of commands that serve metrics and probes.
func (o *Options) AddMetrics(flags *pflag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":10258", `Address of /metrics, /livez and /readyz; "0" serves none.`)
	flags.StringVar(&o.MetricsAccess, "metrics-access", serve.AccessOpen, "Who may read /metrics there: open (everyone), authorized (over HTTPS, whom the API server allows to get the path /metrics) or off (no one). Probes are always answered.")
}

// AddRunner adds the flags of commands that evict.
func (o *Options) AddRunner(flags *pflag.FlagSet) {
	flags.BoolVar(&o.DryRun, "dry-run", false, "Decide and tell, but evict nothing.")
	flags.DurationVar(&o.Interval, "descheduling-interval", o.Interval, "Time between the end of one cycle and the start of the next; 0 runs one cycle and exits.")
	flags.StringVar(&o.Schedule, "schedule", "", `Cron expression for cycles, such as "*/5 * * * *"; instead of --descheduling-interval.`)
	flags.StringVar(&o.ExtenderURL, "extender-url", "", "URL of a separate extender, to check that kube-scheduler asks it. If the extender has several replicas, that of a headless Service, so that all are asked.")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "Evict only while holding the Lease, so that one process evicts at a time.")
	o.addLease(flags, "evenkeel")
}

func (o *Options) addLease(flags *pflag.FlagSet, name string) {
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take an abandoned Lease.")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew the Lease before it gives up.")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "Time between tries to take or renew the Lease.")
	flags.StringVar(&o.LeaseName, "leader-elect-resource-name", name, "Name of the Lease.")
}

// AddMarking adds the flags of nodesync as a separate process.
func (o *Options) AddMarking(flags *pflag.FlagSet) {
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "Write only while holding the Lease, so that several replicas may run.")
	o.addLease(flags, "evenkeel-nodesync")
}

// AddExtender adds the flags of commands that answer kube-scheduler.
func (o *Options) AddExtender(flags *pflag.FlagSet) {
	flags.StringVar(&o.ListenAddress, "listen-address", ":8888", "Address on which kube-scheduler asks.")
	flags.StringVar(&o.ReportAddress, "report-address", "127.0.0.1:8889", `Loopback address of the reports /status, /nodes, /explain and /metrics, for kubectl port-forward; "0" serves none.`)
	flags.BoolVar(&o.Profiling, "profiling", false, "Serve /debug/pprof/ among the reports.")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", "", "Certificate for HTTPS; without it HTTP is served.")
	flags.StringVar(&o.TLSKeyFile, "tls-private-key-file", "", "Private key of the certificate.")
	flags.StringVar(&o.ClientCAs, "client-ca-file", "", "CA that client certificates must be signed by.")
}

func namespaceFromEnvironment() string {
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return DefaultNamespace
}

// Validate reports the first mistake in the flags.
func (o *Options) Validate() error {
	for _, err := range []error{o.validateTimes(), o.validateAddresses()} {
		if err != nil {
			return exit.Usage(err)
		}
	}
	if o.Schedule == "" {
		return nil
	}
	if o.Interval != 0 {
		return exit.Usagef("--schedule and --descheduling-interval exclude each other")
	}
	if _, err := runner.ParseSchedule(o.Schedule); err != nil {
		return exit.Usagef("--schedule: %w", err)
	}
	return nil
}

func (o *Options) validateTimes() error {
	if o.Interval < 0 {
		return fmt.Errorf("--descheduling-interval: %v is negative", o.Interval)
	}
	if !o.LeaderElect {
		return nil
	}
	if o.RetryPeriod <= 0 || o.RenewDeadline <= o.RetryPeriod*12/10 || o.LeaseDuration <= o.RenewDeadline {
		return fmt.Errorf("--leader-elect-lease-duration %v must be above --leader-elect-renew-deadline %v, and that above 1.2 times --leader-elect-retry-period %v",
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
	}
	return nil
}

func (o *Options) validateAddresses() error {
	addresses := map[string]string{"listen-address": o.ListenAddress, "metrics-address": o.MetricsAddress, "report-address": o.ReportAddress}
	if o.Marking != nil {
		addresses["webaddr"] = o.Marking.WebAddress
	}
	for flag, address := range addresses {
		if address == "" || flag != "listen-address" && address == "0" {
			continue
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if flag == "report-address" && !serve.Local(host) {
			return fmt.Errorf("--%s: %q is no loopback address: reports name the pods of all namespaces and ask nobody for permission", flag, address)
		}
	}
	if o.MetricsAccess != "" && !slices.Contains(serve.Accesses(), o.MetricsAccess) {
		return fmt.Errorf("--metrics-access: %q is not one of %q", o.MetricsAccess, serve.Accesses())
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file go together")
	}
	return nil
}

// loops reports whether cycles repeat until the process is stopped.
func (o *Options) loops() bool { return o.Interval > 0 || o.Schedule != "" }

// schedule returns when cycles run. The flags must be valid.
func (o *Options) schedule() (runner.Schedule, error) {
	if o.Schedule != "" {
		return runner.ParseSchedule(o.Schedule)
	}
	return runner.Every(o.Interval), nil
}

// remote returns the separate extender, or nil.
func (o *Options) remote() *remote.Extender {
	if o.ExtenderURL == "" {
		return nil
	}
	return &remote.Extender{URL: o.ExtenderURL}
}

// Connect prepares the connection to the API server, without a request.
func (o *Options) Connect() (*kube.Connection, error) {
	if o.REST != nil {
		config := rest.CopyConfig(o.REST)
		config.ContentConfig, config.RateLimiter = rest.ContentConfig{}, nil // each client makes its own
		return kube.Connect(config)
	}
	config, err := kube.Config(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return kube.Connect(config)
}
