#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bf_aot {

// The ONNX nodes that something came from. It survives every rewrite.
struct Origin {
  std::string text;                 // for readers: "Gemm 'fc1' + Relu 'r1'"; "..." ends a long one
  std::vector<std::int32_t> nodes;  // places in the file, rising
  bool complete = true;             // else there are more than `nodes` has

  Origin() = default;
  Origin(std::string words) : text(std::move(words)) {}
  Origin(const char* words) : text(words) {}
  Origin(std::string words, std::int32_t node) : text(std::move(words)), nodes{node} {}

  operator const std::string&() const { return text; }
  operator std::string_view() const { return text; }
  bool operator==(const Origin&) const = default;
};

// A node of the ONNX file. Its words are made printable: long ones are cut, see printable().
struct OnnxNode {
  std::string type, name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::int32_t> makers;  // the nodes that make what it reads, rising, each once
  bool is_output = false;            // makes an output of the network
  bool operator==(const OnnxNode&) const = default;
};

// The union of two origins: what is in both occurs once. Long texts and lists are cut, since long
// chains of nodes would take quadratic time and memory.
Origin join_origins(const Origin& first, const Origin& second);

// The nodes of two origins under another text.
Origin join_origins(const Origin& first, const Origin& second, std::string text);

}  // namespace bf_aot
