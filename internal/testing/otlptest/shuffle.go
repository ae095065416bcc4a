package otlptest

import (
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ShuffleProto returns a message with its fields in another order, recursively, and with unknown fields.
// Fields with the same number keep their order, because they are a list.
func ShuffleProto(rng *rand.Rand, msg []byte, of protoreflect.MessageDescriptor) (out []byte) {
	fields := make(map[protowire.Number][][]byte)
	var order []protowire.Number
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		m := protowire.ConsumeFieldValue(num, typ, msg[n:])
		field := msg[:n+m]
		if inner := of.Fields().ByNumber(num).Message(); inner != nil {
			body, _ := protowire.ConsumeBytes(msg[n:])
			field = protowire.AppendBytes(protowire.AppendTag(nil, num, typ), ShuffleProto(rng, body, inner))
		}
		fields[num] = append(fields[num], field)
		order = append(order, num)
		msg = msg[n+m:]
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, num := range order {
		if rng.IntN(4) == 0 {
			out = append(out, unknownField(rng)...)
		}
		out = append(out, fields[num][0]...)
		fields[num] = fields[num][1:]
	}
	return out
}

func unknownField(rng *rand.Rand) (out []byte) {
	num := protowire.Number(100 + rng.IntN(10000))
	switch rng.IntN(5) {
	case 0:
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), rng.Uint64())
	case 1:
		return protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), rng.Uint64())
	case 2:
		return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), rng.Uint32())
	case 3:
		out = protowire.AppendTag(nil, num, protowire.StartGroupType)
		out = append(out, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)...)
		return protowire.AppendTag(out, num, protowire.EndGroupType)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), []byte("unknown"))
}
