// The members of a job view (rule C1) that commands decide on; the rest stays JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "clients/lib/outcome.h"
#include "schedd/text/json.h"

namespace muster::client {

/// A job as the server showed it at one moment.
struct JobView {
  std::int64_t id = 0;
  std::string name, ns, kind, state, reason, message, cluster;
  std::optional<int> exit_code;
  json::object all;  // the whole view
  bool ended() const { return state == "Succeeded" || state == "Failed" || state == "Cancelled"; }
};

/// Errors: not an object, or no `id` and `state`.
Outcome<JobView> ParseJobView(json::value value);

/// A member as text: strings without quotes, numbers and booleans as JSON spells them, "" for null
/// or absent.
std::string MemberText(const json::object& object, std::string_view key);
/// MemberText along a path such as "metadata.name".
std::string PathText(const json::value& value, std::string_view path);
/// A member as an integer, or `otherwise`.
std::int64_t MemberNumber(const json::object& object, std::string_view key,
                          std::int64_t otherwise = 0);

}  // namespace muster::client
