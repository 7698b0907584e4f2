// The patch has at most the depth that the parser admits, so the recursion is bounded. Items are
// looked for one by one; PatchWork bounds that, since a patch and an object of a megabyte have
// lists that would take minutes.
#include "api/rest/strategic_patch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

constexpr std::string_view kPatch = "$patch", kRetain = "$retainKeys",
                           kRemove = "$deleteFromPrimitiveList/", kOrder = "$setElementOrder/";

// Lists of objects that are merged, with the member that tells their items apart.
constexpr struct {
  std::string_view list, key;
} kMergedLists[] = {
    {"containers", "name"},
    {"initContainers", "name"},
    {"env", "name"},
    {"ports", "containerPort"},
    {"volumes", "name"},
    {"volumeMounts", "mountPath"},
    {"volumeDevices", "devicePath"},
    {"imagePullSecrets", "name"},
    {"hostAliases", "ip"},
    {"topologySpreadConstraints", "topologyKey"},
    {"resourceClaims", "name"},
    {"schedulingGates", "name"},
    {"ownerReferences", "uid"},
    {"conditions", "type"},
};
// Lists of texts that are united.
constexpr std::string_view kUnited = "finalizers";

// Comparisons of one patch: a fraction of a second. A list of 1,500 items may be merged and
// ordered.
constexpr std::size_t kComparisons = 8'000'000;

// What a patch has left of its comparisons.
class PatchWork {
 public:
  // Each of `items` is looked for among `others`.
  Status Take(std::size_t items, std::size_t others) {
    if (others != 0 && items > left_ / others)
      return InvalidArgument("the lists of the patch are too long to be merged item by item");
    left_ -= items * others;
    return Done{};
  }

 private:
  std::size_t left_ = kComparisons;
};

// Items are compared by such values alone: they cost little, however they differ.
bool IsScalar(const json::value& value) { return !value.is_object() && !value.is_array(); }
bool Same(const json::value& wanted, const json::value& its) {
  return IsScalar(wanted) && wanted == its;
}

std::string_view KeyOf(std::string_view list) {
  for (const auto& one : kMergedLists) {
    if (one.list == list) return one.key;
  }
  return "";
}

Status Merge(const json::object& patch, json::value* into, PatchWork* work);

json::array& ListOf(json::value* value) {
  if (!value->is_array()) *value = json::array();
  return value->get_array();
}

// The item of `list` whose member `key` is `name`, or the end.
json::array::iterator ItemOf(json::array& list, std::string_view key, const json::value& name) {
  return std::find_if(list.begin(), list.end(), [&](const json::value& one) {
    const json::value* its = one.is_object() ? one.get_object().if_contains(key) : nullptr;
    return its != nullptr && *its == name;
  });
}

Status MergeItem(const json::object& item, std::string_view list_name, std::string_view key,
                 json::array* list, PatchWork* work) {
  const json::value* name = item.if_contains(key);
  if (name == nullptr || !IsScalar(*name)) {
    return InvalidArgument("an item of " + std::string(list_name) + " in the patch has no " +
                           std::string(key));
  }
  if (const Status may = work->Take(1, list->size()); !may.ok()) return may.error();
  auto found = ItemOf(*list, key, *name);
  if (TextAt(item, kPatch) == "delete") {
    if (found != list->end()) list->erase(found);
    return Done{};
  }
  if (found == list->end()) found = list->insert(list->end(), json::object());
  return Merge(item, &*found, work);
}

// An item that says only {"$patch": "replace"} lets the other items replace the whole list.
Status MergeList(const json::array& patch, std::string_view name, json::value* into,
                 PatchWork* work) {
  const std::string_view key = KeyOf(name);
  const auto replaces = [](const json::value& item) {
    return TextAt(item, kPatch) == "replace" && item.get_object().size() == 1;
  };
  json::array& list = ListOf(into);
  if (std::any_of(patch.begin(), patch.end(), replaces)) list.clear();
  for (const json::value& item : patch) {
    if (!item.is_object())
      return InvalidArgument("the items of " + std::string(name) + " must be objects");
    if (replaces(item)) continue;
    const Status merged = MergeItem(item.get_object(), name, key, &list, work);
    if (!merged.ok()) return merged.error();
  }
  return Done{};
}

