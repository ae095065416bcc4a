package autoexport

import (
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// section returns what a configuration has at distribution.optrace, with its variables replaced, or nil
// where it is not there. otelconf does not hand that part of a file out.
func section(text []byte) (*yaml.Node, error) {
	var file struct {
		Distribution map[string]yaml.Node `yaml:"distribution"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	node, found := file.Distribution[Name]
	if !found {
		return nil, nil
	}
	replaceVariables(&node)
	return &node, nil
}

// variable is a reference to an environment variable, with its default behind ":-", or a
// dollar sign that is none.
var variable = regexp.MustCompile(`\$\$|\$\{(?:env:)?([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^}\n]*))?\}`)

// replaceVariables replaces the variables in the values below a node. A value without quotes
// then has the type that it looks like, as the specification of such files has it.
func replaceVariables(node *yaml.Node) {
	for _, n := range node.Content {
		replaceVariables(n)
	}
	if node.Kind != yaml.ScalarNode || !variable.MatchString(node.Value) {
		return
	}
	node.Value = variable.ReplaceAllStringFunc(node.Value, func(reference string) string {
		if reference == "$$" {
			return "$"
		}
		parts := variable.FindStringSubmatch(reference)
		if value := os.Getenv(parts[1]); value != "" {
			return value
		}
		return parts[2]
	})
	if node.Style == 0 {
		node.Tag = ""
	}
}
