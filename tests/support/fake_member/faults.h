// Faults that a fake member commits on request: by rule, in the order the rules were laid.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <string>

#include "tests/support/fake_member/api.h"

namespace muster::fake {

enum class FaultKind {
  kDrop,            // the connection breaks before anything is done
  kDropAnswer,      // it is done, then the connection breaks
  kGatewayTimeout,  // it is done, the answer is 504
  kDelay,           // it is done and answered after delay_ms
  kLate,       // done after delay_ms, never answered; with status != 0 that answer comes at once
  kDuplicate,  // it is done twice, the first answer counts
  kHang,       // nothing is done or answered
  kAnswer,     // only the answer `status`, `reason`, `message`, `retry_after_s`
  kMutate,     // `patch` (JSON patch operations, those that fail are skipped) goes over what is
               // written, as a webhook does it
  kStall,      // a watch that never tells anything
  kClose,      // a watch that ends without a word after `events` events
  kGone,       // a watch that ends with an ERROR event 410
  kReorder,    // a watch tells changes of different objects in another order
};
/// nullopt if there is no such name ("drop", "drop-answer", "gateway-timeout", ...).
std::optional<FaultKind> FaultKindOf(const std::string& name);

struct Fault {
  FaultKind kind = FaultKind::kDrop;
  std::string verb = "";    // "" = any; create, get, list, watch, update, patch, delete, log, ...
  std::string path = "";    // a part of the path, "" = any
  std::string labels = "";  // a part of the label selector, "" = any
  std::int64_t skip = 0;    // matches to let through first
  std::int64_t times = 1;   // how many then; -1 = all
  double probability = 1;   // of each of them
  int status = 0;
  std::string reason = "", message = "";
  int retry_after_s = -1;
  std::int64_t delay_ms = 0;
  std::int64_t events = 0;
  json::array patch = {};
};
/// A fault as a control request has it, fields named as above; nullopt and `why` if it is none.
std::optional<Fault> ReadFault(const json::object& object, std::string* why);

/// Not thread-safe.
class Faults {
 public:
  explicit Faults(std::uint64_t seed) : random_(seed) {}
  /// Rules are tried in order; the first that matches decides.
  int Add(Fault fault);
  void Remove(int id);
  void Clear() { rules_.clear(); }
  const Fault* Match(const Route& route);
  /// How often a rule has struck.
  std::int64_t Struck(int id) const;
  std::mt19937_64& random() { return random_; }

 private:
  struct Rule {
    int id = 0;
    Fault fault;
    std::int64_t seen = 0, struck = 0;
  };
  std::list<Rule> rules_;
  int next_ = 1;
  std::mt19937_64 random_;
};

}  // namespace muster::fake
