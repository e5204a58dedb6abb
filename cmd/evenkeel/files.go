package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/cli"
	"github.com/evenkeel/evenkeel/internal/commands"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/policy"
)

func newLintCommand() *cobra.Command {
	options := commands.LintOptions{Formats: legacyFormats()}
	c := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Validate policy files, current or legacy, and describe what they do",
		Long: "Needs no cluster. Errors lead to exit code 2; with --strict, so do warnings.\n" +
			"Whether priority classes exist is not checked; `evenkeel doctor` checks a policy against a cluster.",
		Example: "  evenkeel lint policy.yaml\n  evenkeel lint --strict -o json deploy/*.yaml\n" +
			"  kubectl -n evenkeel get configmap evenkeel-policy -o yaml | evenkeel lint",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			options.Files = filesOf(c, options.Files, args)
			return commands.Lint(options, c.InOrStdin(), c.OutOrStdout(), time.Now())
		},
	}
	addFiles(c, &options.Files)
	c.Flags().StringVarP(&options.Format, "output", "o", "text", "Output format: "+commands.LintFormats+".")
	c.Flags().BoolVar(&options.Strict, "strict", false, "Treat warnings as errors.")
	return c
}

func newConvertCommand() *cobra.Command {
	options := commands.ConvertOptions{Formats: legacyFormats()}
	c := &cobra.Command{
		Use:   "convert [FILE...]",
		Short: "Convert legacy policies and manifests to the current format, with a comment at each change",
		Long: "Reads " + compat.Help + ", also inside ConfigMaps, and writes its replacement.\n" +
			"In Jobs and Deployments that run an earlier system, comments describe what to change. Everything else stays the same.",
		Example: "  evenkeel convert policy-v1alpha1.yaml -o policy.yaml\n" +
			"  kubectl get configmap descheduler-policy-configmap -n kube-system -o yaml | evenkeel convert",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			options.Files = filesOf(c, options.Files, args)
			return commands.Convert(options, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	addFiles(c, &options.Files)
	c.Flags().StringVarP(&options.To, "output", "o", commands.Standard, "File to write; - is the standard output.")
	return c
}

// legacyFormats returns the formats of all legacy systems.
func legacyFormats() commands.Formats {
	return commands.Formats{Converters: []policy.Converter{compat.Convert}, ConvertFile: compat.ConvertFile}
}

// addFiles adds the flag that names files in addition to the arguments.
func addFiles(c *cobra.Command, files *[]string) {
	c.Flags().StringArrayVarP(files, "filename", "f", nil, "File to read, in addition to the arguments; - is the standard input.")
}

// filesOf returns the files named by a flag and by the arguments. Without any, it returns standard input, unless that
// is a terminal.
func filesOf(c *cobra.Command, flag, args []string) []string {
	files := slices.Concat(flag, args)
	if len(files) == 0 && terminal.FileOf(c.InOrStdin()) == nil {
		return []string{commands.Standard}
	}
	return files
}

func newCertificatesCommand() *cobra.Command {
	var options commands.CertificatesOptions
	c := &cobra.Command{
		Use:   "certificates",
		Short: "Create or renew the certificates with which kube-scheduler and the extender authenticate each other",
		Long: "Writes a CA, a certificate for the extender and one for its clients into a directory, and Secrets for the shipped manifests.\n" +
			"Needs neither a cluster nor any other tool. Run it again to renew the certificates with the same CA.",
		Example: "  evenkeel certificates --directory pki && kubectl apply -f pki/secrets.yaml",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return commands.Certificates(options, time.Now(), c.OutOrStdout())
		},
	}
	options.AddTo(c.Flags())
	return c
}
