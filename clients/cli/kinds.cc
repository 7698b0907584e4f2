// The kinds of `get`, `describe` and `delete`. Configuration kinds come from the table that the
// daemon has too (schedd/shapes/config/object_kinds.h), with their names, paths and columns; jobs
// and workloads, which are no configuration, are added here. The columns of the table say only
// where a cell's text comes from; how it is rendered (ages, pairs, quotas) is here.
#include "clients/cli/kinds.h"

#include <strings.h>

#include <algorithm>
#include <cstring>

#include "clients/cli/durations.h"
#include "clients/cli/queue_quotas.h"
#include "clients/lib/endpoint.h"
#include "clients/lib/job_view.h"
#include "schedd/shapes/config/object_kinds.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

using client::PathText;

// A column with the scalar at a path, such as "spec.clusterQueue".
KindColumn At(const char* header, const char* path, bool wide = false) {
  return {header, wide, [path](const json::value& object) { return PathText(object, path); }};
}

// A column with the age of the stamp at a path.
KindColumn AgeAt(const char* path) {
  return {"AGE", false, [path](const json::value& object) { return Age(PathText(object, path)); }};
}

// "cpu=2,memory=4Gi" for an object of texts.
std::string Pairs(const json::object& object) {
  std::string out;
  for (const json::key_value_pair& entry : object) {
    if (!out.empty()) out += ',';
    out += std::string(entry.key()) + "=" + client::MemberText(object, entry.key());
  }
  return out;
}

// "2x cpu=4,memory=8Gi; 1x cpu=1" over the pod sets of a job view.
std::string Requests(const json::value& job) {
  std::string out;
  for (const json::value& set : ArrayOrEmpty(job, "podSets")) {
    if (!out.empty()) out += "; ";
    out += PathText(set, "count") + "x " + Pairs(ObjectOrEmpty(set, "requests"));
  }
  return out;
}

std::string DisplayName(const json::value& job) {
  const std::string display = PathText(job, "displayName");
  return display.empty() ? PathText(job, "name") : display;
}

// A member of a condition, a number too; "" without the condition.
std::string ConditionOf(const json::value& object, std::string_view type,
                        std::string_view member = "status") {
  for (const json::value& condition : ArrayOrEmpty(object, {"status", "conditions"})) {
    if (PathText(condition, "type") == type) return PathText(condition, member);
  }
  return "";
}

// "budget=Ready,images=Pending" of a workload.
std::string Checks(const json::value& workload) {
  std::string out;
  for (const json::value& check : ArrayOrEmpty(workload, {"status", "admissionChecks"})) {
    if (!out.empty()) out += ',';
    out += PathText(check, "name") + "=" + PathText(check, "state");
  }
  return out;
}

std::vector<KindColumn> JobColumns() {
  return {At("ID", "id"),
          {"NAME", false, DisplayName},
          At("KIND", "kind"),
          At("QUEUE", "queue"),
          At("STATE", "state"),
          At("REASON", "reason"),
          At("CLUSTER", "cluster"),
          AgeAt("submitTime"),
          At("USER", "user", true),
          At("CLUSTERQUEUE", "clusterQueue", true),
          At("PRIORITY", "priority", true),
          {"PODS", true, Requests},
          At("ATTEMPT", "attempt", true),
          At("EXIT", "exitCode", true),
          At("MESSAGE", "message", true)};
}

// Kueue's own columns; beside them the reasons why a workload waits.
std::vector<KindColumn> WorkloadColumns() {
  return {At("NAME", "metadata.name"),
          At("QUEUE", "spec.queueName"),
          At("RESERVED IN", "status.admission.clusterQueue"),
          {"ADMITTED", false, [](const json::value& o) { return ConditionOf(o, "Admitted"); }},
          {"FINISHED", false, [](const json::value& o) { return ConditionOf(o, "Finished"); }},
          AgeAt("metadata.creationTimestamp"),
          At("PRIORITY", "spec.priority", true),
          At("ACTIVE", "spec.active", true),
          {"CHECKS", true, Checks},
          At("CLUSTER", "status.clusterName", true)};
}

