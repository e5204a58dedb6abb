//go:build unix && !linux

package cluster

import "syscall"

// childAttributes puts a part into its own process group, so that Ctrl-C in the terminal
// reaches only this process, which stops the parts in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
