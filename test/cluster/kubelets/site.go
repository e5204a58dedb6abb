package kubelets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// variable holds the folder of the site in the processes inside.
	variable = "EVENKEEL_SITE"
	// pidFile is the file in it with the process ID of the site, outside of it.
	pidFile = "pid"
	// siteParent is where folders of sites are made: containerd needs a real disk.
	siteParent = "/var/tmp"
	// stopWithin is how long a command in a site may take to end; cleanWithin is more than
	// the cleaner waits for cgroups.
	stopWithin, cleanWithin = 40 * time.Second, 60 * time.Second
)

// Inside reports whether this process runs in a site.
func Inside() bool { return os.Getenv(variable) != "" }

// Enter makes a site, runs a command in it with this process's files, and returns its
// exit code. The site ends with the command, which gets SIGTERM when the context ends.
// Shell is how other processes get into it.
func Enter(ctx context.Context, binDir string, command ...string) (code int, err error) {
	dir, err := os.MkdirTemp(siteParent, "evenkeel-site-")
	if err != nil {
		return 1, fmt.Errorf("making the folder of the site: %w", err)
	}
	cleaned, err := startCleaner(binDir, dir)
	if err != nil {
		return 1, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, cleaned()) }()
	site := exec.CommandContext(ctx, program(binDir), append([]string{"site", "--"}, command...)...)
	site.Stdin, site.Stdout, site.Stderr = os.Stdin, os.Stdout, os.Stderr
	site.Env = append(os.Environ(), variable+"="+dir)
	site.Cancel = func() error { return terminate(site.Process) }
	site.WaitDelay = stopWithin
	err = runInNamespaces(site, func() error {
		return os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(site.Process.Pid)), 0o644)
	})
	if site.ProcessState != nil && site.ProcessState.Exited() {
		return site.ProcessState.ExitCode(), nil
	}
	return 1, fmt.Errorf("running %s in the site of nodes: %w", command[0], err)
}

// Shell returns a command that starts a shell in this process's site.
func Shell() string {
	return fmt.Sprintf("nsenter --target $(cat %s) --mount --pid --net", filepath.Join(os.Getenv(variable), pidFile))
}

// startCleaner starts the process that removes what a site leaves. It begins when the
// returned function is called or this process ends.
func startCleaner(binDir, dir string) (wait func() error, err error) {
	cleaner := exec.Command(program(binDir), "clean", "--dir", dir)
	cleaner.Stderr = os.Stderr
	cleaner.SysProcAttr = apart()
	ended, err := cleaner.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the cleaner: %w", err)
	}
	if err := cleaner.Start(); err != nil {
		return nil, fmt.Errorf("starting the cleaner: %w", err)
	}
	return func() error { return awaitCleaner(cleaner, ended) }, nil
}

func awaitCleaner(cleaner *exec.Cmd, ended io.Closer) error {
	timer := time.AfterFunc(cleanWithin, func() { _ = cleaner.Process.Kill() })
	defer timer.Stop()
	if err := errors.Join(ended.Close(), cleaner.Wait()); err != nil {
		return fmt.Errorf("cleaning up after the nodes: %w", err)
	}
	return nil
}

func program(binDir string) string { return filepath.Join(binDir, cluster.NodeProgram) }
