// What the recorder that optrace started from does with a trace in memory,
// written from its behaviour: a vector of entries with strings of their
// own, and for each question a pass over it into a hash map of the standard
// library, whose keys are cloned or formatted per entry.
//
// usage: seed ENTRIES OPERATIONS DEVICES, the last two separated by commas.
// It prints what the five analyses find, and behind that a line with the
// nanoseconds that they take, once they have run before.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

struct Entry {
    step: usize,
    operation: String,
    device: Option<String>,
    #[allow(dead_code)] // part of an entry, and of its size in memory
    inputs: Vec<Vec<usize>>,
    #[allow(dead_code)]
    output: Vec<usize>,
    duration_us: f64,
    #[allow(dead_code)]
    elements: usize,
    memory: usize,
}

struct Trace {
    entries: Vec<Entry>,
    total_us: f64,
}

/// The generator that the other side has too.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize
    }
}

fn generate(n: usize, operations: &[&str], devices: &[&str]) -> Trace {
    let mut random = Lcg(1);
    let mut trace = Trace { entries: Vec::new(), total_us: 0.0 };
    for step in 0..n {
        let operation = operations[random.next() % operations.len()].to_string();
        // One place more than there are devices: some entries have none.
        let device = devices.get(random.next() % (devices.len() + 1)).map(|d| d.to_string());
        let rows = 1 + random.next() % 64;
        // Odd, so that no duration lies between two microseconds.
        let ns = 2 * (500 + random.next() % 100_000) + 1;
        let output = vec![rows, 256];
        let elements: usize = output.iter().product();
        let duration_us = Duration::from_nanos(ns as u64).as_secs_f64() * 1e6;
        trace.total_us += duration_us;
        trace.entries.push(Entry {
            step, operation, device, inputs: vec![vec![rows, 784], vec![784, 256]], output, duration_us, elements,
            memory: elements * 8,
        });
    }
    trace
}

#[derive(Default)]
struct Sum {
    count: usize,
    us: f64,
    memory: usize,
}

fn operation_summary(trace: &Trace) -> HashMap<String, Sum> {
    let mut sums: HashMap<String, Sum> = HashMap::new();
    for e in &trace.entries {
        let s = sums.entry(e.operation.clone()).or_default();
        s.count += 1;
        s.us += e.duration_us;
        s.memory += e.memory;
    }
    sums
}

fn device_summary(trace: &Trace) -> HashMap<String, Sum> {
    let mut sums: HashMap<String, Sum> = HashMap::new();
    for e in &trace.entries {
        if let Some(device) = &e.device {
            let s = sums.entry(device.clone()).or_default();
            s.count += 1;
            s.us += e.duration_us;
            s.memory += e.memory;
        }
    }
    sums
}

const COMMUNICATION: [&str; 7] = ["allreduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv", "comm"];

fn communication(trace: &Trace, least: f64) -> Vec<(String, Sum)> {
    let total = trace.total_us.max(1e-9);
    let mut sums: HashMap<String, Sum> = HashMap::new();
    for e in &trace.entries {
        let name = e.operation.to_ascii_lowercase();
        if COMMUNICATION.iter().any(|word| name.contains(word)) {
            let s = sums.entry(e.operation.clone()).or_default();
            s.count += 1;
            s.us += e.duration_us;
        }
    }
    let mut found: Vec<_> = sums.into_iter().filter(|(_, s)| s.us / total >= least).collect();
    found.sort_by(|a, b| b.1.us.partial_cmp(&a.1.us).unwrap_or(std::cmp::Ordering::Equal));
    found
}

fn flamegraph(trace: &Trace) -> String {
    let mut weights: HashMap<String, u64> = HashMap::new();
    for e in &trace.entries {
        let stack = format!("trace;{};{}", e.device.as_deref().unwrap_or("unknown"), e.operation);
        *weights.entry(stack).or_insert(0) += e.duration_us.max(1.0).round() as u64;
    }
    let mut lines: Vec<_> = weights.into_iter().collect();
    lines.sort();
    lines.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect::<Vec<_>>().join("\n")
}

fn slowest(trace: &Trace, n: usize) -> Vec<&Entry> {
    let mut sorted: Vec<&Entry> = trace.entries.iter().collect();
    sorted.sort_by(|a, b| b.duration_us.partial_cmp(&a.duration_us).unwrap_or(std::cmp::Ordering::Equal));
    sorted.truncate(n);
    sorted
}

/// Runs an analysis and returns how long that took.
fn timed<T>(analysis: impl Fn() -> T) -> u128 {
    let start = Instant::now();
    black_box(analysis());
    start.elapsed().as_nanos()
}

const LEAST: f64 = 0.01;
const TOP: usize = 10;

fn run(trace: &Trace) -> u128 {
    timed(|| operation_summary(trace))
        + timed(|| device_summary(trace))
        + timed(|| communication(trace, LEAST))
        + timed(|| flamegraph(trace))
        + timed(|| slowest(trace, TOP))
}

fn show(trace: &Trace) -> String {
    let ns = |us: f64| (us * 1000.0).round() as u64;
    let table = |name: &str, sums: HashMap<String, Sum>| {
        let mut lines: Vec<_> =
            sums.iter().map(|(key, s)| format!("{name} {key} {} {} {}", s.count, ns(s.us), s.memory)).collect();
        lines.sort();
        lines
    };
    let mut lines = table("operation", operation_summary(trace));
    lines.extend(table("device", device_summary(trace)));
    lines.extend(communication(trace, LEAST).iter().map(|(key, s)| format!("communication {key} {} {}", s.count, ns(s.us))));
    lines.extend(flamegraph(trace).lines().map(|l| l.to_string()));
    lines.extend(slowest(trace, TOP).iter().map(|e| format!("slowest {} {}", e.step, ns(e.duration_us))));
    lines.join("\n")
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = args[1].parse().expect("the number of entries");
    let operations: Vec<&str> = args[2].split(',').collect();
    let devices: Vec<&str> = args[3].split(',').collect();
    let trace = generate(n, &operations, &devices);
    println!("{}", show(&trace));
    println!("{}", run(&trace));
}
