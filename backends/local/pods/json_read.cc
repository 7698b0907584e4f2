#include "backends/local/pods/json_read.h"

namespace muster::local {

std::string Text(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found || found->is_null()) return "";
  if (found->is_string()) return std::string(found->get_string());
  return json::serialize(*found);
}

std::optional<std::int64_t> MaybeInteger(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  if (!found) return std::nullopt;
  if (found->is_int64()) return found->get_int64();
  if (found->is_double()) return static_cast<std::int64_t>(found->get_double());
  return std::nullopt;
}

}  // namespace muster::local
