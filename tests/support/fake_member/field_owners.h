// FieldOwners: who has written which field of an object, as managedFields tell it, so that
// server-side apply can refuse to take fields of others and take away what is left out. Lists count
// as one field.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_member/answers.h"
#include "tests/support/fake_member/json_tools.h"

namespace muster::fake {

/// Not thread-safe.
class FieldOwners {
 public:
  /// A write that was no apply; `before` is empty if it made the object.
  void NoteUpdate(const std::string& uid, const std::string& manager, const json::object& before,
                  const json::object& after);
  void NoteApply(const std::string& uid, const std::string& manager, const json::object& before,
                 const json::object& applied);
  /// Fields that `applied` would take from somebody else.
  std::vector<Cause> Conflicts(const std::string& uid, const std::string& manager,
                               const json::object& before, const json::object& applied) const;
  /// What the manager, and nobody else, has applied and leaves out now goes from `object`.
  void DropLeftOut(const std::string& uid, const std::string& manager, const json::object& applied,
                   json::object* object) const;

 private:
  using Path = std::vector<std::string>;
  using Leaves = std::map<Path, json::value>;
  /// Managers by field; an applying one is named "NAME/apply".
  using Owners = std::map<Path, std::set<std::string>>;

  static Leaves LeavesOf(const json::object& object);
  static void Collect(const Path& path, const json::object& object, Leaves* out);

  std::map<std::string, Owners> owners_;  // by uid
};

}  // namespace muster::fake
