package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// markedNodes is what /nodes answers, as dynamicScheduler did.
type markedNodes struct {
	Type  string   `json:"type"`
	Count int      `json:"num"`
	Names []string `json:"node_names"`
}

// tellMarks serves /nodes and /status until the context ends.
func (a *App) tellMarks(ctx context.Context) error {
	address := a.options.Marking.WebAddress
	if address == "" || address == "0" {
		<-ctx.Done()
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serving /nodes and /status: %w", err)
	}
	return serve(ctx, listener, marksPages(a.marked))
}

func marksPages(marked func() (markedNodes, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	})
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		nodes, err := marked()
		var body []byte
		if err == nil {
			body, err = json.Marshal(nodes)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	return mux
}

// marked lists the nodes that carry the label, whoever put it there.
func (a *App) marked() (markedNodes, error) {
	label := &a.current().load.NodeSync.Label
	objects, err := a.informers.Core().V1().Nodes().Lister().List(labels.SelectorFromSet(labels.Set{label.Key: label.Value}))
	if err != nil {
		return markedNodes{}, fmt.Errorf("listing nodes: %w", err)
	}
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		names = append(names, object.Name)
	}
	slices.Sort(names)
	// The words are dynamicScheduler's, whose label had no other key and value.
	return markedNodes{Type: "Label type=" + label.Value + " Nodes", Count: len(names), Names: names}, nil
}
