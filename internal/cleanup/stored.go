package cleanup

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/observe/patterns"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
)

// leases determines whether Evenkeel still runs, because a running process would recreate
// what is removed.
func (c *cleaner) leases(ctx context.Context) {
	for i, name := range c.Leases {
		holder, renewed, err := c.holder(ctx, name)
		others := i == 0 && c.After == NodeSync || i > 0 && c.After == Evicting
		switch {
		case err != nil:
			c.left("Lease", c.Namespace, name, "%v", err)
		case holder == "":
			continue
		case others:
			c.note("Lease %s/%s: %q holds it, so what belongs to that process stays", c.Namespace, name, holder)
		default:
			c.left("Lease", c.Namespace, name, "%q holds it and renewed it at %s: stop Evenkeel first, or it recreates what is removed",
				holder, renewed.UTC().Format(time.RFC3339))
		}
		c.runs, c.marks = c.runs || i == 0, c.marks || i > 0
	}
}

// holder returns the current holder of a Lease; empty if there is none.
func (c *cleaner) holder(ctx context.Context, name string) (holder string, renewed time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	lease, err := c.Client.CoordinationV1().Leases(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, err //nolint:wrapcheck // it says all
	}
	spec := &lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", time.Time{}, nil
	}
	if c.Clock.Now().After(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)) {
		return "", time.Time{}, nil
	}
	return *spec.HolderIdentity, spec.RenewTime.Time, nil
}

// scaledUp reports the Deployments that an earlier version scaled up for a move and,
// according to its ledger, has not scaled back. It does not change them, because by now
// someone may want the second pod.
func (c *cleaner) scaledUp(ctx context.Context) {
	if c.After == NodeSync {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, evictor.ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.note("Namespace %s has no ledger. If Evenkeel ran in another one, name that with --namespace", c.Namespace)
		return
	}
	var document ledger.Document
	if err == nil {
		document, err = configmap.Inspect(object)
	}
	if err != nil {
		c.note("Whether an earlier version scaled up Deployments for a move cannot be read from the ledger in namespace %s: %v", c.Namespace, err)
		return
	}
	for i := range document.Moves {
		if deployment, replicas := document.Moves[i].ScaledUp(); deployment != "" {
			namespace := document.Moves[i].Namespace
			c.note("Deployment %s/%s: an earlier version scaled it up for a move. If it still has a pod too many: kubectl -n %s scale deployment %s --replicas=%d",
				namespace, deployment, namespace, deployment, replicas)
		}
	}
}

// recordsOf maps a mode to the keys of the records that its processes write on nodes. A
// Lease does not show which process wrote them, because a separate nodesync may hold no
// Lease or may run in another namespace.
var recordsOf = map[Mode][]string{Evicting: {nodesync.RecordKey}, NodeSync: {nodesync.ApartRecordKey}}

// nodes removes what nodesync wrote on nodes: either everything, or only what the
// processes of one mode wrote.
func (c *cleaner) nodes(ctx context.Context) {
	remove := nodesync.Remove
	if c.DryRun {
		remove = nodesync.Find
	}
	report, err := remove(ctx, c.Client, recordsOf[c.After]...)
	if report.Nodes > 0 {
		c.done("Nodes", "", "", "are", "freed of %s, %s and %s (%s)", reasons.Count(report.Annotations, "annotation"),
			reasons.Count(report.Labels, "label"), reasons.Count(report.Taints, "taint"), reasons.Count(report.Nodes, "node"))
	}
	if len(report.Corrupt) > 0 {
		c.left("Nodes", "", "", "the record of what was written could not be read, so check these by hand: %s", strings.Join(report.Corrupt, ", "))
	}
	if err != nil {
		c.left("Nodes", "", "", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// stored deletes the ledger and its set-aside copies, the Leases and the kill
// switch; or reports that they stay.
func (c *cleaner) stored(ctx context.Context) {
	if !c.Ledger {
		c.note("The ledger, the Leases and the kill switch stay (--ledger deletes them)")
		return
	}
	if len(c.report.Left) > 0 {
		c.left("ConfigMap", c.Namespace, evictor.ConfigMapName, "it stays, as do the Leases and the kill switch, until everything else is removed")
		return
	}
	maps, leases := c.Client.CoreV1().ConfigMaps(c.Namespace), c.Client.CoordinationV1().Leases(c.Namespace)
	names := append(configmap.SetAside(evictor.ConfigMapName), evictor.ConfigMapName, pause.Name, patterns.Name)
	if c.After == NodeSync {
		names = nil
	}
	for _, name := range names {
		c.deleteStored(ctx, "ConfigMap", name, func(ctx context.Context) error {
			_, err := maps.Get(ctx, name, metav1.GetOptions{})
			return err
		}, maps.Delete)
	}
	for i, name := range c.Leases {
		if i == 0 && c.After == NodeSync || i > 0 && c.marks {
			continue
		}
		c.deleteStored(ctx, "Lease", name, func(ctx context.Context) error {
			_, err := leases.Get(ctx, name, metav1.GetOptions{})
			return err
		}, leases.Delete)
	}
}

// deleteStored deletes an object, if there is one.
func (c *cleaner) deleteStored(ctx context.Context, kind, name string, exists func(context.Context) error, remove deleter) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := exists(ctx)
	if err == nil {
		err = c.change(ctx, func(ctx context.Context) error { return remove(ctx, name, metav1.DeleteOptions{}) })
	}
	switch {
	case err == nil:
		c.done(kind, c.Namespace, name, "is", "deleted")
	case !apierrors.IsNotFound(err):
		c.left(kind, c.Namespace, name, "%v", err)
	}
}

// deleter deletes an object by its name.
type deleter = func(context.Context, string, metav1.DeleteOptions) error
