// Package flags defines the flags of processes and of the commands that inspect a
// cluster. It checks whether they are compatible, and applies the flags that override the
// policy.
package flags

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status/serve"
)

// Options are the flags of a process. All settings about what is hot and how to move pods
// are in the policy.
type Options struct {
	PolicyFile string
	// Converters convert the legacy formats that the policy file may use.
	Converters []policy.Converter
	Kubeconfig string
	// Context is the kubeconfig context to use; As and AsGroups are the user and the groups
	// to impersonate. Empty values mean the same as in kubectl.
	Context, As string
	AsGroups    []string
	Namespace   string
	// MetricsAddress is the address that serves /metrics, /livez and /readyz; "0" disables
	// it. MetricsAccess determines who may read /metrics there.
	MetricsAddress, MetricsAccess string
	// MetricsNodeLimit is the maximum number of nodes for which each node has its own
	// series; 0 means none has.
	MetricsNodeLimit int
	// MetricsOwnerLimit is the number of owners with separate series; 0 for none.
	MetricsOwnerLimit int

	// SendCredentials allows commands that inspect or plan to read the tokens and
	// passwords that the policy names, and to send them to its servers. Processes in a
	// cluster always do so.
	SendCredentials bool

	DryRun   bool
	Interval time.Duration
	Schedule string
	// Extender is the separate extender, which reports whether kube-scheduler calls it. Its
	// URL is empty if there is no separate extender.
	Extender remote.Extender

	LeaderElect   bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
	LeaseName     string

	// NodeSync, if set, overrides the policy for `evenkeel nodesync`.
	NodeSync *NodeSync

	// Observe makes the process give kube-scheduler only neutral answers.
	Observe bool

	// MemoryOnly queries Prometheus only for the memory of nodes. Answers to
	// kube-scheduler contain names and every score, and metrics are served on the
	// same port.
	MemoryOnly bool
	// WatchAtMost, if positive, limits how long usage without history is observed, even
	// if the policy requires more.
	WatchAtMost time.Duration
	// Recording makes startup usage count like any other usage, because a recording contains
	// all usage of nodes and pods.
	Recording bool
	// Given, if set, is a policy without a file. REST is how the host process reaches the
	// API server.
	Given *policy.File
	REST  *rest.Config
	// LogBodies logs kube-scheduler's requests.
	LogBodies bool

	// ReportAddress is the loopback address that serves reports; "0" disables it. Profiling
	// adds profiles to the reports.
	ReportAddress string
	Profiling     bool

	ListenAddress                      string
	TLSCertFile, TLSKeyFile, ClientCAs string
	// InsecureServing allows plain HTTP on addresses other than loopback. InsecureAddress
	// is a second address, which always serves plain HTTP.
	InsecureServing bool
	InsecureAddress string

	// WebhookAddress is the HTTPS address to which the API server sends requests about
	// new pods; empty if there is none.
	WebhookAddress, WebhookCertFile, WebhookKeyFile string
}

// DefaultNamespace is the namespace of Evenkeel's Lease and ConfigMap unless a
// flag or the environment sets another.
const DefaultNamespace = "kube-system"

// AddCommon adds the flags of every command.
func (o *Options) AddCommon(flags *pflag.FlagSet) {
	flags.StringVar(&o.PolicyFile, "policy-config-file", o.PolicyFile, "File with the DeschedulerPolicy and the LoadPolicy.")
	o.AddLedger(flags)
}

// AddLooking adds the flags of commands that read usage with the caller's permissions.
// They send no credentials by default, because a policy from elsewhere could name Secrets
// and files that only the caller may read, and an attacker's server to which to send
// them.
func (o *Options) AddLooking(flags *pflag.FlagSet) {
	o.AddCommon(flags)
	flags.BoolVar(&o.SendCredentials, "send-credentials", false, "Send the tokens and passwords that the policy names to the servers that it names. They are read with your permissions, so check the addresses in a policy that you did not write first.")
}