Status Unite(const json::array& patch, json::value* into, PatchWork* work) {
  json::array& list = ListOf(into);
  for (const json::value& one : patch) {
    if (!IsScalar(one)) return InvalidArgument("an item of a list of texts is no text");
    if (const Status may = work->Take(1, list.size()); !may.ok()) return may.error();
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
  return Done{};
}

// Puts the items that `order` names into its order, in the places that they have together.
void Order(const json::array& order, std::string_view key, json::array* list) {
  const auto rank = [&](const json::value& item) {
    const auto same = [&](const json::value& one) {
      if (key.empty()) return Same(one, item);
      const json::value* wanted = FindValue(one, key);
      const json::value* its = FindValue(item, key);
      return wanted != nullptr && its != nullptr && Same(*wanted, *its);
    };
    return std::find_if(order.begin(), order.end(), same) - order.begin();
  };
  const auto size = static_cast<std::ptrdiff_t>(order.size());
  std::vector<std::pair<std::ptrdiff_t, json::value>> named;
  for (const json::value& item : *list) {
    if (const auto at = rank(item); at < size) named.emplace_back(at, item);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next = named.begin();
  for (json::value& item : *list) {
    if (rank(item) < size) item = std::move((next++)->second);
  }
}

// "$deleteFromPrimitiveList/NAME" before, and "$setElementOrder/NAME" after the other members.
Status Directive(std::string_view member, const json::value& value, bool after,
                 json::object* object, PatchWork* work) {
  const std::string_view prefix = member.starts_with(kRemove) ? kRemove : kOrder;
  if (!member.starts_with(prefix))
    return InvalidArgument("the patch has an unknown directive " + std::string(member));
  const json::array* list = value.if_array();
  if (list == nullptr) return InvalidArgument(std::string(member) + " must be a list");
  const std::string_view name = member.substr(prefix.size());
  json::value* target = object->if_contains(name);
  if (target == nullptr || !target->is_array() || after != (prefix == kOrder)) return Done{};
  json::array& items = target->get_array();
  // An order looks up each item twice.
  if (const Status may = work->Take(2 * items.size(), list->size()); !may.ok()) return may.error();
  if (prefix == kOrder) {
    Order(*list, KeyOf(name), &items);
    return Done{};
  }
  items.erase(std::remove_if(
                  items.begin(), items.end(),
                  [&](const json::value& item) {
    return std::any_of(list->begin(), list->end(),
                       [&](const json::value& one) { return Same(one, item); });
                  }),
              items.end());
  return Done{};
}

// Only the members that the patch lists stay.
Status Retain(const json::value& keys, json::object* object, PatchWork* work) {
  const json::array* list = keys.if_array();
  if (list == nullptr) return InvalidArgument("$retainKeys must be a list");
  const Status may = work->Take(object->size(), list->size());
  if (!may.ok()) return may.error();
  std::vector<std::string> gone;
  for (const auto& member : *object) {
    const json::value name(member.key());
    if (std::find(list->begin(), list->end(), name) == list->end()) gone.emplace_back(member.key());
  }
  for (const std::string& key : gone) object->erase(key);
  return Done{};
}

Status MergeMember(std::string_view key, const json::value& value, json::object* object,
                   PatchWork* work) {
  if (value.is_null()) {
    object->erase(key);
    return Done{};
  }
  if (value.is_object()) return Merge(value.get_object(), &(*object)[key], work);
  if (value.is_array() && !KeyOf(key).empty())
    return MergeList(value.get_array(), key, &(*object)[key], work);
  if (value.is_array() && key == kUnited) return Unite(value.get_array(), &(*object)[key], work);
  (*object)[key] = value;
  return Done{};
}

Status Merge(const json::object& patch, json::value* into, PatchWork* work) {
  if (!into->is_object()) *into = json::object();
  json::object& object = into->get_object();
  if (patch.contains(kPatch)) {
    const std::string what = TextAt(patch, kPatch);
    if (what != "replace" && what != "delete" && what != "merge")
      return InvalidArgument("$patch must be one of: delete, merge, replace");
    if (what != "merge") object.clear();
    if (what == "delete") return Done{};
  }
  if (const json::value* keys = patch.if_contains(kRetain)) {
    if (const Status kept = Retain(*keys, &object, work); !kept.ok()) return kept.error();
  }
  const auto directives = [&](bool after) -> Status {
    for (const auto& member : patch) {
      const std::string_view key = member.key();
      if (!key.starts_with('$') || key == kPatch || key == kRetain) continue;
      const Status done = Directive(key, member.value(), after, &object, work);
      if (!done.ok()) return done.error();
    }
    return Done{};
  };
  if (const Status done = directives(false); !done.ok()) return done.error();
  for (const auto& member : patch) {
    if (std::string_view(member.key()).starts_with('$')) continue;
    const Status merged = MergeMember(member.key(), member.value(), &object, work);
    if (!merged.ok()) return merged.error();
  }
  return directives(true);
}

}  // namespace

Result<json::value> MergedStrategically(const json::value& patch, json::value now) {
  PatchWork work;
  const Status merged = Merge(patch.get_object(), &now, &work);
  if (!merged.ok()) return merged.error();
  return now;
}

}  // namespace muster::rest
