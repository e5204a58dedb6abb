package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// labelsInclude is the line by which every object includes the chart's labels.
const labelsInclude = `    {{- include "evenkeel.labels" . | nindent 4 }}`

// text returns the template.
func (p *part) text(root string) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{{- /* Made from deploy/%s by `make update-chart`: edit that. */}}\n", strings.Join(p.sources(), ", deploy/"))
	for _, one := range p.blocks {
		text, err := one.text(root)
		if err != nil {
			return nil, fmt.Errorf("from deploy/%s: %w", one.source, err)
		}
		fmt.Fprintf(&out, "{{- if %s }}\n---\n%s{{- end }}\n", one.when, text)
	}
	return out.Bytes(), nil
}

// sources returns the manifests from which the template is generated, each once.
func (p *part) sources() []string {
	var all []string
	for _, one := range p.blocks {
		if !slices.Contains(all, one.source) {
			all = append(all, one.source)
		}
	}
	return all
}

// text returns the block's objects as a template.
func (b *block) text(root string) (string, error) {
	read, err := os.ReadFile(filepath.Join(root, "deploy", filepath.FromSlash(b.source)))
	if err != nil {
		return "", fmt.Errorf("reading: %w", err)
	}
	if bytes.Contains(read, []byte("{{")) {
		return "", errors.New("it has {{, which is an expression in a template")
	}
	var found, documents []string
	for document := range strings.SplitSeq(string(read), "\n---\n") {
		name, err := nameOf(document)
		if err != nil {
			return "", err
		}
		if len(b.only) > 0 && !slices.Contains(b.only, name) {
			continue
		}
		found = append(found, name)
		documents = append(documents, strings.TrimSuffix(document, "\n")+"\n")
	}
	for _, wanted := range b.only {
		if !slices.Contains(found, wanted) {
			return "", fmt.Errorf("it has no %s", wanted)
		}
	}
	text := strings.Join(documents, "---\n")
	for _, change := range b.changes {
		if !strings.Contains(text, change.old) {
			return "", fmt.Errorf("it has no %q to change", change.old)
		}
		text = strings.ReplaceAll(text, change.old, change.with)
	}
	return labelled(text), nil
}

// nameOf returns an object's kind/name.
func nameOf(document string) (string, error) {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		return "", fmt.Errorf("reading an object: %w", err)
	}
	return object.Kind + "/" + object.Metadata.Name, nil
}

// labelled puts objects into the release's namespace and adds the chart's
// labels.
func labelled(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	inMetadata := false
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "namespace: evenkeel":
			line = strings.Replace(line, "evenkeel", "{{ .Release.Namespace | quote }}", 1)
		case line == "metadata:":
			inMetadata = true
		case !strings.HasPrefix(line, " "):
			inMetadata = false
		}
		out = append(out, line)
		switch {
		case !inMetadata:
		case line == "  labels:":
			out = append(out, labelsInclude)
		case strings.HasPrefix(line, "  name: ") && !hasLabels(lines[i:]):
			out = append(out, "  labels:", labelsInclude)
		}
	}
	return strings.Join(out, "\n")
}

// hasLabels reports whether metadata that continues with the given lines contains labels.
func hasLabels(lines []string) bool {
	for _, line := range lines {
		if line == "  labels:" {
			return true
		}
		if !strings.HasPrefix(line, " ") {
			return false
		}
	}
	return false
}