// AddLedger adds the flags of commands that only read stored data.
func (o *Options) AddLedger(flags *pflag.FlagSet) {
	o.AddKubeconfig(flags)
	flags.StringVarP(&o.Namespace, "namespace", "n", namespaceFromEnvironment(), "Namespace of Evenkeel's Lease and ConfigMap.")
}

// AddKubeconfig adds the flags of every command that uses the API server. They
// are the same as kubectl's.
func (o *Options) AddKubeconfig(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "Path to the kubeconfig file. Defaults to $KUBECONFIG, then the in-cluster ServiceAccount or ~/.kube/config.")
	flags.StringVar(&o.Context, "context", "", "Context of the kubeconfig file to use. Defaults to its current one.")
	flags.StringVar(&o.As, "as", "", "User to impersonate, such as system:serviceaccount:evenkeel:evenkeel.")
	flags.StringArrayVar(&o.AsGroups, "as-group", nil, "Group to impersonate, with --as (repeatable).")
}

// maxOwners bounds MetricsOwnerLimit, because a metrics system keeps all series that it
// has ever seen for a while.
const maxOwners = 100

// AddMetrics adds the flags of commands that serve metrics and probes.
func (o *Options) AddMetrics(flags *pflag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":10258", `Address of /metrics, /livez and /readyz; "0" disables them.`)
	flags.IntVar(&o.MetricsNodeLimit, "metrics-node-limit", 500, "Export the usage and state of each node, as three series per node, in clusters of at most this many nodes; 0 exports none.")
	flags.IntVar(&o.MetricsOwnerLimit, "metrics-owner-limit", 0, fmt.Sprintf("Export evictions and their outcomes for this many owners, those with the most evictions in the ledger, as three series per owner; 0 exports none, and %d is the maximum.", maxOwners))
	flags.StringVar(&o.MetricsAccess, "metrics-access", serve.MetricsOpen, "Who may read /metrics there: open (everyone), authorized (over HTTPS, clients that the API server allows to get the path /metrics) or off (no one). Probes are always answered.")
}

// AddRunner adds the flags of commands that evict.
func (o *Options) AddRunner(flags *pflag.FlagSet) {
	flags.BoolVar(&o.DryRun, "dry-run", false, "Plan and log evictions without performing them.")
	flags.DurationVar(&o.Interval, "descheduling-interval", o.Interval, "Time between the end of one cycle and the start of the next, unless an event starts one earlier; 0 runs one cycle and exits.")
	flags.StringVar(&o.Schedule, "schedule", "", `Cron expression for cycles, such as "*/5 * * * *"; instead of --descheduling-interval.`)
	AddRemote(flags, &o.Extender, "URL of a separate extender, to check that kube-scheduler asks it. If the extender has several replicas, use a headless Service, so that all are asked.")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "Evict only while holding the Lease, so that one process evicts at a time.")
	o.addLease(flags, "evenkeel")
}

// AddRemote adds the flags of commands that query an extender in another process.
func AddRemote(flags *pflag.FlagSet, extender *remote.Extender, usage string) {
	flags.StringVar(&extender.URL, "extender-url", "", usage)
	flags.StringVar(&extender.TLS.CAFile, "extender-ca-file", "", "CA that must have signed the extender's certificate; by default one of the system's CAs.")
	flags.StringVar(&extender.TLS.CertFile, "extender-client-cert-file", "", "Client certificate for the extender.")
	flags.StringVar(&extender.TLS.KeyFile, "extender-client-key-file", "", "Private key of the client certificate.")
	flags.StringVar(&extender.TLS.ServerName, "extender-server-name", "", "Name that the extender's certificate must have; by default the host of the URL.")
}

func (o *Options) addLease(flags *pflag.FlagSet, name string) {
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take an abandoned Lease.")
	flags.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew the Lease before it gives up.")
	flags.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "Time between attempts to acquire or renew the Lease.")
	flags.StringVar(&o.LeaseName, "leader-elect-resource-name", name, "Name of the Lease.")
}

