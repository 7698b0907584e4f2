#include "tests/support/fake_member/field_owners.h"

namespace muster::fake {
namespace {

constexpr char kApply[] = "/apply";

}  // namespace

void FieldOwners::Collect(const Path& path, const json::object& object, Leaves* out) {
  for (const auto& [key, value] : object) {
    Path place = path;
    place.emplace_back(key);
    if (value.is_object() && !value.get_object().empty()) {
      Collect(place, value.get_object(), out);
    } else {
      out->emplace(std::move(place), value);
    }
  }
}

FieldOwners::Leaves FieldOwners::LeavesOf(const json::object& object) {
  Leaves all;
  for (const auto& [key, value] : object) {
    if (key == "apiVersion" || key == "kind" || key == "status" || key == "metadata") continue;
    Collect({}, {{key, value}}, &all);
  }
  for (const char* which : {"labels", "annotations"}) {
    const json::object* keys = FindObject(object, {"metadata", which});
    if (keys != nullptr) Collect({"metadata", which}, *keys, &all);
  }
  return all;
}

void FieldOwners::NoteUpdate(const std::string& uid, const std::string& manager,
                             const json::object& before, const json::object& after) {
  const Leaves old = LeavesOf(before), now = LeavesOf(after);
  Owners& owners = owners_[uid];
  for (const auto& [path, value] : old) {
    if (now.count(path) == 0) owners.erase(path);
  }
  for (const auto& [path, value] : now) {
    const auto was = old.find(path);
    if (was == old.end() || !Same(was->second, value)) owners[path] = {manager};
  }
}

void FieldOwners::NoteApply(const std::string& uid, const std::string& manager,
                            const json::object& before, const json::object& applied) {
  const Leaves old = LeavesOf(before), now = LeavesOf(applied);
  Owners& owners = owners_[uid];
  for (auto& [path, who] : owners) {
    if (now.count(path) == 0) who.erase(manager + kApply);
  }
  for (const auto& [path, value] : now) {
    const auto was = old.find(path);
    if (was == old.end() || !Same(was->second, value)) owners[path].clear();
    owners[path].insert(manager + kApply);
  }
}

std::vector<Cause> FieldOwners::Conflicts(const std::string& uid, const std::string& manager,
                                          const json::object& before,
                                          const json::object& applied) const {
  std::vector<Cause> causes;
  const auto known = owners_.find(uid);
  if (known == owners_.end()) return causes;
  const Leaves old = LeavesOf(before);
  for (const auto& [path, value] : LeavesOf(applied)) {
    const auto was = old.find(path);
    const auto owners = known->second.find(path);
    if (was == old.end() || owners == known->second.end() || Same(was->second, value)) continue;
    std::string field;
    for (const std::string& part : path) field += "." + part;
    for (const std::string& owner : owners->second) {
      if (owner == manager + kApply) continue;
      const std::string name = owner.substr(0, owner.find(kApply));
      causes.push_back({"FieldManagerConflict", "conflict with \"" + name + "\"", field});
    }
  }
  return causes;
}

void FieldOwners::DropLeftOut(const std::string& uid, const std::string& manager,
                              const json::object& applied, json::object* object) const {
  const auto known = owners_.find(uid);
  if (known == owners_.end()) return;
  const Leaves now = LeavesOf(applied);
  for (const auto& [path, owners] : known->second) {
    if (now.count(path) > 0 || owners != std::set<std::string>{manager + kApply}) continue;
    json::object* at = object;
    for (std::size_t i = 0; at != nullptr && i + 1 < path.size(); ++i) {
      json::value* inner = at->if_contains(path[i]);
      at = inner == nullptr ? nullptr : inner->if_object();
    }
    if (at != nullptr) at->erase(path.back());
  }
}

}  // namespace muster::fake
