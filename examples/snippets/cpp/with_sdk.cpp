// Tensor operations as spans, by the OpenTelemetry SDK for C++ (opentelemetry-cpp, with its OTLP/HTTP exporter).
#include <iostream>
#include <utility>

#include "network.h"
#include "opentelemetry/exporters/otlp/otlp_http_exporter_factory.h"
#include "opentelemetry/exporters/otlp/otlp_http_exporter_options.h"
#include "opentelemetry/sdk/resource/resource.h"
#include "opentelemetry/sdk/trace/batch_span_processor_factory.h"
#include "opentelemetry/sdk/trace/batch_span_processor_options.h"
#include "opentelemetry/sdk/trace/tracer_provider.h"
#include "opentelemetry/sdk/trace/tracer_provider_factory.h"
#include "opentelemetry/trace/scope.h"
#include "opentelemetry/trace/tracer.h"

namespace nostd = opentelemetry::nostd;
namespace otlp = opentelemetry::exporter::otlp;
namespace resource = opentelemetry::sdk::resource;
namespace sdktrace = opentelemetry::sdk::trace;
namespace trace = opentelemetry::trace;

// text returns a shape as a text, [64,784]: attributes do not nest in C++.
std::string text(const Shape& shape) {
  std::string out = "[";
  for (int64_t d : shape) out += (out.size() > 1 ? "," : "") + std::to_string(d);
  return out + "]";
}

// set sets the attributes of an operation, when it has ended.
void set(trace::Span& span, const Operation& op) {
  std::vector<std::string> texts;
  for (const Shape& shape : op.inputs) texts.push_back(text(shape));
  std::vector<nostd::string_view> inputs(texts.begin(), texts.end());
  span.SetAttribute("tensor.op.name", op.name);
  span.SetAttribute("tensor.op.path", op.path);
  span.SetAttribute("tensor.device.id", "cpu");
  span.SetAttribute("tensor.input.shapes", nostd::span<const nostd::string_view>(inputs.data(), inputs.size()));
  span.SetAttribute("tensor.output.shape", nostd::span<const int64_t>(op.output.data(), op.output.size()));
  span.SetAttribute("tensor.dtype", "f32");
}

int main() {
  // The exporter sends to port 4318 of this machine, or to OTEL_EXPORTER_OTLP_ENDPOINT.
  auto exporter = otlp::OtlpHttpExporterFactory::Create(otlp::OtlpHttpExporterOptions{});
  auto processor = sdktrace::BatchSpanProcessorFactory::Create(std::move(exporter), sdktrace::BatchSpanProcessorOptions{});
  auto provider = sdktrace::TracerProviderFactory::Create(std::move(processor), resource::Resource::Create({{"service.name", "snippet"}}));
  auto tracer = provider->GetTracer("engine");

  trace::StartSpanOptions server;
  server.kind = trace::SpanKind::kServer;
  auto request = tracer->StartSpan("POST /predict", server);
  {
    trace::Scope scope(request);  // spans that are started here are below the request
    std::cout << predict([&](const Operation& op, auto work) {
      auto span = tracer->StartSpan(op.name);
      work();
      set(*span, op);
      span->End();
    }) << "\n";
  }
  request->End();
  static_cast<sdktrace::TracerProvider&>(*provider).Shutdown();
}