// AddNodeSync adds the flags of nodesync as a separate process.
func (o *Options) AddNodeSync(flags *pflag.FlagSet) {
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "Write only while holding the Lease, so that several replicas may run.")
	o.addLease(flags, "evenkeel-nodesync")
}

// AddExtender adds the flags of commands that answer kube-scheduler.
func (o *Options) AddExtender(flags *pflag.FlagSet) {
	flags.StringVar(&o.ListenAddress, "listen-address", ":8888", "Address on which to serve extender requests from kube-scheduler.")
	flags.StringVar(&o.ReportAddress, "report-address", "127.0.0.1:8889", `Loopback address of the page / and the reports /status, /nodes, /explain and /metrics, for evenkeel ui and kubectl port-forward; "0" disables them.`)
	flags.BoolVar(&o.Profiling, "profiling", false, "Serve /debug/pprof/ among the reports.")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", "", "Certificate for HTTPS; without it HTTP is served. Changed files take effect within 15 seconds.")
	flags.StringVar(&o.TLSKeyFile, "tls-private-key-file", "", "Private key of the certificate.")
	flags.StringVar(&o.ClientCAs, "client-ca-file", "", "CA that must have signed client certificates; without it, every client is answered.")
	flags.BoolVar(&o.InsecureServing, "insecure-serving", false, "Allow plain HTTP on a --listen-address that other hosts can reach; they can then send the same requests as kube-scheduler.")
	flags.StringVar(&o.InsecureAddress, "insecure-listen-address", "", "Additional address for plain HTTP, while kube-scheduler is being switched to HTTPS.")
}

// AddWebhook adds the flags of a command that the API server may call.
func (o *Options) AddWebhook(flags *pflag.FlagSet) {
	flags.StringVar(&o.WebhookAddress, "webhook-address", "", "Address on which to serve the webhook for new pods, for API servers before Kubernetes 1.36; without it, none is served.")
	flags.StringVar(&o.WebhookCertFile, "webhook-cert-file", "", "Certificate for --webhook-address. Changed files take effect within 15 seconds.")
	flags.StringVar(&o.WebhookKeyFile, "webhook-private-key-file", "", "Private key of that certificate.")
}

func namespaceFromEnvironment() string {
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return DefaultNamespace
}

