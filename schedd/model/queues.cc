#include "schedd/model/queues.h"

namespace muster {

std::string_view DispatchModeName(DispatchMode mode) {
  switch (mode) {
    case DispatchMode::kDirect:
      return "Direct";
    case DispatchMode::kAllAtOnce:
      return "AllAtOnce";
    case DispatchMode::kIncremental:
      return "Incremental";
    case DispatchMode::kExternal:
      return "External";
  }
  return "";
}

}  // namespace muster
