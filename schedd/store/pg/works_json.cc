// Objects of configuration on member clusters as JSON lists. A ResourceRef is written as the fields
// group, version, kind, ns and name of the object around it; enums are numbers; empty and unset
// fields are left out.
#include "schedd/store/pg/works_json.h"

#include <utility>

#include "schedd/store/pg/json_fields.h"

namespace muster::pg {
namespace {

void PutRef(json::object* object, const ResourceRef& ref) {
  PutText(object, "group", ref.group);
  PutText(object, "version", ref.version);
  PutText(object, "kind", ref.kind);
  PutText(object, "ns", ref.ns);
  PutText(object, "name", ref.name);
}

ResourceRef RefOf(const json::object& object) {
  return {TextOf(object, "group"), TextOf(object, "version"), TextOf(object, "kind"),
          TextOf(object, "ns"), TextOf(object, "name")};
}

void PutTime(json::object* object, std::string_view key, WallTime time) {
  if (time.set()) (*object)[key] = time.us;
}

WallTime TimeOf(const json::object& object, std::string_view key) {
  return {IntOf<std::int64_t>(object, key)};
}

// A path where the member cluster's object differs; a side that lacks the path has no field.
json::object DifferenceJson(const Difference& difference) {
  json::object object{{"path", difference.path}};
  if (difference.in_member) object["member"] = *difference.in_member;
  if (difference.in_hub) object["hub"] = *difference.in_hub;
  return object;
}

Difference DifferenceOf(const json::object& object) {
  Difference difference;
  difference.path = TextOf(object, "path");
  if (object.contains("member")) difference.in_member = TextOf(object, "member");
  if (object.contains("hub")) difference.in_hub = TextOf(object, "hub");
  return difference;
}

json::object ManifestJson(const ManifestStatus& status) {
  json::object object;
  PutRef(&object, status.ref);
  PutText(&object, "envelope", status.envelope);
  object["result"] = static_cast<std::int64_t>(status.result);
  PutText(&object, "message", status.message);
  PutText(&object, "applied", status.applied);
  PutText(&object, "uid", status.remote_uid);
  if (status.generation != 0) object["generation"] = status.generation;
  object["availability"] = static_cast<std::int64_t>(status.availability);
  PutTime(&object, "since", status.since);
  json::array differences;
  for (const Difference& one : status.differences) differences.emplace_back(DifferenceJson(one));
  if (!differences.empty()) object["differences"] = std::move(differences);
  PutTime(&object, "observed", status.observed_at);
  PutTime(&object, "differed", status.first_differed_at);
  return object;
}

ManifestStatus ManifestOf(const json::object& object) {
  ManifestStatus status;
  status.ref = RefOf(object);
  status.envelope = TextOf(object, "envelope");
  status.result = static_cast<ManifestResult>(IntOf<int>(object, "result", 1));
  status.message = TextOf(object, "message");
  status.applied = TextOf(object, "applied");
  status.remote_uid = TextOf(object, "uid");
  status.generation = IntOf<std::int64_t>(object, "generation");
  status.availability = static_cast<ManifestAvailability>(IntOf<int>(object, "availability", 1));
  status.since = TimeOf(object, "since");
  for (const json::value& value : ArrayOf(object, "differences"))
    status.differences.push_back(DifferenceOf(value.as_object()));
  status.observed_at = TimeOf(object, "observed");
  status.first_differed_at = TimeOf(object, "differed");
  return status;
}

json::object ResourceJson(const SelectedResource& resource) {
  json::object object;
  PutRef(&object, resource.ref);
  PutText(&object, "envelope", resource.envelope);
  PutText(&object, "manifest", resource.manifest);
  return object;
}

SelectedResource ResourceOf(const json::object& object) {
  return {RefOf(object), TextOf(object, "envelope"), TextOf(object, "manifest")};
}

// Serialises a list; `to_json` turns one item into an object.
template <class Item, class ToJson>
std::string ListText(const std::vector<Item>& items, ToJson to_json) {
  json::array list;
  list.reserve(items.size());
  for (const Item& item : items) list.emplace_back(to_json(item));
  return WriteJson(list);
}

// Parses a list; `what` names it in the error.
template <class Item, class OfJson>
Result<std::vector<Item>> ParseList(std::string_view text, const char* what, OfJson of_json) {
  try {
    std::vector<Item> items;
    const json::value list = json::parse(json::string_view(text.data(), text.size()));
    for (const json::value& value : list.as_array()) items.push_back(of_json(value.as_object()));
    return items;
  } catch (const std::exception&) {
    return Error{Code::kDataLoss, std::string("the stored ") + what + " cannot be read"};
  }
}

}  // namespace

std::string ManifestsText(const std::vector<ManifestStatus>& manifests) {
  return ListText(manifests, ManifestJson);
}

Result<std::vector<ManifestStatus>> ParseManifests(std::string_view text) {
  return ParseList<ManifestStatus>(text, "manifests of a work", ManifestOf);
}

std::string ResourcesText(const std::vector<SelectedResource>& resources) {
  return ListText(resources, ResourceJson);
}

Result<std::vector<SelectedResource>> ParseResources(std::string_view text) {
  return ParseList<SelectedResource>(text, "resources of a snapshot", ResourceOf);
}

std::string NamesText(const std::vector<std::string>& names) { return WriteJson(TextsJson(names)); }

Result<std::vector<std::string>> ParseNames(std::string_view text) {
  try {
    std::vector<std::string> names;
    const json::value list = json::parse(json::string_view(text.data(), text.size()));
    for (const json::value& value : list.as_array()) names.emplace_back(value.as_string());
    return names;
  } catch (const std::exception&) {
    return Error{Code::kDataLoss, "the stored overrides of a work cannot be read"};
  }
}

}  // namespace muster::pg
