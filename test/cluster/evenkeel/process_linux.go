package evenkeel

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attributes puts the process in its own group and makes the kernel end it with its
// parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// PeakRSS returns the peak resident memory of the running process, in bytes.
func (p *Process) PeakRSS() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading evenkeel's memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading evenkeel's memory: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("reading evenkeel's memory: the kernel reports no peak")
}
