#include "schedd/engine/placed_jobs.h"

#include <algorithm>
#include <functional>

#include "schedd/core/placement_ask.h"
#include "schedd/model/job.h"

namespace muster {
namespace {

bool IsPlaced(const JobRecord& job) { return HoldsQuota(job.state) && !job.cluster.empty(); }

// A job that is reserved will send its pods when its checks are ready.
bool IsStarting(const JobRecord& job) { return IsPlaced(job) && job.state != JobState::kRunning; }

bool Waits(const JobRecord& job) { return job.state == JobState::kPending; }

std::size_t NameHash(const std::string& ns, const std::string& name) {
  return std::hash<std::string>{}(ns + "/" + name);
}

// No namespace is called so.
std::size_t ReferenceHash(const std::string& placement) { return NameHash("@", placement); }

const std::string* ReferenceOf(const JobRecord& job) {
  return job.placement == nullptr || job.placement->placement.empty() ? nullptr
                                                                      : &job.placement->placement;
}

}  // namespace

void PlacedJobs::Clear() { *this = PlacedJobs(); }

void PlacedJobs::Configure(const ConfigPtr& config, const Jobs& jobs) {
  config_ = config;
  std::vector<PlacementPtr> spreading = config->placements->Spreading();
  if (spreading == spreading_) return;
  spreading_ = std::move(spreading);
  counted_.clear();
  counts_.clear();
  shown_.reset();
  if (spreading_.empty()) return;
  for (const auto& [id, job] : jobs) Count(*job);
}

void PlacedJobs::Count(const JobRecord& job) {
  const auto known = counted_.find(job.id);
  const bool placed = IsPlaced(job);
  // Decisions stay: it counts for whoever governed it when it was placed.
  if (known != counted_.end() && placed && known->second.cluster == job.cluster) return;
  if (known != counted_.end()) {
    Add(known->second, -1);
    counted_.erase(known);
  }
  if (!placed) return;
  const PlacementPtr placement = core::GoverningPlacement(*config_, job, nullptr);
  if (placement == nullptr || placement->policy.spread.empty()) return;
  Place place{{placement->ns, placement->name}, job.cluster};
  Add(place, 1);
  counted_[job.id] = std::move(place);
}

void PlacedJobs::Add(const Place& place, std::int32_t jobs) {
  shown_.reset();
  auto& by_cluster = counts_[place.placement];
  const std::int32_t left = by_cluster[place.cluster] += jobs;
  if (left == 0) by_cluster.erase(place.cluster);
  if (by_cluster.empty()) counts_.erase(place.placement);
}

void PlacedJobs::Move(const JobRecord* before, const JobPtr& after) {
  if (!spreading_.empty()) Count(*after);
  const bool waited = before != nullptr && Waits(*before);
  if (names_known_ && waited != Waits(*after)) Index(*after, !waited);
  const bool started = before != nullptr && IsStarting(*before);
  const bool starts = IsStarting(*after);
  if (started && (!starts || before->cluster != after->cluster)) {
    Member& left = members_[before->cluster];
    left.starting.erase(before->id);
    left.list.reset();
  }
  if (!starts) return;
  Member& member = members_[after->cluster];
  member.starting[after->id] = after;
  member.list.reset();
}

std::shared_ptr<const core::PlacedCounts> PlacedJobs::Counts() {
  if (spreading_.empty()) return nullptr;
  if (shown_ == nullptr) shown_ = std::make_shared<const core::PlacedCounts>(counts_);
  return shown_;
}

std::shared_ptr<const std::vector<JobPtr>> PlacedJobs::StartingOn(const std::string& cluster) {
  const auto member = members_.find(cluster);
  if (member == members_.end() || member->second.starting.empty()) return nullptr;
  if (member->second.list == nullptr) {
    std::vector<JobPtr> jobs;
    jobs.reserve(member->second.starting.size());
    for (const auto& [id, job] : member->second.starting) jobs.push_back(job);
    member->second.list = std::make_shared<const std::vector<JobPtr>>(std::move(jobs));
  }
  return member->second.list;
}

void PlacedJobs::Index(const JobRecord& job, bool waits) {
  const auto change = [&](std::size_t hash) {
    if (waits) {
      names_.emplace(hash, job.id);
      return;
    }
    const auto [first, last] = names_.equal_range(hash);
    const auto at =
        std::find_if(first, last, [&](const auto& one) { return one.second == job.id; });
    if (at != last) names_.erase(at);
  };
  change(NameHash(job.ns, job.name));
  if (const std::string* reference = ReferenceOf(job)) change(ReferenceHash(*reference));
}

std::set<JobId> PlacedJobs::Named(const Jobs& jobs,
                                  const std::set<std::pair<std::string, std::string>>& names,
                                  const std::set<std::string>& references) {
  if (!names_known_) {
    names_known_ = true;
    for (const auto& [id, job] : jobs) {
      if (Waits(*job)) Index(*job, true);
    }
  }
  std::set<JobId> found;
  const auto look = [&](std::size_t hash, const auto& matches) {
    const auto [first, last] = names_.equal_range(hash);
    for (auto one = first; one != last; ++one) {
      const auto job = jobs.find(one->second);
      if (job != jobs.end() && matches(*job->second)) found.insert(one->second);
    }
  };
  for (const auto& [ns, name] : names) {
    look(NameHash(ns, name),
         [&](const JobRecord& job) { return job.ns == ns && job.name == name; });
  }
  for (const std::string& placement : references) {
    look(ReferenceHash(placement), [&](const JobRecord& job) {
      const std::string* reference = ReferenceOf(job);
      return reference != nullptr && *reference == placement;
    });
  }
  return found;
}

}  // namespace muster
