#include "schedd/model/set_aside.h"

namespace muster {

std::string_view SetAsideReasonText(SetAsideReason reason) {
  switch (reason) {
    case SetAsideReason::kAhead:
      return "ahead of the database";
    case SetAsideReason::kCopy:
      return "a copy";
    case SetAsideReason::kUnowned:
      return "not made by Muster";
  }
  return "";
}

}  // namespace muster
