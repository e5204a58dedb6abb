//go:build !linux

package evenkeel

import "syscall"

// attributes puts the process in a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
