package probe

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/evenkeel/evenkeel/status/doctor"
)

// SchedulerConfig reads a file with kube-scheduler's configuration, up to one byte more than the limit.
func SchedulerConfig(path string) (config *doctor.SchedulerConfig, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading kube-scheduler's configuration: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, doctor.MaxSchedulerConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading kube-scheduler's configuration: %w", err)
	}
	return &doctor.SchedulerConfig{Name: path, Data: data}, nil
}
