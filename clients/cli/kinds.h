// The kinds of `get`, `describe` and `delete`: their names, where the API serves them, and their
// columns.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/text/json.h"

namespace muster::cli {

/// A column of `muster get`: its header and how an object's cell is made. wide_only: shown with -o
/// wide.
struct KindColumn {
  const char* header;
  bool wide_only;
  std::function<std::string(const json::value& object)> cell;
};

/// One kind of object.
struct Kind {
  const char* plural;      // as in the path and for `-o name`
  std::string singular;    // as events spell it
  const char* short_name;  // "" if none
  std::string base;        // path of the API group and version; "" for jobs, which live on /v1
  bool namespaced;
  std::vector<KindColumn> columns;
  bool is_job() const { return std::string_view(plural) == "jobs"; }
  bool is_secret() const { return std::string_view(plural) == "secrets"; }
  bool is_placement() const { return std::string_view(plural).ends_with("resourceplacements"); }
};

/// Finds a kind by its plural, singular or short name, in any case; null if unknown.
const Kind* FindKind(std::string_view name);
/// All kinds, for help and completion.
const std::vector<Kind>& AllKinds();
/// "jobs, workloads (wl), ...": all kinds in one line.
std::string KindList();
/// The path of a kind's list (in `ns`, or everywhere if "") or of one object.
std::string ObjectPath(const Kind& kind, const std::string& ns, const std::string& name);

}  // namespace muster::cli
