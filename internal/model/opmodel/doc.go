// Package opmodel is what those who make entries do with the types of package op, and users of the
// library do not: attributes and links one by one, kinds and sizes that follow from other fields.
package opmodel
