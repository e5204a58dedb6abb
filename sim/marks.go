package sim

import (
	"encoding/json"
	"fmt"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// marks writes to nodes what nodesync would write.
type marks struct {
	evenkeel  *evenkeel
	policy    nodesync.Policy
	reader    nodesync.Reader
	scheduler *kubescheduler.Scheduler
}

func newMarks(e *evenkeel, scheduler *kubescheduler.Scheduler) *marks {
	load := e.policy.Load
	return &marks{
		evenkeel: e, policy: settings.NodeSync(&load.NodeSync), scheduler: scheduler,
		reader: nodesync.Reader{
			Observer: e.observer, Lister: corelisters.NewNodeLister(e.nodes), Load: load, Clock: servertime.New(e.Now), Begun: beginning,
		},
	}
}

// sync is a pass over all nodes.
func (m *marks) sync(now time.Time) error {
	for _, known := range m.reader.Nodes() {
		decision := nodesync.Decide(m.policy, known, now)
		if decision.Patch.Empty() {
			continue
		}
		if err := m.apply(known.Name, &decision.Patch); err != nil {
			return fmt.Errorf("marking node %q: %w", known.Name, err)
		}
	}
	return nil
}

// apply applies a patch to a node, as the API server would.
func (m *marks) apply(name string, patch *nodesync.Patch) error {
	node, err := m.reader.Lister.Get(name)
	if err != nil {
		return err
	}
	before, err := json.Marshal(node)
	if err != nil {
		return err
	}
	body, err := patch.Body(node.ResourceVersion)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, body)
	if err != nil {
		return err
	}
	marked := &v1.Node{}
	if err := json.Unmarshal(after, marked); err != nil {
		return err
	}
	m.evenkeel.observer.Store().SetNode(marked)
	if err := m.evenkeel.nodes.Update(marked); err != nil {
		return err
	}
	return m.scheduler.Taint(name, marked.Spec.Taints)
}
