//go:build unix && !linux

package cluster

import "syscall"

// childAttributes puts a part into its own process group, so that the
// terminal's Ctrl-C reaches only us and we stop the parts in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
