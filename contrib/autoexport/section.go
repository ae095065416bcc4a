package autoexport

import (
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// section returns the node distribution.optrace of a configuration with its variables replaced, or nil. otelconf does
// not expose this part of a file.
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

// variable matches a reference to an environment variable, with a default after ":-", or an escaped dollar sign.
var variable = regexp.MustCompile(`\$\$|\$\{(?:env:)?([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^}\n]*))?\}`)

// replaceVariables replaces the variables in the values below a node. As specified for such files, the text of a value
// without quotes then decides its type.
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
