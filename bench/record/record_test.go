package record

import (
	"testing"
)

// Each side records what it is asked to, and nothing gets lost.
func TestSides(t *testing.T) {
	w, err := newWork()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(int) error{
		sdkSpan: w.sdkSpans, prepared: w.preparedOps, dynamic: w.dynamicOps, newShapes: w.newShapes,
		recorder: w.recorded, recorderPrep: w.recordedPrepared, recorderAll: w.recordedAndEncoded,
	} {
		if err := f(100); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st := w.processor.Stats(); st.Written != 100 {
		t.Errorf("%d operations were encoded, want 100", st.Written)
	}
	if err := w.lossless(); err != nil {
		t.Error(err)
	}
	for _, err := range w.close() {
		if err != nil {
			t.Error(err)
		}
	}
}
