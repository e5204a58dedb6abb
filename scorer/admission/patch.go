package admission

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Step is one of a JSON patch. The API server answers one that fails with an
// Invalid.
type Step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Pointed returns a name as a part of a step's path.
func Pointed(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Encode returns a JSON patch.
func Encode(steps ...Step) ([]byte, error) {
	patch, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return patch, nil
}
