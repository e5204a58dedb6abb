package admission

import "strings"

// step is one of a JSON patch. The API server answers one that fails with an
// Invalid.
type step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// pointed returns a name as a part of a step's path.
func pointed(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
