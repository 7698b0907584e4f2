// The table of kinds, made of the list in kind_list.h, and the look-ups in it. The table has some
// two dozen entries, so every look-up goes through them one by one.
#include "schedd/shapes/config/object_kinds.h"

#include "schedd/base/check.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/kind_list.h"

namespace muster::shapes {
namespace {

#define MUSTER_ADDRESS_OF_ENTRY(entry) &entry,
constexpr const KindInfo* kObjectKinds[] = {MUSTER_OBJECT_KINDS(MUSTER_ADDRESS_OF_ENTRY)};
#undef MUSTER_ADDRESS_OF_ENTRY

}  // namespace

std::span<const KindInfo* const> Kinds() { return kObjectKinds; }

const KindInfo& InfoOf(ObjectKind kind) {
  for (const KindInfo* info : kObjectKinds) {
    if (info->kind == kind) return *info;
  }
  MUSTER_CHECK(!"every ObjectKind is listed");
  return *kObjectKinds[0];
}

const KindInfo* FindKind(std::string_view group, std::string_view plural) {
  for (const KindInfo* info : kObjectKinds) {
    if (group == info->group && plural == info->plural) return info;
  }
  return nullptr;
}

const KindInfo* FindKindOf(std::string_view group, std::string_view name) {
  for (const KindInfo* info : kObjectKinds) {
    if (name == info->name && group == info->group) return info;
  }
  return nullptr;
}

bool Serves(const KindInfo& info, std::string_view version) {
  return version == info.versions[0] ||
         (info.versions[1] != nullptr && version == info.versions[1]);
}

std::string NotServed(const KindInfo& info, std::string_view version) {
  std::string versions = info.versions[0];
  if (info.versions[1] != nullptr) versions += std::string(" and ") + info.versions[1];
  return std::string(info.name) + " is served in " + versions + ", not " + Quoted(version);
}

bool HasStoredStatus(const KindInfo& info) {
  return info.status == StatusWriter::kController || info.status == StatusWriter::kEngine;
}

}  // namespace muster::shapes
