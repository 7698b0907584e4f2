// What the fuzz targets share. A target defines LLVMFuzzerTestOneInput, which libFuzzer calls with
// its inputs (preset `fuzz`), and corpus_main.cc with the kept corpus (every other build).
//
// A target holds more than "it does not crash": what it reads it reads the same again, in pieces,
// or after it was written; a broken promise ends the process, so that the fuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace muster::fuzz {

inline std::string_view Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process if a promise does not hold.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: broken promise: %s\n", promise);
  std::abort();
}

}  // namespace muster::fuzz
