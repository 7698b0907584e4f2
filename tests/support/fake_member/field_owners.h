// FieldOwners: which manager has written which field of an object, as managedFields record it, so
// that server-side apply can refuse to take fields of other managers and can remove fields that the
// manager no longer applies. A list counts as one field.
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
  /// Records a write that was no apply; `before` is empty if it created the object.
  void NoteUpdate(const std::string& uid, const std::string& manager, const json::object& before,
                  const json::object& after);
  void NoteApply(const std::string& uid, const std::string& manager, const json::object& before,
                 const json::object& applied);
  /// The fields of `applied` that another manager owns with another value.
  std::vector<Cause> Conflicts(const std::string& uid, const std::string& manager,
                               const json::object& before, const json::object& applied) const;
  /// Removes from `object` the fields that only this manager has applied and now leaves out.
  void DropLeftOut(const std::string& uid, const std::string& manager, const json::object& applied,
                   json::object* object) const;

 private:
  using Path = std::vector<std::string>;
  using Leaves = std::map<Path, json::value>;
  /// Managers by field; a manager that applied the field is named "NAME/apply".
  using Owners = std::map<Path, std::set<std::string>>;

  static Leaves LeavesOf(const json::object& object);
  static void Collect(const Path& path, const json::object& object, Leaves* out);

  std::map<std::string, Owners> owners_;  // by uid
};

}  // namespace muster::fake
