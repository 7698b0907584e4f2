#include "schedd/engine/context/envelope.h"

namespace muster {

bool IsReport(const Command& command) {
  return std::holds_alternative<ObservedCommand>(command) ||
         std::holds_alternative<EnsuredCommand>(command) ||
         std::holds_alternative<RemovedCommand>(command) ||
         std::holds_alternative<ConfirmedCommand>(command) ||
         std::holds_alternative<ListedCommand>(command);
}

}  // namespace muster