// Validate reports the first error in the flags.
func (o *Options) Validate() error {
	for _, err := range []error{o.validateTimes(), o.validateAddresses(), o.validateTrust(), o.validateRemote()} {
		if err != nil {
			return exit.Usage(err)
		}
	}
	if o.Schedule == "" {
		return nil
	}
	if o.Interval != 0 {
		return exit.Usagef("--schedule and --descheduling-interval cannot be used together")
	}
	if _, err := cycle.ParseSchedule(o.Schedule); err != nil {
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
	if o.RetryPeriod <= 0 || o.RenewDeadline <= o.RetryPeriod*12/10 || o.LeaseDuration.Truncate(time.Second) <= o.RenewDeadline {
		return fmt.Errorf("--leader-elect-lease-duration %v, in whole seconds, must be longer than --leader-elect-renew-deadline %v, which must be longer than 1.2 times --leader-elect-retry-period %v",
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
	}
	return nil
}

func (o *Options) validateAddresses() error {
	addresses := map[string]string{
		"listen-address": o.ListenAddress, "insecure-listen-address": o.InsecureAddress, "metrics-address": o.MetricsAddress, "report-address": o.ReportAddress,
		"webhook-address": o.WebhookAddress,
	}
	if o.NodeSync != nil {
		addresses["webaddr"] = o.NodeSync.WebAddress
	}
	for flag, address := range addresses {
		if address == "" || !strings.HasSuffix(flag, "listen-address") && address == "0" {
			continue
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		if flag == "report-address" && !serve.Local(host) {
			return fmt.Errorf("--%s: %q is not a loopback address: reports name the pods of all namespaces, and reading them needs no permission", flag, address)
		}
	}
	if o.MetricsNodeLimit < 0 {
		return fmt.Errorf("--metrics-node-limit: %d is negative", o.MetricsNodeLimit)
	}
	if o.MetricsOwnerLimit < 0 || o.MetricsOwnerLimit > maxOwners {
		return fmt.Errorf("--metrics-owner-limit: %d is not between 0 and %d", o.MetricsOwnerLimit, maxOwners)
	}
	if access := []string{"", serve.MetricsOpen, serve.MetricsAuthorized, serve.MetricsOff}; !slices.Contains(access, o.MetricsAccess) {
		return fmt.Errorf("--metrics-access: %q is not one of %q%s", o.MetricsAccess, access[1:], likely.Hint(o.MetricsAccess, access[1:]))
	}
	return nil
}

// validateTrust makes sure that only kube-scheduler gets answers, unless a flag allows
// other clients.
func (o *Options) validateTrust() error {
	switch {
	case (o.TLSCertFile == "") != (o.TLSKeyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file must be used together")
	case (o.WebhookAddress == "") != (o.WebhookCertFile == ""), (o.WebhookAddress == "") != (o.WebhookKeyFile == ""):
		return errors.New("--webhook-address, --webhook-cert-file and --webhook-private-key-file must be used together")
	case o.InsecureAddress != "" && o.TLSCertFile == "":
		return errors.New("--insecure-listen-address requires --tls-cert-file: without it, --listen-address already serves plain HTTP")
	case o.ListenAddress != "" && o.TLSCertFile == "" && !o.InsecureServing && !extender.Loopback(o.ListenAddress):
		return fmt.Errorf("--listen-address %s serves plain HTTP and is not a loopback address: set --tls-cert-file, --tls-private-key-file and --client-ca-file "+
			"(`evenkeel certificates` makes the files), or allow it with --insecure-serving", o.ListenAddress)
	}
	return nil
}

func (o *Options) validateRemote() error {
	if o.Extender.URL == "" {
		return nil
	}
	if err := o.Extender.Validate(); err != nil {
		return fmt.Errorf("--extender-url: %w", err)
	}
	return nil
}

// Loops reports whether cycles repeat until the process is stopped.
func (o *Options) Loops() bool { return o.Interval > 0 || o.Schedule != "" }

// Elects reports whether only one process evicts at a time, which a dry run
// does not need.
func (o *Options) Elects() bool { return o.LeaderElect && !o.DryRun }

// Follows reports whether a process must know the moves of another process that leads. It
// must if it answers kube-scheduler, or if it releases pods held by the API server,
// because without their plan these could land anywhere.
func (o *Options) Follows(answers bool) bool {
	return answers || o.Elects() && o.Loops()
}

// Cycles returns when cycles run. The flags must be valid.
func (o *Options) Cycles() (cycle.Schedule, error) {
	if o.Schedule != "" {
		return cycle.ParseSchedule(o.Schedule)
	}
	return cycle.Every(o.Interval), nil
}

// Remote returns the separate extender, or nil.
func (o *Options) Remote() *remote.Extender {
	if o.Extender.URL == "" {
		return nil
	}
	return &o.Extender
}

// Connect prepares the connection to the API server, without a request.
func (o *Options) Connect() (*kube.Connection, error) {
	if o.REST != nil {
		config := rest.CopyConfig(o.REST)
		config.ContentConfig, config.RateLimiter = rest.ContentConfig{}, nil // each client has its own
		return kube.Connect(config)
	}
	access := kube.Access{Kubeconfig: o.Kubeconfig, Context: o.Context, As: o.As, AsGroups: o.AsGroups}
	config, err := access.Config()
	if err != nil {
		return nil, err
	}
	return kube.Connect(config)
}
