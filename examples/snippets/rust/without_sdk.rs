//! Tensor operations as a line of OTLP in JSON, by the standard library.
//!
//!     rustc -O -o without_sdk without_sdk.rs && ./without_sdk | optrace report -
mod network;

use network::{predict, Operation};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock before 1970").as_nanos()
}

/// Returns eight random bytes, as hexadecimal digits.
fn random_id() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

// The names here need no escaping; those of an engine may.
fn attribute(key: &str, value: &str) -> String {
    format!(r#"{{"key":"{key}","value":{value}}}"#)
}

fn string_value(v: &str) -> String {
    format!(r#"{{"stringValue":"{v}"}}"#)
}

fn array_value(values: impl Iterator<Item = String>) -> String {
    format!(r#"{{"arrayValue":{{"values":[{}]}}}}"#, values.collect::<Vec<_>>().join(","))
}

fn shape_value(shape: &[i64]) -> String {
    array_value(shape.iter().map(|d| format!(r#"{{"intValue":"{d}"}}"#)))
}

/// Returns the attributes of an operation. In OTLP values nest: a shape is a list of integers.
fn attributes(op: &Operation) -> String {
    [
        attribute("tensor.op.name", &string_value(op.name)),
        attribute("tensor.op.path", &string_value(op.path)),
        attribute("tensor.device.id", &string_value("cpu")),
        attribute("tensor.input.shapes", &array_value(op.inputs.iter().map(|shape| shape_value(shape)))),
        attribute("tensor.output.shape", &shape_value(op.output)),
        attribute("tensor.dtype", &string_value("f32")),
    ]
    .join(",")
}

fn main() {
    let (trace, request) = (random_id() + &random_id(), random_id());
    let begin = now();
    let mut spans = Vec::new();
    let sum = predict(|op, work| {
        let start = now();
        work();
        spans.push(format!(
            r#"{{"traceId":"{trace}","spanId":"{}","parentSpanId":"{request}","name":"{}","kind":1,"startTimeUnixNano":"{start}","endTimeUnixNano":"{}","attributes":[{}]}}"#,
            random_id(), op.name, now(), attributes(op),
        ));
    });
    eprintln!("{sum}");
    spans.push(format!(
        r#"{{"traceId":"{trace}","spanId":"{request}","name":"POST /predict","kind":2,"startTimeUnixNano":"{begin}","endTimeUnixNano":"{}"}}"#,
        now(),
    ));
    println!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{}]}},"scopeSpans":[{{"scope":{{"name":"engine"}},"spans":[{}]}}]}}]}}"#,
        attribute("service.name", &string_value("snippet")),
        spans.join(","),
    );
}
