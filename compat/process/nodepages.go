package process

import (
	"encoding/json"
	"net/http"
)

// NodePages answers /nodes and /status as dynamicScheduler did. labelled
// returns the label's value and the nodes that carry it.
func NodePages(labelled func() (value string, nodes []string, err error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	})
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		value, nodes, err := labelled()
		var body []byte
		if err == nil { // dynamicScheduler's label had a fixed key and value
			body, err = json.Marshal(nodesBody{Type: "Label type=" + value + " Nodes", Count: len(nodes), Names: nodes})
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

type nodesBody struct {
	Type  string   `json:"type"`
	Count int      `json:"num"`
	Names []string `json:"node_names"`
}
