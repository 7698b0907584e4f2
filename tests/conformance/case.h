// One conformance case: a JSON file with API objects, settings and what must come out. The format
// is what this file reads and cases/ shows; a case with variants is
// several cases that must all pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/base/time.h"
#include "schedd/text/json.h"

namespace muster::conformance {

struct Case {
  std::string suite, name, procedure;
  std::string variant;  // which gates differ from the file's own; "" for the case itself
  WallTime now;
  json::object inputs, settings, want, compare;

  /// inputs[key], null if absent.
  const json::value& Input(std::string_view key) const;
  /// want[key], null if the case does not assert it.
  const json::value& Want(std::string_view key) const;
  bool Wants(std::string_view key) const { return want.contains(key); }
};

/// The case of a file followed by its variants: gates merged, `want` and `compare` replaced key by
/// key. Empty for a file that names no procedure: it only describes cases. Errors: the file cannot
/// be read, is no JSON or lacks a required key.
Result<std::vector<Case>> ReadCases(const std::string& path);

/// object[key]; a null value if absent or not an object.
const json::value& At(const json::value& object, std::string_view key);
/// The same of an object that is a member, as `settings` is: no copy, so what is returned lives on.
const json::value& At(const json::object& object, std::string_view key);
/// object[key] as text, "" if absent or no string.
std::string TextAt(const json::value& object, std::string_view key);
/// object[key] as an integer, `otherwise` if absent or no integer.
std::int64_t IntAt(const json::value& object, std::string_view key, std::int64_t otherwise = 0);
bool BoolAt(const json::value& object, std::string_view key, bool otherwise = false);
/// The elements of object[key]; empty if absent or no list.
const json::array& ListAt(const json::value& object, std::string_view key);
const json::array& ListAt(const json::object& object, std::string_view key);

}  // namespace muster::conformance
