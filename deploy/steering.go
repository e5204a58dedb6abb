// Package deploy holds shipped manifests, for what compares an installation with
// them.
package deploy

import "embed"

// Steering holds the manifests of steering by the API server.
//
//go:embed components/admission-steering*/*.yaml
var Steering embed.FS
