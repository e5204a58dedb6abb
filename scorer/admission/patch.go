package admission

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Step is one operation of a JSON patch. If it fails, the API server rejects the whole patch as Invalid.
type Step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// EscapePointer escapes a name for use in a step's path.
func EscapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Encode encodes a JSON patch.
func Encode(steps ...Step) ([]byte, error) {
	patch, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return patch, nil
}
