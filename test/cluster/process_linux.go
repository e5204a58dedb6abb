package cluster

import "syscall"

// childAttributes puts a part into its own process group, so that Ctrl-C in the terminal
// reaches only this process, which stops the parts in order. It also lets the kernel kill
// the part if this process dies unexpectedly.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
