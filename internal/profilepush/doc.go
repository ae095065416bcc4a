// Package profilepush posts OpenTelemetry profiles to a receiver, by OTLP over HTTP.
//
// A [Client] posts one message, once. A [Pusher] takes a profile at each interval and posts
// it in the background: what passes, such as a receiver that is down, is tried again, a
// bounded amount waits meanwhile, and what is lost is counted.
//
// Nothing is sent to another host than that of the address. The package knows no profiles:
// render/otlpprofiles makes the messages, the command and package live take them.
package profilepush
