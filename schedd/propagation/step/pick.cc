// Picks the members of one placement. A member that has the objects under the same policy stays;
// the others are filtered and scored by core::PolicyFit, which also places jobs.
//
// - PickFixed: the named members, of which new ones must be able to take objects.
// - PickAll: all members that stay, and all others that pass the filter.
// - PickN: the best of those that stay, then the best of the others, one at a time, until there are
//   enough. With spread constraints each pick changes the scores, so they are computed anew after
//   it.
#include "schedd/propagation/step/pick.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "schedd/core/member/policy_fit.h"
#include "schedd/propagation/step/policy_digest.h"

namespace muster::propagation {
namespace {

// Picks the members for one placement; one use per object.
class MemberPicker {
 public:
  MemberPicker(const Fleet& fleet, const PlacementPtr& placement,
               const std::vector<WorkPtr>& works);

  std::map<std::string, Pick> Run();

 private:
  const MemberCluster& member(std::size_t i) const { return (*fleet_.clusters)[i].member; }
  std::size_t size() const { return fleet_.clusters->size(); }
  // A new member must answer, not be cordoned and take configuration objects.
  bool TakesNew(std::size_t i) const {
    return Answers(member(i)) && !member(i).cordoned && (*fleet_.takes_objects)(member(i).name);
  }
  // True if the member has the objects and was picked by this policy, or by one that is not known,
  // or if its labels are not known yet.
  bool Stays(std::size_t i) const {
    const Work* work = there_[i];
    return work != nullptr &&
           (work->policy == digest_ || work->policy.empty() || !member(i).observed_at.set());
  }
  bool MayBePicked(std::size_t i) const {
    return (there_[i] != nullptr || TakesNew(i)) && !fit_.Filter(*fleet_.room, i);
  }
  void Keep(std::size_t i);
  void Add(std::size_t i, const core::MemberScore& score);
  void PickFixed();
  void PickAll();
  void PickN();
  void KeepBest(std::size_t most);
  void AddBest(std::size_t most);
  std::size_t Best(const std::vector<bool>& open,
                   const std::vector<core::MemberScore>& scores) const;

  const Fleet& fleet_;
  const PlacementPtr& placement_;
  std::string digest_;
  core::PlacementAsk ask_;
  // One for each pick, for the spread constraints.
  core::PlacedCounts counts_;
  core::PolicyFit fit_;
  // By index of the member: its row if the objects are there already, else null.
  std::vector<const Work*> there_;
  std::map<std::string, Pick> picks_;
};

// The question that PolicyFit answers for a placement of objects.
core::PlacementAsk AskOf(const PlacementPtr& placement) {
  core::PlacementAsk ask;
  ask.placement = placement;
  // Objects need no room, so they never wait for one cluster group before the next is tried.
  ask.waited_s = std::numeric_limits<std::int64_t>::max();
  return ask;
}

MemberPicker::MemberPicker(const Fleet& fleet, const PlacementPtr& placement,
                           const std::vector<WorkPtr>& works)
    : fleet_(fleet),
      placement_(placement),
      digest_(PolicyDigest(placement->policy)),
      ask_(AskOf(placement)),
      fit_(ask_, *fleet.room, &counts_),
      there_(fleet.clusters->size()) {
  for (const WorkPtr& work : works) {
    if (work->state == WorkState::kLeaving) continue;
    for (std::size_t i = 0; i < size(); ++i) {
      if (member(i).name == work->cluster) there_[i] = work.get();
    }
  }
}

// A kept member has the scores of its row; only a new pick is scored.
void MemberPicker::Keep(std::size_t i) {
  const Work& work = *there_[i];
  picks_[work.cluster] = {true, work.affinity_score, work.spread_score};
  counts_[{placement_->ns, placement_->name}][work.cluster] = 1;
}

void MemberPicker::Add(std::size_t i, const core::MemberScore& score) {
  picks_[member(i).name] = {false, score.affinity, score.spread};
  counts_[{placement_->ns, placement_->name}][member(i).name] = 1;
}

void MemberPicker::PickFixed() {
  const auto& names = placement_->policy.cluster_names;
  for (std::size_t i = 0; i < size(); ++i) {
    if (std::find(names.begin(), names.end(), member(i).name) == names.end()) continue;
    if (there_[i] != nullptr) {
      Keep(i);
    } else if (TakesNew(i)) {
      Add(i, {});
    }
  }
}

void MemberPicker::PickAll() {
  for (std::size_t i = 0; i < size(); ++i) {
    if (Stays(i)) {
      Keep(i);
    } else if (MayBePicked(i)) {
      Add(i, {});
    }
  }
}

// PickN when more members stay than are wanted: bound rows stay first, then the highest scores.
void MemberPicker::KeepBest(std::size_t most) {
  std::vector<std::size_t> stay;
  for (std::size_t i = 0; i < size(); ++i) {
    if (Stays(i)) stay.push_back(i);
  }
  const bool larger_name = fit_.kubefleet_tie_break();
  std::sort(stay.begin(), stay.end(), [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t i) {
      const Work& work = *there_[i];
      return std::tuple(work.state == WorkState::kBound, work.spread_score, work.affinity_score);
    };
    if (rank(a) != rank(b)) return rank(a) > rank(b);
    // Members are sorted by name, so the index orders names.
    return larger_name ? a > b : a < b;
  });
  if (stay.size() > most) stay.resize(most);
  for (const std::size_t i : stay) Keep(i);
}

// The best open member by (cluster group, spread score, affinity score, objects there before,
// name); size() if none is open.
std::size_t MemberPicker::Best(const std::vector<bool>& open,
                               const std::vector<core::MemberScore>& scores) const {
  const auto rank = [&](std::size_t i) {
    return std::tuple(-static_cast<std::int64_t>(fit_.Group(i)), scores[i].spread,
                      scores[i].affinity, there_[i] != nullptr);
  };
  std::size_t best = size();
  for (std::size_t i = 0; i < size(); ++i) {
    if (!open[i]) continue;
    if (best == size() || rank(i) > rank(best) ||
        (rank(i) == rank(best) && fit_.kubefleet_tie_break()))
      best = i;
  }
  return best;
}

// Adds the best members until there are `most` picks or no member is open.
void MemberPicker::AddBest(std::size_t most) {
  const bool spreads = !placement_->policy.spread.empty();
  std::vector<bool> open;
  std::vector<core::MemberScore> scores;
  while (picks_.size() < most) {
    if (open.empty() || spreads) {
      open.assign(size(), false);
      for (std::size_t i = 0; i < size(); ++i)
        open[i] = !picks_.contains(member(i).name) && MayBePicked(i);
      fit_.Score(*fleet_.room, open, false, &scores);
    }
    const std::size_t best = Best(open, scores);
    if (best == size()) return;
    Add(best, scores[best]);
    open[best] = false;
  }
}

void MemberPicker::PickN() {
  const auto most = static_cast<std::size_t>(std::max(0, placement_->policy.number_of_clusters));
  KeepBest(most);
  AddBest(most);
}

std::map<std::string, Pick> MemberPicker::Run() {
  switch (placement_->policy.type) {
    case PlacementType::kPickFixed:
      PickFixed();
      break;
    case PlacementType::kPickAll:
      PickAll();
      break;
    case PlacementType::kPickN:
      PickN();
      break;
  }
  return std::move(picks_);
}

}  // namespace

std::map<std::string, Pick> PickMembers(const Fleet& fleet, const PlacementPtr& placement,
                                        const std::vector<WorkPtr>& works) {
  return MemberPicker(fleet, placement, works).Run();
}

}  // namespace muster::propagation
