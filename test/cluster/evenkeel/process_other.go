//go:build !linux

package evenkeel

import "syscall"

// attributes puts the process in its own group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
