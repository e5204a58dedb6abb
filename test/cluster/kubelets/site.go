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
	// variable is the environment variable that contains the site's folder in processes
	// inside the site.
	variable = "EVENKEEL_SITE"
	// pidFile is the file in that folder that contains the site's process ID as seen from
	// outside.
	pidFile = "pid"
	// siteParent is the folder in which the folders of sites are made. It must be on a real
	// disk, because containerd needs one.
	siteParent = "/var/tmp"
	// stopWithin is how long a command in a site may take to end. cleanWithin is longer than
	// the cleaner's wait for cgroups.
	stopWithin, cleanWithin = 40 * time.Second, 60 * time.Second
)

// Inside reports whether this process runs in a site.
func Inside() bool { return os.Getenv(variable) != "" }

// Enter makes a site, runs a command in it with this process's standard streams, and
// returns the command's exit code. The site ends with the command, which receives SIGTERM
// when the context ends. Other processes can enter the site with Shell.
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

// startCleaner starts the process that removes what a site leaves behind. It begins to
// clean when wait is called or this process ends.
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
