package commands

import (
	"fmt"
	"io"
	"os"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/policy"
)

// Standard is the file name that means standard input or output.
const Standard = "-"

// input is a file that a command reads.
type input struct {
	name string
	data []byte
	err  error // why the file cannot be read as a policy
}

// readInputs reads files. Standard may occur among them at most once.
func readInputs(command string, paths []string, in io.Reader) ([]input, error) {
	if len(paths) == 0 {
		return nil, exit.Usagef("%s: name at least one file, or - for the standard input", command)
	}
	var inputs []input
	read := false
	for _, path := range paths {
		if path == Standard && read {
			return nil, exit.Usagef("%s: - (the standard input) may be given only once", command)
		}
		read = read || path == Standard
		name, data, err := readInput(path, in)
		if err != nil && !policy.IsInvalid(err) {
			return nil, err
		}
		inputs = append(inputs, input{name: name, data: data, err: err})
	}
	return inputs, nil
}

// readInput reads a command's input, up to the maximum size of a policy.
func readInput(path string, in io.Reader) (name string, data []byte, err error) {
	name = path
	if path == Standard {
		name = "stdin"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return path, nil, exit.Usagef("reading the file: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err = io.ReadAll(io.LimitReader(in, policy.MaxFileBytes+1))
	if err != nil {
		return name, nil, exit.Usagef("reading %s: %w", name, err)
	}
	if len(data) > policy.MaxFileBytes {
		return name, nil, policyfile.Invalid(name, fmt.Sprintf("it has more than %d bytes, the maximum for a policy", policy.MaxFileBytes))
	}
	return name, data, nil
}
