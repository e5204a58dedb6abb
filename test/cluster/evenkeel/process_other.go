//go:build !linux

package evenkeel

import (
	"errors"
	"syscall"
)

// attributes puts the process in its own group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// PeakRSS returns the peak resident memory of the running process, in bytes. It is
// available only on Linux.
func (*Process) PeakRSS() (int64, error) {
	return 0, errors.New("reading evenkeel's memory: this system does not report its peak")
}
