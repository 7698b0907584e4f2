// Faults that a fake member commits on request, by rules in the order in which they were added.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <string>

#include "tests/support/fake_member/api.h"

namespace muster::fake {

enum class FaultKind {
  kDrop,            // the connection breaks before the request is carried out
  kDropAnswer,      // the request is carried out, then the connection breaks
  kGatewayTimeout,  // the request is carried out and answered with 504
  kDelay,           // the request is carried out and answered after delay_ms
  /// The request is carried out after delay_ms and never answered; with status != 0 that answer is
  /// sent at once.
  kLate,
  kDuplicate,  // the request is carried out twice, the first answer is sent
  kHang,       // the request is neither carried out nor answered
  kAnswer,     // only answered, with `status`, `reason`, `message`, `retry_after_s`
  /// `patch` (JSON patch operations; failing ones are skipped) is applied to the written object, as
  /// a mutating webhook does.
  kMutate,
  kStall,    // a watch that never sends an event
  kClose,    // a watch that ends without an error after `events` events
  kGone,     // a watch that ends with an ERROR event 410
  kReorder,  // a watch sends changes of different objects in another order
};
/// nullopt if there is no such name ("drop", "drop-answer", "gateway-timeout", ...).
std::optional<FaultKind> FaultKindOf(const std::string& name);

struct Fault {
  FaultKind kind = FaultKind::kDrop;
  std::string verb = "";    // "" = any; create, get, list, watch, update, patch, delete, log, ...
  std::string path = "";    // a part of the path, "" = any
  std::string labels = "";  // a part of the label selector, "" = any
  std::int64_t skip = 0;    // so many matching requests pass first
  std::int64_t times = 1;   // then so many are hit; -1 = all
  double probability = 1;   // that one of them is hit
  int status = 0;
  std::string reason = "", message = "";
  int retry_after_s = -1;
  std::int64_t delay_ms = 0;
  std::int64_t events = 0;
  json::array patch = {};
};
/// A fault from the JSON of a control request, with the field names above; nullopt and `why` if it
/// is malformed.
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
  /// How often a rule has hit a request.
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
