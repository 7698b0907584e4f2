// Comparing what came out with what a case wants. Absent and null are the same, and so are absent
// and an empty list or object below the top; a list of {flavor, resource, amount} is a map.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/registry.h"
#include "tests/conformance/world.h"

namespace muster::conformance {

struct CompareRules {
  bool ignore_order = false;        // of the top list
  bool ignore_message = false;      // of its entries
  std::vector<std::string> ignore;  // paths such as "podSets[].count"; [] is any entry
};

/// compare[key] of the case.
CompareRules RulesOf(const Case& test, std::string_view key);

/// One line per difference.
std::vector<std::string> Differences(const json::value& want, const json::value& got,
                                     const CompareRules& rules);

/// Compares want[key] with `got` by the case's own rules and reports the differences. Does nothing
/// if the case does not assert the key.
void Check(const Case& test, std::string_view key, const json::value& got, Report* report);
/// The same with rules added to those of the case.
void Check(const Case& test, std::string_view key, const json::value& got, CompareRules rules,
           Report* report);

/// Compares the Workloads that want[key] lists with `got`: matched by namespace and name;
/// conditions by type, the reservation with its topology decoded, checks without their times, and
/// the rest of the admission state.
void CheckWorkloads(const Case& test, std::string_view key, const std::vector<JobRecord>& got,
                    Report* report);
/// Compares want[key], a map of workload key to admission, with `got`.
void CheckAdmissions(const Case& test, std::string_view key,
                     const std::map<std::string, AdmissionPtr>& got, Report* report);

/// `[{flavor, resource, amount}]` of one such map.
struct FlavorAmount {
  std::string flavor, resource;
  std::int64_t amount = 0;
};
json::array ToJson(const std::vector<FlavorAmount>& amounts);
/// The inverse; "unlimited" is kUnlimited.
std::vector<FlavorAmount> FlavorAmounts(const json::value& list);
/// An amount as cases write it: a number, or "unlimited".
json::value AmountJson(std::int64_t amount);

}  // namespace muster::conformance
