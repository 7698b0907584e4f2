#include "schedd/engine/live/tenant_counts.h"

#include <string_view>

#include "schedd/base/find_in.h"

namespace muster {
namespace {

// Told to a tenant at its cap: its jobs start as slowly as those of a full queue.
constexpr std::int64_t kTenantRetryMs = 10'000;

bool CountsAsWaiting(const JobRecord& job) {
  return job.state == JobState::kPending || job.state == JobState::kHeld;
}

Error OverCap(const std::string& whose, std::size_t most, const char* source) {
  return Overloaded(whose + " may have at most " + std::to_string(most) + " waiting jobs (" +
                        source + ") and has as many; submit again when some have started",
                    kTenantRetryMs);
}

}  // namespace

std::optional<Error> TenantCounts::Refusal(const JobRecord& job, std::size_t more_of_user,
                                           std::size_t more_of_namespace) const {
  const std::size_t of_user = options_.max_waiting_per_user;
  const Count* user = FindIn(users_, job.user);
  if (of_user != 0 && (user == nullptr ? 0 : user->all()) + more_of_user >= of_user)
    return OverCap("user \"" + job.user + "\"", of_user, "limits.pending-jobs-per-user");
  std::size_t of_namespace = options_.max_waiting_per_namespace;
  const char* source = "limits.pending-jobs-per-namespace";
  const Namespace* declared = FindIn(config_.view()->namespaces, job.ns);
  if (declared != nullptr && declared->tenancy.max_pending_jobs) {
    of_namespace = static_cast<std::size_t>(*declared->tenancy.max_pending_jobs);
    source = "its annotation muster.io/max-pending-jobs";
  }
  const Count* ns = FindIn(namespaces_, job.ns);
  if (of_namespace != 0 && (ns == nullptr ? 0 : ns->all()) + more_of_namespace >= of_namespace)
    return OverCap("namespace \"" + job.ns + "\"", of_namespace, source);
  return std::nullopt;
}

// Jobs of one command count against each other too.
TenantCounts::Fit TenantCounts::FitOf(std::span<const Submission> jobs) const {
  Fit fit;
  // The usual command needs no tables.
  if (jobs.size() == 1) {
    fit.refusal = Refusal(*jobs.front().draft, 0, 0);
    fit.jobs = fit.refusal ? 0 : 1;
    return fit;
  }
  std::unordered_map<std::string_view, std::size_t> users, namespaces;
  for (const Submission& submission : jobs) {
    const JobRecord& job = *submission.draft;
    std::size_t& of_user = users[job.user];
    std::size_t& of_namespace = namespaces[job.ns];
    fit.refusal = Refusal(job, of_user, of_namespace);
    if (fit.refusal) return fit;
    ++of_user;
    ++of_namespace;
    ++fit.jobs;
  }
  return fit;
}

void TenantCounts::Step(Counts* counts, const std::string& key, std::size_t Count::*which,
                        bool up) {
  Count& count = (*counts)[key];
  MUSTER_CHECK(up || count.*which > 0);
  count.*which += up ? 1 : static_cast<std::size_t>(-1);
  if (count.all() == 0) counts->erase(key);
}

void TenantCounts::StepBoth(const JobRecord& job, std::size_t Count::*which, bool up) {
  Step(&users_, job.user, which, up);
  Step(&namespaces_, job.ns, which, up);
}

void TenantCounts::Take(const JobRecord& job) { StepBoth(job, &Count::coming, true); }
void TenantCounts::Drop(const JobRecord& job) { StepBoth(job, &Count::coming, false); }

void TenantCounts::Enter(const JobPtr& job) {
  if (CountsAsWaiting(*job)) StepBoth(*job, &Count::waiting, true);
}

// A job keeps its user and its namespace.
void TenantCounts::Change(const JobRecord& before, const JobPtr& job) {
  const bool waits = CountsAsWaiting(*job);
  if (CountsAsWaiting(before) != waits) StepBoth(*job, &Count::waiting, waits);
}

void TenantCounts::Reset() {
  for (Counts* counts : {&users_, &namespaces_}) {
    for (auto& [key, count] : *counts) count.waiting = 0;
    std::erase_if(*counts, [](const auto& entry) { return entry.second.all() == 0; });
  }
}

}  // namespace muster
