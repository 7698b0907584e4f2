// The fields of sacctmgr's tables (rule B52).
#pragma once

#include <string_view>

namespace muster::slurm {

/// A field: its name as users write it (any beginning will do), its key, header and width.
struct ManagedField {
  const char* name;
  const char* header;
  int width;
};
/// The field of this name: whole in any case, else the first that begins with it; null if none
/// does.
const ManagedField* FindManagedField(std::string_view name);

}  // namespace muster::slurm
