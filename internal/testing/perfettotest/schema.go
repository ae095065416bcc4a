// Package perfettotest makes and decodes Perfetto traces with the public schema and the protobuf library,
// independent of the tested packages.
package perfettotest

import (
	_ "embed" // the schema
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/optrace/optrace/internal/testing/check"
)

//go:embed schema.proto
var schema string

// traceType returns the type of the message Trace.
func traceType(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("schema.proto"),
		Package: proto.String("perfetto.protos")}
	var m *descriptorpb.DescriptorProto
	for line := range strings.Lines(schema) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "message "); ok {
			m = &descriptorpb.DescriptorProto{Name: proto.String(strings.TrimSuffix(name, " {"))}
			file.MessageType = append(file.MessageType, m)
		} else if strings.HasSuffix(line, ";") {
			m.Field = append(m.Field, parseField(t, line))
		}
	}
	return check.Must(protodesc.NewFile(file, nil))(t).Messages().ByName("Trace")
}

// parseField parses a field such as "repeated fixed64 flow_ids = 47;".
func parseField(t testing.TB, line string) *descriptorpb.FieldDescriptorProto {
	t.Helper()
	var label, typ, name string
	var number int32
	if _, err := fmt.Sscanf(strings.TrimSuffix(line, ";"), "%s %s %s = %d", &label, &typ, &name, &number); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	n := descriptorpb.FieldDescriptorProto_Label_value["LABEL_"+strings.ToUpper(label)]
	f := &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), Number: proto.Int32(number), Label: descriptorpb.FieldDescriptorProto_Label(n).Enum(),
	}
	if n, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(typ)]; ok {
		f.Type = descriptorpb.FieldDescriptorProto_Type(n).Enum()
	} else {
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = proto.String(".perfetto.protos." + typ)
	}
	return f
}

// Encode returns the trace for a text in protobuf's text format.
func Encode(t testing.TB, text string) []byte {
	t.Helper()
	trace := dynamicpb.NewMessage(traceType(t))
	check.OK(t, prototext.Unmarshal([]byte(text), trace))
	return check.Must(proto.MarshalOptions{Deterministic: true}.Marshal(trace))(t)
}

// Decode returns the packets of a trace. It ends the test if the schema lacks a field.
func Decode(t testing.TB, b []byte) []protoreflect.Message {
	t.Helper()
	trace := dynamicpb.NewMessage(traceType(t))
	check.OK(t, proto.Unmarshal(b, trace))
	noUnknown(t, trace)
	var packets []protoreflect.Message
	list := trace.Get(trace.Descriptor().Fields().ByName("packet")).List()
	for i := range list.Len() {
		packets = append(packets, list.Get(i).Message())
	}
	return packets
}

// noUnknown ends the test if a message has an unknown field.
func noUnknown(t testing.TB, m protoreflect.Message) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		t.Fatalf("%s has the unknown fields %q", m.Descriptor().Name(), m.GetUnknown())
	}
	for field, v := range m.Range {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range v.List().Len() {
				noUnknown(t, v.List().Get(i).Message())
			}
		default:
			noUnknown(t, v.Message())
		}
	}
}

// Field returns the value of a field, or its default.
func Field(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

// Has reports whether a field is set.
func Has(m protoreflect.Message, name protoreflect.Name) bool {
	return m.Has(m.Descriptor().Fields().ByName(name))
}
