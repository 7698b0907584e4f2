#include "schedd/daemon/limits_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

namespace muster {
namespace {

using Count = std::size_t TenantLimits::*;
using Rate = double TenantLimits::*;

// A key of the section, the member it sets, and what it may be.
struct LimitKey {
  std::string_view name;
  std::variant<Count, Rate> member;
  double least, most;
};
const std::array<LimitKey, 6>& LimitKeys() {
  static const std::array<LimitKey, 6> keys = {{
      {"pending-jobs-per-user", &TenantLimits::pending_jobs_per_user, 0,
       static_cast<double>(limits::kPendingJobs)},
      {"pending-jobs-per-namespace", &TenantLimits::pending_jobs_per_namespace, 0,
       static_cast<double>(limits::kPendingJobs)},
      {"requests-per-second-per-user", &TenantLimits::requests_per_second_per_user, 0, 1e6},
      {"burst", &TenantLimits::burst, 1, 1e7},
      {"streams-per-user", &TenantLimits::streams_per_user, 0,
       static_cast<double>(limits::kStreams)},
      {"connections-per-peer", &TenantLimits::connections_per_peer, 0, 1e6},
  }};
  return keys;
}

std::optional<double> NumberOf(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_double()) return value.get_double();
  return std::nullopt;
}

// "5" for 5.0.
std::string ShownBound(double bound) { return std::to_string(static_cast<std::int64_t>(bound)); }

// The sentence of what is wrong; "" if the value was set.
std::string SetLimit(const LimitKey& key, const json::value& value, TenantLimits* out) {
  const std::optional<double> number = NumberOf(value);
  const bool counts = std::holds_alternative<Count>(key.member);
  if (!number || *number < key.least || *number > key.most || (counts && !value.is_int64())) {
    return std::string("must be a ") + (counts ? "whole number" : "number") + " from " +
           ShownBound(key.least) + " to " + ShownBound(key.most) +
           (key.least > 0 ? "" : " (0: no limit of its own)");
  }
  if (counts) {
    out->*std::get<Count>(key.member) = static_cast<std::size_t>(*number);
  } else {
    out->*std::get<Rate>(key.member) = *number;
  }
  return "";
}

}  // namespace

Result<TenantLimits> ReadTenantLimits(const json::value& section) {
  TenantLimits read;
  Error error{Code::kInvalidArgument, "", {}};
  const json::object* object = section.if_object();
  if (object == nullptr) return InvalidField("", "must be a mapping");
  for (const auto& member : *object) {
    const std::string_view name = member.key();
    const auto key = std::find_if(LimitKeys().begin(), LimitKeys().end(),
                                  [&](const LimitKey& one) { return one.name == name; });
    const std::string problem =
        key == LimitKeys().end() ? "unknown key" : SetLimit(*key, member.value(), &read);
    if (!problem.empty()) error.fields.push_back({std::string(name), problem});
  }
  if (error.fields.empty()) return read;
  return error;
}

void TakeTenantLimits(const std::string& path, const json::value& section, TenantLimits* limits,
                      std::vector<FieldError>* problems) {
  const Result<TenantLimits> read = ReadTenantLimits(section);
  if (read.ok()) {
    *limits = *read;
    return;
  }
  for (const FieldError& one : read.error().fields) {
    const std::string key = one.field.empty() ? "limits" : "limits." + one.field;
    problems->push_back({path + ": " + key, one.message});
  }
}

}  // namespace muster
