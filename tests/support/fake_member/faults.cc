#include "tests/support/fake_member/faults.h"

#include <map>

namespace muster::fake {

std::optional<FaultKind> FaultKindOf(const std::string& name) {
  static const std::map<std::string, FaultKind> kinds = {
      {"drop", FaultKind::kDrop},
      {"drop-answer", FaultKind::kDropAnswer},
      {"gateway-timeout", FaultKind::kGatewayTimeout},
      {"delay", FaultKind::kDelay},
      {"late", FaultKind::kLate},
      {"duplicate", FaultKind::kDuplicate},
      {"hang", FaultKind::kHang},
      {"answer", FaultKind::kAnswer},
      {"mutate", FaultKind::kMutate},
      {"stall", FaultKind::kStall},
      {"close", FaultKind::kClose},
      {"gone", FaultKind::kGone},
      {"reorder", FaultKind::kReorder},
  };
  const auto it = kinds.find(name);
  if (it == kinds.end()) return std::nullopt;
  return it->second;
}

std::optional<Fault> ReadFault(const json::object& object, std::string* why) {
  const std::string kind = Text(object, {"kind"});
  const auto known = FaultKindOf(kind);
  if (!known) {
    *why = "kind: there is no fault \"" + kind + "\"";
    return std::nullopt;
  }
  Fault fault;
  fault.kind = *known;
  fault.verb = Text(object, {"verb"});
  fault.path = Text(object, {"path"});
  fault.labels = Text(object, {"labels"});
  fault.skip = Number(object, {"skip"});
  fault.times = Number(object, {"times"}, 1);
  if (const json::value* chance = Find(object, {"probability"}); chance && chance->is_number())
    fault.probability = chance->to_number<double>();
  fault.status = static_cast<int>(Number(object, {"status"}));
  fault.reason = Text(object, {"reason"});
  fault.message = Text(object, {"message"});
  fault.retry_after_s = static_cast<int>(Number(object, {"retry_after_s"}, -1));
  fault.delay_ms = Number(object, {"delay_ms"});
  fault.events = Number(object, {"events"});
  fault.patch = Items(object, {"patch"});
  if (fault.kind == FaultKind::kAnswer && fault.status == 0) {
    *why = "status: an answer needs one";
    return std::nullopt;
  }
  return fault;
}

int Faults::Add(Fault fault) {
  rules_.push_back({next_, std::move(fault)});
  return next_++;
}

void Faults::Remove(int id) {
  rules_.remove_if([id](const Rule& rule) { return rule.id == id; });
}

const Fault* Faults::Match(const Route& route) {
  for (Rule& rule : rules_) {
    const Fault& fault = rule.fault;
    if (!fault.verb.empty() && fault.verb != route.verb) continue;
    if (!fault.path.empty() && route.path.find(fault.path) == std::string::npos) continue;
    if (!fault.labels.empty() &&
        route.Query("labelSelector").find(fault.labels) == std::string::npos)
      continue;
    if (rule.seen++ < fault.skip) continue;
    if (fault.times >= 0 && rule.struck >= fault.times) continue;
    if (fault.probability < 1 &&
        std::uniform_real_distribution<double>(0, 1)(random_) >= fault.probability)
      continue;
    ++rule.struck;
    return &fault;
  }
  return nullptr;
}

std::int64_t Faults::Struck(int id) const {
  for (const Rule& rule : rules_) {
    if (rule.id == id) return rule.struck;
  }
  return 0;
}

}  // namespace muster::fake
