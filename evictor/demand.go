package evictor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/placement"
)

// Demand requests the watches, besides that of pods, that are needed for moving pods by
// real usage, starting with the first policy that needs them. Upstream's plugins need
// none of them, and their processes may lack the permissions.
type Demand struct {
	watched *Watched
	client  kubernetes.Interface
	customs *custom.Controllers
	server  Server
	filters *placement.Filters // nil until the first request
}

// Server reports what decides which of kube-scheduler's filters a cluster runs.
type Server interface {
	// DynamicResources reports whether the API server serves resource claims.
	DynamicResources() (bool, error)
	// DeclaredFeatures reports whether pods run only on nodes that declare the features
	// that the pods need.
	DeclaredFeatures() (bool, error)
}

// NewDemand returns a Demand that requests nothing yet.
func NewDemand(watched *Watched, client kubernetes.Interface, dynamicClient dynamic.Interface, server Server) *Demand {
	customs := custom.New(dynamicClient, client.Discovery())
	watched.WatchCustom(customs)
	return &Demand{watched: watched, client: client, customs: customs, server: server}
}

// Request requests watches of owners, budgets, quotas and the objects that
// kube-scheduler's filters read. It also requests watches of Jobs if jobs is true, and of
// the custom resources whose kinds are listed in controllers, for their annotations and
// their scale. It may be called for each policy.
func (d *Demand) Request(ctx context.Context, jobs bool, controllers []string) error {
	if d.filters == nil {
		config := placement.Config{Client: d.client, Informers: d.watched.factory}
		var err error
		if config.DynamicResources, err = d.server.DynamicResources(); err != nil {
			return err
		}
		if config.DeclaredFeatures, err = d.server.DeclaredFeatures(); err != nil {
			return err
		}
		if d.filters, err = placement.New(ctx, config); err != nil {
			return fmt.Errorf("building kube-scheduler's filters: %w", err)
		}
	}
	if err := d.watched.WatchOwners(d.filters); err != nil {
		return err
	}
	if jobs {
		if err := d.watched.WatchJobs(); err != nil {
			return err
		}
	}
	return d.Renew(controllers)
}

// Renew again requests those controllers whose kinds the API server did not serve before.
// It does nothing before the first request.
func (d *Demand) Renew(controllers []string) error {
	if d.filters == nil {
		return nil
	}
	for _, kind := range controllers {
		if err := d.customs.Request(schema.ParseGroupKind(kind)); err != nil {
			return err
		}
	}
	return nil
}

// Start starts watching the controllers. The caller starts the informers.
func (d *Demand) Start(ctx context.Context) { d.customs.Start(ctx) }

// HasSynced reports whether everything that was requested has been listed.
func (d *Demand) HasSynced() bool {
	return d.filters == nil || d.filters.HasSynced() && d.customs.Settled()
}
