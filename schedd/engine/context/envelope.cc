#include "schedd/engine/context/envelope.h"

namespace muster {

// The answers to orders, and what members report of objects. FactsCommand is not one of them: facts
// concern a member as a whole, and are needed at once.
bool IsReport(const Command& command) {
  return std::holds_alternative<ObservedCommand>(command) ||
         std::holds_alternative<EnsuredCommand>(command) ||
         std::holds_alternative<RemovedCommand>(command) ||
         std::holds_alternative<ConfirmedCommand>(command) ||
         std::holds_alternative<ListedCommand>(command);
}

}  // namespace muster
