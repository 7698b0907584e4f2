// Comparison of two JSON objects, field by field, and the three-way merge patch.
//
// The comparison walks both objects together and notes each differing place as a JSON pointer with
// both values. Keys are visited in order, so that two results can be compared. At most
// limits::kDifferencesKept places are kept; the rest is counted.
//
// The patch follows RFC 7386: a member is set if `wanted` has it and `live` does not agree, and
// removed (null) if `last` had it and `wanted` does not. Fields that only the live object has are
// left alone.
#include "backends/k8s/object_diff.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "backends/k8s/object_marks.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/status/reader.h"
#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"

namespace muster::k8s {
namespace {

constexpr char kRedacted[] = "(redacted)";
constexpr char kWholeObject[] = "(the whole object)";

// Annotations and labels that clients and controllers write by themselves; they are no change.
constexpr std::array<std::string_view, 3> kIgnoredKeys = {
    "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision",
    "kubernetes.io/metadata.name"};
// Quotas of Kueue are compared as amounts, because Kueue's client writes them in the shortest form.
constexpr std::array<std::string_view, 3> kQuantityKeys = {"nominalQuota", "borrowingLimit",
                                                           "lendingLimit"};

template <class List>
bool Holds(const List& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// True for absent, null, an empty list, and an object whose members are all nothing.
bool IsNothing(const json::value* value) {
  if (value == nullptr || value->is_null()) return true;
  if (const json::object* object = value->if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [](const auto& member) { return IsNothing(&member.value()); });
  }
  const json::array* array = value->if_array();
  return array != nullptr && array->empty();
}

// 1 and 1.0 are the same.
bool SameNumber(const json::value& a, const json::value& b) {
  if (a == b) return true;
  return (a.is_double() || b.is_double()) && a.to_number<double>() == b.to_number<double>();
}

// A value as text, strings without quotes.
std::string BareText(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : WriteJson(value);
}

bool SameQuantity(const json::value& a, const json::value& b) {
  const auto one = ParseBillionths(BareText(a));
  const auto other = ParseBillionths(BareText(b));
  return one.ok() && other.ok() && *one == *other;
}

// Collects the differences between two objects. `whole`: fields that only the member has count too;
// `secret`: values are redacted.
class Comparison {
 public:
  Comparison(bool whole, bool secret) : whole_(whole), secret_(secret) {}

  // Compares two values at a path; null means absent. `key` is the last part of the path.
  void Values(const std::string& path, std::string_view key, const json::value* member,
              const json::value* hub) {
    if (IsNothing(hub) && (!whole_ || IsNothing(member))) return;
    if (IsNothing(hub) || IsNothing(member)) return Note(path, member, hub);
    if (member->is_object() && hub->is_object())
      return Objects(path, member->get_object(), hub->get_object());
    if (member->is_array() && hub->is_array())
      return Arrays(path, member->get_array(), hub->get_array());
    const bool same = (member->is_number() && hub->is_number() && SameNumber(*member, *hub)) ||
                      (Holds(kQuantityKeys, key) && SameQuantity(*member, *hub)) || *member == *hub;
    if (!same) Note(path, member, hub);
  }

  void Objects(const std::string& path, const json::object& member, const json::object& hub) {
    std::set<std::string_view> keys;
    for (const auto& [key, value] : hub) keys.insert(key);
    if (whole_) {
      for (const auto& [key, value] : member) keys.insert(key);
    }
    for (const std::string_view key : keys) {
      Values(path + "/" + PointerToken(key), key, member.if_contains(key), hub.if_contains(key));
    }
  }

  // Compares labels or annotations, without those that are not the manifest's business.
  void Keys(const std::string& path, const Reader& member, const Reader& hub) {
    static const json::object kNone;
    const json::object* theirs = member.Object();
    const json::object* ours = hub.Object();
    Objects(path, Foreign(theirs == nullptr ? kNone : *theirs),
            Foreign(ours == nullptr ? kNone : *ours));
  }

  Differences Take() { return std::move(out_); }

