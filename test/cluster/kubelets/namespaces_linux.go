package kubelets

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// runInNamespaces runs a command as process 1 of new namespaces, until the command or
// this process ends. It calls started once the command is running.
func runInNamespaces(command *exec.Cmd, started func() error) error {
	// The kernel ends the child process together with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Setpgid:    true, // so that Ctrl-C reaches only this process
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := command.Start(); err != nil {
		return err
	}
	if err := started(); err != nil {
		_ = command.Process.Kill() // an error means that it has already ended
		return errors.Join(err, command.Wait())
	}
	return command.Wait()
}

// tryNamespaces creates namespaces of all kinds that a site and its nodes need. It
// returns an error if that fails.
func tryNamespaces() error {
	command := exec.Command("true")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP,
	}
	return command.Run()
}

// tryDisk returns an error unless the file system for sites can hold the upper layer of
// an overlay.
func tryDisk() error {
	const overlay = 0x794c7630 // OVERLAYFS_SUPER_MAGIC
	var disk syscall.Statfs_t
	if err := syscall.Statfs(siteParent, &disk); err != nil {
		return err
	}
	if disk.Type == overlay {
		return errors.New("it is an overlay itself, as in a container")
	}
	return nil
}

// apart lets a process outlive this one and ignore Ctrl-C in the terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
