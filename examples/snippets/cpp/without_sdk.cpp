// Tensor operations as a line of OTLP in JSON, by the standard library.
//
//   g++ -std=c++17 -O2 -o without_sdk without_sdk.cpp && ./without_sdk | optrace report -
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <sstream>

#include "network.h"

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

// random_id returns an id of so many bytes, as hexadecimal digits.
std::string random_id(int bytes) {
  static std::random_device source;
  std::string id;
  for (int i = 0; i < bytes; i++) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", source() & 0xff);
    id += digits;
  }
  return id;
}

// The names here need no escaping; those of an engine may.
std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string attribute(const std::string& key, const std::string& value) {
  return "{\"key\":" + quoted(key) + ",\"value\":" + value + "}";
}

std::string string_value(const std::string& v) { return "{\"stringValue\":" + quoted(v) + "}"; }

// array_value returns a list, each element by the function each.
template <typename List, typename Each>
std::string array_value(const List& list, Each each) {
  std::string out;
  for (const auto& v : list) out += (out.empty() ? "" : ",") + each(v);
  return "{\"arrayValue\":{\"values\":[" + out + "]}}";
}

std::string shape_value(const Shape& shape) {
  return array_value(shape, [](int64_t d) { return "{\"intValue\":\"" + std::to_string(d) + "\"}"; });
}

// attributes returns those of an operation. In OTLP values nest: a shape is a list of integers.
std::string attributes(const Operation& op) {
  return attribute("tensor.op.name", string_value(op.name)) + "," +
         attribute("tensor.op.path", string_value(op.path)) + "," +
         attribute("tensor.device.id", string_value("cpu")) + "," +
         attribute("tensor.input.shapes", array_value(op.inputs, shape_value)) + "," +
         attribute("tensor.output.shape", shape_value(op.output)) + "," +
         attribute("tensor.dtype", string_value("f32"));
}

// span returns a span. parent is "" for none, kind is 1 for internal and 2 for server.
std::string span(const std::string& trace, const std::string& id, const std::string& parent, const std::string& name, int kind,
                 int64_t start, int64_t end, const std::string& attributes) {
  std::ostringstream out;
  out << "{\"traceId\":" << quoted(trace) << ",\"spanId\":" << quoted(id);
  if (!parent.empty()) out << ",\"parentSpanId\":" << quoted(parent);
  out << ",\"name\":" << quoted(name) << ",\"kind\":" << kind << ",\"startTimeUnixNano\":\"" << start
      << "\",\"endTimeUnixNano\":\"" << end << "\",\"attributes\":[" << attributes << "]}";
  return out.str();
}

int main() {
  const std::string trace = random_id(16), request = random_id(8);
  const int64_t begin = now();
  std::string spans;
  const float sum = predict([&](const Operation& op, auto work) {
    const int64_t start = now();
    work();
    spans += span(trace, random_id(8), request, op.name, 1, start, now(), attributes(op)) + ",";
  });
  std::cerr << sum << "\n";
  spans += span(trace, request, "", "POST /predict", 2, begin, now(), "");
  std::cout << "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" << attribute("service.name", string_value("snippet"))
            << "]},\"scopeSpans\":[{\"scope\":{\"name\":\"engine\"},\"spans\":[" << spans << "]}]}]}\n";
}
