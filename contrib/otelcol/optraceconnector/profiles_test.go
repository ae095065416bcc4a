package optraceconnector

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/connector/xconnector"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestProfileEqualsOffline(t *testing.T) {
	all := pdatatest.Training(t, 1, 3, 4)
	c := newProfilesConnector(createDefaultConfig().(*Config), zap.NewNop(), consumertest.NewNop())
	for _, td := range all {
		check.OK(t, c.ConsumeTraces(t.Context(), td))
	}
	got := check.Must(c.take())(t)
	want := pdatatest.Profiles(t, all...)
	var m pprofile.JSONMarshaler
	wantText, _ := m.MarshalProfiles(want)
	gotText, err := m.MarshalProfiles(got)
	if diff := cmp.Diff(string(wantText), string(gotText)); err != nil || diff != "" {
		t.Errorf("%v, profile (-offline +connector):\n%s", err, diff)
	}
	if sums := pdatatest.Sums(got); sums["count"] == 0 || sums["flops"] == 0 {
		t.Errorf("the values of the profile are %v", sums)
	}
	if again, err := c.take(); err != nil || again.SampleCount() != 0 {
		t.Errorf("the next profile has %d samples, %v", again.SampleCount(), err)
	}
}

// The factory's connector sends a profile when there are enough operations, and the
// rest when it ends.
func TestProfilesLifecycle(t *testing.T) {
	all := pdatatest.Training(t, 2, 1, 5)
	cfg := createDefaultConfig().(*Config)
	cfg.Profiles.MaxSpans = 60
	var sink consumertest.ProfilesSink
	f := NewFactory().(xconnector.Factory)
	c := check.Must(f.CreateTracesToProfiles(t.Context(), connectortest.NewNopSettings(f.Type()), cfg, &sink))(t)
	if c.Capabilities().MutatesData {
		t.Error("the connector claims to change spans")
	}
	check.OK(t, c.Start(t.Context(), componenttest.NewNopHost()))
	for _, td := range all {
		check.OK(t, c.ConsumeTraces(t.Context(), td))
	}
	check.OK(t, c.Shutdown(context.WithoutCancel(t.Context())))
	check.Equal(t, "profiles", 3, len(sink.AllProfiles()))
	want := pdatatest.Profiles(t, all...)
	check.Equal(t, "sums: connector against offline", pdatatest.Sums(want), pdatatest.Sums(sink.AllProfiles()...))
}

func TestProfilesOfSeveralServices(t *testing.T) {
	td := pdatatest.Training(t, 3, 2, 1)[0]
	td.ResourceSpans().At(1).Resource().Attributes().PutStr(attrkey.ServiceName, "other")
	c := newProfilesConnector(createDefaultConfig().(*Config), zap.NewNop(), consumertest.NewNop())
	check.OK(t, c.ConsumeTraces(t.Context(), td))
	got := check.Must(c.take())(t)
	services := make(map[string]bool)
	for _, rp := range got.ResourceProfiles().All() {
		service, _ := rp.Resource().Attributes().Get(attrkey.ServiceName)
		services[service.Str()] = true
	}
	check.Equal(t, "services", map[string]bool{"trainer": true, "other": true}, services)
}

func TestProfilesConcurrentSafe(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Profiles.MaxSpans = 60
	var sink consumertest.ProfilesSink
	c := newProfilesConnector(cfg, zap.NewNop(), &sink)
	var wg sync.WaitGroup
	for _, td := range pdatatest.Training(t, 4, 1, 8) {
		wg.Go(func() {
			if err := c.ConsumeTraces(context.WithoutCancel(t.Context()), td); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	check.OK(t, c.send(t.Context()))
	// 40 operations a step, of which those seen from the host have no samples.
	if n := pdatatest.Sums(sink.AllProfiles()...)["count"]; n < 8*30 || n > 8*40 {
		t.Errorf("%d operations", n)
	}
}
