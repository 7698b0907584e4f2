// The kinds that `get`, `describe` and `delete` know: their names, where the API serves them, their
// columns.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

struct KindColumn {
  const char* header;
  bool wide_only;
  std::function<std::string(const json::value& object)> cell;
};

struct Kind {
  const char* plural;      // as in the path and for `-o name`
  const char* singular;    // as events spell it
  const char* short_name;  // "" if none
  const char* base;        // API group path; "" for jobs, which live on /v1
  bool namespaced;
  std::vector<KindColumn> columns;
  bool is_job() const { return std::string_view(plural) == "jobs"; }
  bool is_placement() const { return std::string_view(plural).ends_with("resourceplacements"); }
};

/// By plural, singular or short name, any case; null if unknown.
const Kind* FindKind(std::string_view name);
/// All kinds, for help and completion.
const std::vector<Kind>& AllKinds();
/// "jobs, workloads (wl), ..." of all kinds.
std::string KindList();
/// The path of a kind's list (in `ns`, or everywhere if "") or of one object.
std::string ObjectPath(const Kind& kind, const std::string& ns, const std::string& name);

}  // namespace muster::cli
