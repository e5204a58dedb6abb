package cluster

import "syscall"

// childAttributes puts a part into its own process group, so that the
// terminal's Ctrl-C reaches only us and we stop the parts in order, and lets
// the kernel kill it if we die unexpectedly.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
