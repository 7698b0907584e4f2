// Each difference between v1beta1 and v1beta2 is a rename or a replaced word, made in place. The
// stored manifest may have either version, so a rewrite does nothing where the object already has
// the wanted form.
#include "api/service/object_versions.h"

#include <string>

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Moves member `from` to `to`, unless `to` is there.
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

// v1beta1 has two forms for the admission checks of a ClusterQueue. The plain list of names becomes
// the other one, the only form that v1beta2 has.
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
  if (!shapes::Serves(info, version)) return;
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
