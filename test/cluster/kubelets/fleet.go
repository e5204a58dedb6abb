package kubelets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// readyWithin is generous: on two idle cores, three nodes are ready within about 5
// seconds.
const readyWithin = 90 * time.Second

// Start adds nodes, from inside a site, to a cluster with RealKubelets, and waits until
// they are ready. If it fails, no node is left running.
func Start(ctx context.Context, c *cluster.Cluster, binDir string, count int) (nodes []*Node, err error) {
	if !Inside() {
		return nil, errors.New("starting nodes: this process is in no site")
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	defer func() {
		if err != nil {
			err = errors.Join(err, PowerOff(nodes))
			nodes = nil
		}
	}()
	var names []string
	for number := range count {
		node, err := startNode(c, binDir, 1+number)
		if err != nil {
			return nodes, err
		}
		nodes, names = append(nodes, node), append(names, node.Name)
	}
	for _, node := range nodes {
		if err := node.await(ctx, "started"); err != nil {
			return nodes, err
		}
	}
	if err := c.WaitNodes(ctx, names, 0); err != nil {
		for _, node := range nodes {
			err = fmt.Errorf("%w\n%s", err, node.Logs())
		}
		return nodes, err
	}
	return nodes, nil
}

// PowerOff powers off nodes.
func PowerOff(nodes []*Node) error {
	var group errgroup.Group
	for _, node := range nodes {
		group.Go(node.PowerOff)
	}
	return group.Wait()
}