std::string SizeAt(const json::value& object, const char* path) {
  const json::value* value = FindValue(object, JsonPath::Dotted(path));
  if (value == nullptr) return "";
  if (const json::array* list = value->if_array()) return std::to_string(list->size());
  const json::object* members = value->if_object();
  return members == nullptr ? "" : std::to_string(members->size());
}

// One figure of each quota of a ClusterQueue. Quotas that borrow nothing are left out.
std::string QuotaFigures(const json::value& queue, std::string_view figure) {
  if (figure == "nominal") return QuotaTexts(queue, &QueueQuota::nominal, true);
  if (figure == "used") return QuotaTexts(queue, &QueueQuota::used, true);
  return QuotaTexts(queue, &QueueQuota::borrowed, false);
}

std::string CellOf(const shapes::PrinterColumn& column, const json::value& object) {
  switch (column.form) {
    case shapes::CellForm::kText:
      return PathText(object, column.path);
    case shapes::CellForm::kAge:
      return Age(PathText(object, column.path));
    case shapes::CellForm::kPairs:
      return Pairs(ObjectOrEmpty(object, JsonPath::Dotted(column.path)));
    case shapes::CellForm::kCount:
      return SizeAt(object, column.path);
    case shapes::CellForm::kCondition:
      return ConditionOf(object, column.condition, column.path);
    case shapes::CellForm::kQuotas:
      return QuotaFigures(object, column.path);
    case shapes::CellForm::kComputed:
      return column.compute(object);
  }
  return "";
}

// "clusterqueue" of "ClusterQueue".
std::string SingularOf(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// Served in several versions, a kind is read in the oldest.
Kind KindOf(const shapes::KindInfo& info) {
  const std::string version = info.versions[0];
  Kind kind{
      info.plural,
      SingularOf(info.name),
      info.cli_name,
      *info.group == '\0' ? "/api/" + version : "/apis/" + std::string(info.group) + "/" + version,
      info.namespaced,
      {}};
  for (const shapes::PrinterColumn& column : info.columns) {
    kind.columns.push_back({column.header, column.wide_only, [&column](const json::value& object) {
                              return CellOf(column, object);
                            }});
  }
  return kind;
}

// The order is that of help texts and of completion.
std::vector<Kind> BuildKinds() {
  std::vector<Kind> out;
  out.push_back({"jobs", "job", "", "", true, JobColumns()});
  out.push_back(
      {"workloads", "workload", "wl", "/apis/kueue.x-k8s.io/v1beta1", true, WorkloadColumns()});
  std::vector<const shapes::KindInfo*> infos(shapes::Kinds().begin(), shapes::Kinds().end());
  std::stable_sort(infos.begin(), infos.end(),
                   [](const auto* a, const auto* b) { return a->cli_place < b->cli_place; });
  for (const shapes::KindInfo* info : infos) out.push_back(KindOf(*info));
  return out;
}

// Ignores case; an empty `b` equals nothing, since a kind may have no short name.
bool SameWord(std::string_view a, const char* b) {
  return *b != '\0' && a.size() == std::strlen(b) && ::strncasecmp(a.data(), b, a.size()) == 0;
}

}  // namespace

const std::vector<Kind>& AllKinds() {
  static const std::vector<Kind> kinds = BuildKinds();
  return kinds;
}

const Kind* FindKind(std::string_view name) {
  for (const Kind& kind : AllKinds()) {
    if (SameWord(name, kind.plural) || SameWord(name, kind.singular.c_str()) ||
        SameWord(name, kind.short_name))
      return &kind;
  }
  return nullptr;
}

std::string KindList() {
  std::string out;
  for (const Kind& kind : AllKinds()) {
    out += (out.empty() ? "" : ", ") + std::string(kind.plural);
    if (*kind.short_name != '\0') out += " (" + std::string(kind.short_name) + ")";
  }
  return out;
}

std::string ObjectPath(const Kind& kind, const std::string& ns, const std::string& name) {
  std::string out = kind.base;
  if (kind.namespaced && !ns.empty()) out += "/namespaces/" + client::PercentEncode(ns);
  out += std::string("/") + kind.plural;
  if (!name.empty()) out += "/" + client::PercentEncode(name);
  return out;
}

}  // namespace muster::cli
