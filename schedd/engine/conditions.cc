#include "schedd/engine/conditions.h"

#include <algorithm>

namespace muster {

void SetCondition(JobRecord* job, const std::string& type, bool status, const std::string& reason,
                  const std::string& message, WallTime now) {
  auto list = job->conditions == nullptr
                  ? std::make_shared<std::vector<Condition>>()
                  : std::make_shared<std::vector<Condition>>(*job->conditions);
  auto found = std::find_if(list->begin(), list->end(),
                            [&](const Condition& one) { return one.type == type; });
  if (found == list->end()) {
    list->push_back({type, reason, message, status, now});
  } else {
    if (found->status != status) found->last_transition = now;
    found->status = status;
    found->reason = reason;
    found->message = message;
  }
  job->conditions = std::move(list);
}

const Condition* FindCondition(const JobRecord& job, const std::string& type) {
  if (job.conditions == nullptr) return nullptr;
  for (const Condition& one : *job.conditions) {
    if (one.type == type) return &one;
  }
  return nullptr;
}

}  // namespace muster
