package kineto_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/kineto"
)

func ExampleRecords() {
	trace := `{"traceEvents":[
		{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":10,"dur":20.5,
		 "args":{"Input Dims":[[64,784],[784,256]],"Input type":["float","float"]}},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":12,"dur":3,
			"args":{"correlation":5}},
		{"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":40.125,"dur":8.25,"args":{"device":0,"stream":7,
			"correlation":5}}
	],"distributedInfo":{"rank":3}}`
	for rec, err := range kineto.Records(strings.NewReader(trace), "trace.json", nil) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.Rank, e.DeviceID, e.InputShapes, e.Duration, "ns")
		}
	}
	// Output:
	// aten::mm 3 cpu [64x784 784x256] 20500 ns
	// sgemm 3 cuda:0 [64x784 784x256] 8250 ns
}
