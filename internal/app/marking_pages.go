package app

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/internal/migration/compat"
	"github.com/evenkeel/evenkeel/internal/serve"
)

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
