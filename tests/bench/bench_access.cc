// Benchmark: one access decision with 10,000 bindings beside the default roles: people of 1,000
// namespaces, each in five groups, ask for what they may do and for what they may not. CPU time,
// in one thread, without a daemon.
#include <cstdint>
#include <string>
#include <vector>

#include "schedd/shapes/config/default_access.h"
#include "schedd/shapes/config/queue_objects.h"
#include "tests/bench/benchmarks.h"
#include "tests/bench/cpu_timer.h"

namespace muster::bench {
namespace {

constexpr int kBindings = 10'000, kNamespaces = 1000, kGroups = 5000;
constexpr int kDecisions = 1'000'000;
constexpr double kDecisionBarUs = 2;

std::string NamespaceOf(int person) {
  return "namespace-of-team-" + std::to_string(person % kNamespaces);
}

std::string PersonName(int person) { return "person-number-" + std::to_string(person); }

std::string GroupName(int group) { return "group-" + std::to_string(group % kGroups); }

Result<AccessTable> MakeTable() {
  ConfigView config;
  for (const json::object& manifest : shapes::DefaultAccess(false)) {
    const auto parsed = shapes::ParseObject(manifest);
    if (!parsed.ok()) return parsed.error();
    const Status put = shapes::ApplyTo(&config, parsed->kind, parsed->manifest);
    if (!put.ok()) return put.error();
  }
  AccessTable table = *config.access;
  for (int i = 0; i < kBindings; ++i) {
    RoleBinding binding;
    binding.ns = NamespaceOf(i);
    binding.name = "binding-" + std::to_string(i);
    binding.role = i % 10 == 0 ? "kueue-batch-admin-role" : "kueue-batch-user-role";
    binding.subjects = {{AccessSubject::Kind::kUser, PersonName(i)},
                        {AccessSubject::Kind::kGroup, GroupName(i)}};
    table.PutBinding(std::move(binding));
  }
  return table;
}

// Microseconds of one decision. Each person asks in its own namespace; `*allowed` counts the yes.
double Measure(const AccessTable& table, std::string_view verb, long* allowed) {
  std::vector<std::string> people, namespaces;
  std::vector<std::vector<std::string>> groups;
  for (int i = 0; i < kBindings; ++i) {
    people.push_back(PersonName(i));
    namespaces.push_back(NamespaceOf(i));
    groups.push_back({kAuthenticatedGroup, GroupName(i), GroupName(7 * i), "staff", "everybody"});
  }
  const double begun = ThreadCpuSeconds();
  for (std::int64_t n = 0; n < kDecisions; ++n) {
    const auto person = static_cast<std::size_t>(n * 7919 % kBindings);
    AccessQuestion question;
    question.user = people[person];
    question.groups = groups[person];
    question.verb = verb;
    question.group = "batch";
    question.resource = "jobs";
    question.ns = namespaces[person];
    *allowed += table.Allows(question) ? 1 : 0;
  }
  return (ThreadCpuSeconds() - begun) * 1e6 / kDecisions;
}

}  // namespace

Result<std::vector<Figure>> BenchAccess(const BenchOptions&) {
  const auto table = MakeTable();
  if (!table.ok()) return table.error();
  long allowed = 0, refused = 0;
  const double yes = Measure(*table, "create", &allowed);
  const double no = Measure(*table, "escalate", &refused);
  if (allowed != kDecisions || refused != 0)
    return Internal("the decisions are not those that the bindings give");
  return std::vector<Figure>{
      {"decision that allows, 10,000 bindings", yes, "us", kDecisionBarUs, true, ""},
      {"decision that refuses", no, "us", kDecisionBarUs, true, ""}};
}

}  // namespace muster::bench
