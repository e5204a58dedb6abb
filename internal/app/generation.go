package app

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/usage"
)

// generation is one policy and what a process makes of it. Once it is complete it
// does not change: another policy is another generation, which replaces it.
type generation struct {
	load     *policy.LoadPolicy
	file     *policy.File
	profiles *api.DeschedulerPolicy
	// classes are the priority classes that profiles lack until the API server is
	// reached.
	classes []policyfile.PriorityClass
	// content is that of the policy file.
	content []byte
	// number counts the generations of the process, from 1.
	number int
	// signalsOnly reports whether cpu, memory and pods are not needed.
	signalsOnly bool
	// retired is closed when another generation replaces this one.
	retired chan struct{}

	// A process that evicts completes the policy by the first two, one that writes
	// to nodes by the last.
	evictor  *evictor.Evictor
	runner   *runner.Runner
	nodeSync *nodesync.Syncer // nil in a dry run
}

// decoder decodes a policy as far as a kind of process uses it, without the API
// server.
type decoder func(*generation) error

// read makes the generation of a policy, which is complete once the kind of
// process has completed it.
func (s *setup) read(file *policy.File, content []byte, number int) (*generation, error) {
	g := &generation{load: &file.Load, file: file, content: content, number: number, retired: make(chan struct{})}
	return g, s.decode(g)
}

// decodeProfiles decodes the DeschedulerPolicy, without the priority classes that
// it names.
func decodeProfiles(g *generation) (err error) {
	g.profiles, g.classes, err = policyfile.OfflineProfiles(g.file)
	return err
}

// decodeGiven does the same where there is a DeschedulerPolicy: the process runs
// nothing.
func decodeGiven(g *generation) error {
	if g.file.Runs() {
		return decodeProfiles(g)
	}
	g.profiles = &api.DeschedulerPolicy{}
	return nil
}

// checkClasses reports the priority classes that the policy names and the cluster
// lacks.
func (g *generation) checkClasses(ctx context.Context, client kubernetes.Interface) error {
	if len(g.classes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
	defer cancel()
	return policyfile.CheckPriorityClasses(ctx, client, g.file)
}

// readsUsage reports whether the policy has a strategy of Evenkeel's own: they move
// pods by real usage.
func (g *generation) readsUsage() bool { return len(policy.Strategies(g.profiles)) > 0 }

// publishesUsage reports whether the policy makes Evenkeel write to nodes.
func (g *generation) publishesUsage() bool { return g.load.NodeSync.Writes() }

func (g *generation) usageConfig() usage.Config {
	config := settings.Usage(g.load)
	config.SignalsOnly = g.signalsOnly
	return config
}

// terms returns the parts of the policy that explanations use.
func (g *generation) terms() *live.Terms {
	terms := &live.Terms{
		SamplesNeeded: g.load.Hot.ConsecutiveSamples, Selector: g.profiles.NodeSelector,
		Protection: policyfile.Protection(g.profiles), MovesByUsage: g.readsUsage(),
		Shown: policyfile.Planned(g.profiles), OtherProfiles: policyfile.Unplanned(g.profiles),
	}
	if measured := settings.Measured(g.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}