 private:
  // The keys that count: neither Muster's own nor kIgnoredKeys.
  static json::object Foreign(const json::object& keys) {
    json::object kept;
    for (const auto& [key, value] : keys) {
      const std::string_view name = key;
      if (!name.starts_with(kMarkPrefix) && !Holds(kIgnoredKeys, name)) kept[key] = value;
    }
    return kept;
  }

  void Arrays(const std::string& path, const json::array& member, const json::array& hub) {
    const std::size_t most = std::max(member.size(), hub.size());
    for (std::size_t i = 0; i < most; ++i) {
      const json::value* theirs = i < member.size() ? &member[i] : nullptr;
      const json::value* ours = i < hub.size() ? &hub[i] : nullptr;
      const std::string place = path + "/" + std::to_string(i);
      // A list has one author, so an additional element is a difference even without `whole`.
      if (theirs == nullptr || ours == nullptr) {
        Note(place, theirs, ours);
      } else {
        Values(place, "", theirs, ours);
      }
    }
  }

  // The value as it may be shown: cut, and redacted for Secrets.
  std::string Shown(const std::string& path, const json::value& value) const {
    const bool hidden = secret_ && (path.starts_with("/data") || path.starts_with("/stringData") ||
                                    path.starts_with("/metadata/annotations"));
    if (hidden) return kRedacted;
    return CleanText(BareText(value), limits::kDifferenceBytes);
  }

  void Note(const std::string& path, const json::value* member, const json::value* hub) {
    ++out_.total;
    if (out_.kept.size() >= limits::kDifferencesKept) return;
    Difference one;
    one.path = path;
    if (member != nullptr) one.in_member = Shown(path, *member);
    if (hub != nullptr) one.in_hub = Shown(path, *hub);
    out_.kept.push_back(std::move(one));
  }

  const bool whole_, secret_;
  Differences out_;
};

// The object without type, metadata and status.
json::object Body(const json::object& object) {
  json::object body;
  for (const auto& [key, value] : object) {
    if (key != "apiVersion" && key != "kind" && key != "metadata" && key != "status")
      body[key] = value;
  }
  return body;
}

// Adds to `patch` what `live` needs; null stands for an absent object.
void AddPatch(const json::object* last, const json::object& wanted, const json::object* live,
              json::object* patch) {
  for (const auto& [key, value] : wanted) {
    const json::value* there = live == nullptr ? nullptr : live->if_contains(key);
    if (there != nullptr && *there == value) continue;
    if (!value.is_object()) {
      (*patch)[key] = value;
      continue;
    }
    const json::value* before = last == nullptr ? nullptr : last->if_contains(key);
    json::object inner;
    AddPatch(before == nullptr ? nullptr : before->if_object(), value.get_object(),
             there == nullptr ? nullptr : there->if_object(), &inner);
    const bool make = there == nullptr || !there->is_object();
    if (make || !inner.empty()) (*patch)[key] = std::move(inner);
  }
  if (last == nullptr || live == nullptr) return;
  for (const auto& [key, value] : *last) {
    if (!wanted.contains(key) && live->contains(key)) (*patch)[key] = nullptr;
  }
}

}  // namespace

std::string InPlaces(const Differences& found) {
  std::string text =
      found.total == 1 ? "in 1 place" : "in " + std::to_string(found.total) + " places";
  if (found.total > found.kept.size())
    text += " (the first " + std::to_string(found.kept.size()) + " are listed)";
  return text;
}

Differences CompareObjects(const json::object& member, const json::object& hub, bool whole) {
  const bool secret = Reader(member)["kind"].View() == std::string_view("Secret");
  Comparison compare(whole, secret);
  for (const char* which : {"annotations", "labels"}) {
    compare.Keys(std::string("/metadata/") + which, Reader(member)["metadata"][which],
                 Reader(hub)["metadata"][which]);
  }
  compare.Objects("", Body(member), Body(hub));
  return compare.Take();
}

Differences AbsentObject() { return {{{"/", std::nullopt, kWholeObject}}, 1}; }

json::object ThreeWayPatch(const json::object& last, const json::object& wanted,
                           const json::object& live) {
  json::object patch;
  AddPatch(&last, wanted, &live, &patch);
  return patch;
}

}  // namespace muster::k8s
