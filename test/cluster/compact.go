package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Compact removes everything but the newest state from etcd, so that no list or watch can
// start at an older revision. Until it is restarted, the API server still serves older
// revisions to watches from memory.
func (c *Cluster) Compact(ctx context.Context) error {
	var newest struct {
		Header struct {
			Revision json.Number `json:"revision"`
		} `json:"header"`
	}
	if err := c.etcd(ctx, "/v3/kv/range", map[string]any{"key": []byte{0}}, &newest); err != nil {
		return fmt.Errorf("reading etcd's revision: %w", err)
	}
	compaction := map[string]any{"revision": newest.Header.Revision, "physical": true}
	if err := c.etcd(ctx, "/v3/kv/compaction", compaction, &struct{}{}); err != nil {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	return nil
}

// etcd calls etcd's JSON gateway.
func (c *Cluster) etcd(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.urlOf(Etcd)+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", response.StatusCode, content)
	}
	return json.Unmarshal(content, answer)
}
