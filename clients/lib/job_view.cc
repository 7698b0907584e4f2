// Reads the members of a job view that commands decide on. Members of the wrong type read as
// absent: a newer server may add forms that this client does not know. Only `id` and `state` are
// required.
#include "clients/lib/job_view.h"

#include "schedd/text/lenient.h"

namespace muster::client {
namespace {

// Strings without their quotes, numbers and booleans as JSON spells them, "" for null, arrays and
// objects.
std::string ScalarText(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_null() || value.is_structured()) return {};
  return json::serialize(value);
}

}  // namespace

std::string MemberText(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? std::string() : ScalarText(*value);
}

std::string PathText(const json::value& value, std::string_view path) {
  const json::value* at = FindValue(value, JsonPath::Dotted(path));
  return at == nullptr ? std::string() : ScalarText(*at);
}

std::int64_t MemberNumber(const json::object& object, std::string_view key,
                          std::int64_t otherwise) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  return otherwise;
}

Outcome<JobView> ParseJobView(json::value value) {
  if (!value.is_object()) return BadAnswer("the server's answer is not a job");
  JobView out;
  out.all = std::move(value.get_object());
  out.id = MemberNumber(out.all, "id");
  out.state = MemberText(out.all, "state");
  if (out.id <= 0 || out.state.empty()) return BadAnswer("the server's answer is not a job");
  out.name = MemberText(out.all, "name");
  out.ns = MemberText(out.all, "namespace");
  out.kind = MemberText(out.all, "kind");
  out.reason = MemberText(out.all, "reason");
  out.message = MemberText(out.all, "message");
  out.cluster = MemberText(out.all, "cluster");
  if (out.all.contains("exitCode") && !out.all.at("exitCode").is_null()) {
    out.exit_code = static_cast<int>(MemberNumber(out.all, "exitCode"));
  }
  return out;
}

}  // namespace muster::client
