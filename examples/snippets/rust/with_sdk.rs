//! Tensor operations as spans, by the OpenTelemetry SDK for Rust.
mod network;

use network::{predict, Operation};
use opentelemetry::trace::{Span, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, Value};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{trace::SdkTracerProvider, Resource};

/// Returns the attributes of an operation. They do not nest in Rust: the shapes of the inputs
/// are texts, "[64, 784]".
fn attributes(op: &Operation) -> Vec<KeyValue> {
    let inputs = op.inputs.iter().map(|shape| format!("{shape:?}").into()).collect();
    vec![
        KeyValue::new("tensor.op.name", op.name),
        KeyValue::new("tensor.op.path", op.path),
        KeyValue::new("tensor.device.id", "cpu"),
        KeyValue::new("tensor.input.shapes", Value::Array(Array::String(inputs))),
        KeyValue::new("tensor.output.shape", Value::Array(Array::I64(op.output.to_vec()))),
        KeyValue::new("tensor.dtype", "f32"),
    ]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The exporter sends to port 4318 of this machine, or to OTEL_EXPORTER_OTLP_ENDPOINT.
    let exporter = SpanExporter::builder().with_http().build()?;
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("snippet").build())
        .with_batch_exporter(exporter)
        .build();
    let tracer = provider.tracer("engine");

    let request = tracer.span_builder("POST /predict").with_kind(SpanKind::Server).start(&tracer);
    let below = Context::current_with_span(request);
    let sum = predict(|op, work| {
        let mut span = tracer.start_with_context(op.name, &below);
        work();
        span.set_attributes(attributes(op));
        span.end();
    });
    println!("{sum}");
    below.span().end();
    provider.shutdown()?;
    Ok(())
}
