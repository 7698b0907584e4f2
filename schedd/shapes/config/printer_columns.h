// The columns that `muster get` prints of a kind of configuration objects, as data: an entry of the
// table of kinds (object_kinds.h) names them, clients/cli renders them.
//
// Constants and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedd/text/json.h"

namespace muster::shapes {

/// How a cell's text is made of an object as the API answers it.
enum class CellForm : std::uint8_t {
  kText,       // the scalar at `path`
  kAge,        // the time since the timestamp at `path`
  kPairs,      // "cpu=2,memory=4Gi" of the object at `path`
  kCount,      // the number of elements of the list, or of members of the object, at `path`
  kCondition,  // member `path` of the condition whose type is `condition`
  kQuotas,     // the figure `path` ("nominal", "used", "borrowed") of each quota of a ClusterQueue
  kComputed,   // what `compute` returns
};

struct PrinterColumn {
  const char* header;
  CellForm form;
  const char* path;        // keys with dots between them; "" for kComputed
  bool wide_only = false;  // only with -o wide
  const char* condition = "";
  std::string (*compute)(const json::value& object) = nullptr;
};

/// A column of the scalar at a path.
constexpr PrinterColumn TextColumn(const char* header, const char* path, bool wide_only = false) {
  return {header, CellForm::kText, path, wide_only};
}
/// A column of the object of texts at a path.
constexpr PrinterColumn PairsColumn(const char* header, const char* path, bool wide_only = false) {
  return {header, CellForm::kPairs, path, wide_only};
}
/// A column of how many elements or members there are at a path.
constexpr PrinterColumn CountColumn(const char* header, const char* path) {
  return {header, CellForm::kCount, path};
}
/// A column of a member of a condition; empty without that condition.
constexpr PrinterColumn ConditionColumn(const char* header, const char* condition,
                                        const char* member = "status", bool wide_only = false) {
  return {header, CellForm::kCondition, member, wide_only, condition};
}
/// A column of one figure of each quota of a ClusterQueue; only with -o wide.
constexpr PrinterColumn QuotasColumn(const char* header, const char* figure) {
  return {header, CellForm::kQuotas, figure, true};
}
/// A column whose text a function makes.
constexpr PrinterColumn ComputedColumn(const char* header,
                                       std::string (*compute)(const json::value& object),
                                       bool wide_only = false) {
  return {header, CellForm::kComputed, "", wide_only, "", compute};
}

/// The columns that every kind has: the first one and, of most kinds, the last one.
inline constexpr PrinterColumn kNameColumn = TextColumn("NAME", "metadata.name");
inline constexpr PrinterColumn kAgeColumn = {"AGE", CellForm::kAge, "metadata.creationTimestamp"};

/// A member of the condition of this type in status.conditions; "" without that condition.
std::string ConditionText(const json::value& object, std::string_view type,
                          std::string_view member = "status");

}  // namespace muster::shapes
