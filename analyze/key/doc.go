// Package key has the properties by which operations are grouped, such as operation, shape or
// attr:region: the keys of the flag -by.
//
//	keys, err := key.Parse("operation,shape")
//
// A [Key] is one property, a [Value] an operation's value of it, and a [Group] the values of
// several keys. What a key reads is one line of a table in key.go. Package profile sums
// operations up by keys, and package trace keeps the groups of operations.
package key
