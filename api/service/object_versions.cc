#include "api/service/object_versions.h"

#include <string>

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

void Rename(json::object* object, std::string_view from, std::string_view to) {
  if (object == nullptr) return;
  const auto member = object->find(from);
  if (member == object->end() || object->contains(to)) return;
  json::value value = std::move(member->value());
  object->erase(member);
  object->emplace(to, std::move(value));
}

void ReplaceText(json::object* object, std::string_view key, std::string_view from,
                 std::string_view to) {
  if (object == nullptr) return;
  json::value* member = object->if_contains(key);
  if (member != nullptr && member->is_string() && member->get_string() == from) *member = to;
}

// v1beta1's list of names, as the only form that v1beta2 has.
void NameChecksInStrategy(json::object* spec) {
  const json::array* names = FindArray(spec, "admissionChecks");
  if (names == nullptr || spec->contains("admissionChecksStrategy")) return;
  json::array rules;
  for (const json::value& name : *names) rules.push_back(json::object{{"name", name}});
  spec->erase("admissionChecks");
  (*spec)["admissionChecksStrategy"] = json::object{{"admissionChecks", std::move(rules)}};
}

}  // namespace

void ConvertVersion(ObjectKind kind, std::string_view version, json::object* object) {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  bool served = false;
  for (const char* known : info.versions) served = served || (known != nullptr && version == known);
  if (!served) return;
  const std::string group(info.group);
  (*object)["apiVersion"] =
      group.empty() ? std::string(version) : group + "/" + std::string(version);
  const bool newer = version == "v1beta2";
  json::object* spec = MutableObject(object, "spec");
  if (kind == ObjectKind::kClusterQueue && spec != nullptr) {
    Rename(spec, newer ? "cohort" : "cohortName", newer ? "cohortName" : "cohort");
    if (newer) NameChecksInStrategy(spec);
    json::object* fungibility = MutableObject(spec, "flavorFungibility");
    ReplaceText(fungibility, "whenCanBorrow", newer ? "Borrow" : "MayStopSearch",
                newer ? "MayStopSearch" : "Borrow");
    ReplaceText(fungibility, "whenCanPreempt", newer ? "Preempt" : "MayStopSearch",
                newer ? "MayStopSearch" : "Preempt");
  }
  if (kind == ObjectKind::kLocalQueue) {
    json::object* status = MutableObject(object, "status");
    Rename(status, newer ? "flavorUsage" : "flavorsUsage", newer ? "flavorsUsage" : "flavorUsage");
  }
}

}  // namespace muster::api
