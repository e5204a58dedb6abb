//go:build !linux

package policyfile

import (
	"fmt"
	"os"
)

// tempDocument writes data to a temporary file.
func tempDocument(data []byte) (path string, remove func(), err error) {
	file, err := os.CreateTemp("", "descheduler-policy-*.yaml")
	if err != nil {
		return "", nil, fmt.Errorf("making a temporary file: %w", err)
	}
	remove = func() { _ = os.Remove(file.Name()) }
	if _, err := file.Write(data); err != nil {
		remove()
		return "", nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	if err := file.Close(); err != nil {
		remove()
		return "", nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	return file.Name(), remove, nil
}
