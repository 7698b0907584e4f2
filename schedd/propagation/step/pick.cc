#include "schedd/propagation/step/pick.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "schedd/core/member/policy_fit.h"

namespace muster::propagation {
namespace {

// Where the objects of one placement go.
class Picking {
 public:
  Picking(const Fleet& fleet, const PlacementPtr& placement, const std::vector<WorkPtr>& works);

  std::map<std::string, Pick> Run();

 private:
  const MemberCluster& member(std::size_t i) const { return (*fleet_.clusters)[i].member; }
  std::size_t size() const { return fleet_.clusters->size(); }
  bool TakesNew(std::size_t i) const {
    return Answers(member(i)) && !member(i).cordoned && (*fleet_.takes_objects)(member(i).name);
  }
  // Picked by the same policy, or by one that is not known; or its labels are not known yet.
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
  core::PlacedCounts counts_;  // one for each pick
  core::PolicyFit fit_;
  std::vector<const Work*> there_;  // by member: what is picked already; null: nothing
  std::map<std::string, Pick> picks_;
};

core::PlacementAsk AskOf(const PlacementPtr& placement) {
  core::PlacementAsk ask;
  ask.placement = placement;
  // Objects never wait for room in one group of members before the next is tried.
  ask.waited_s = std::numeric_limits<std::int64_t>::max();
  return ask;
}

Picking::Picking(const Fleet& fleet, const PlacementPtr& placement,
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

void Picking::Keep(std::size_t i) {
  const Work& work = *there_[i];
  picks_[work.cluster] = {true, work.affinity_score, work.spread_score};
  counts_[{placement_->ns, placement_->name}][work.cluster] = 1;
}

void Picking::Add(std::size_t i, const core::MemberScore& score) {
  picks_[member(i).name] = {false, score.affinity, score.spread};
  counts_[{placement_->ns, placement_->name}][member(i).name] = 1;
}

void Picking::PickFixed() {
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

void Picking::PickAll() {
  for (std::size_t i = 0; i < size(); ++i) {
    if (Stays(i)) {
      Keep(i);
    } else if (MayBePicked(i)) {
      Add(i, {});
    }
  }
}

void Picking::KeepBest(std::size_t most) {
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
    return larger_name ? a > b : a < b;  // members stand by name
  });
  if (stay.size() > most) stay.resize(most);
  for (const std::size_t i : stay) Keep(i);
}

std::size_t Picking::Best(const std::vector<bool>& open,
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

void Picking::AddBest(std::size_t most) {
  const bool spreads = !placement_->policy.spread.empty();
  std::vector<bool> open;
  std::vector<core::MemberScore> scores;
  while (picks_.size() < most) {
    if (open.empty() || spreads) {  // each pick changes what spread constraints say
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

void Picking::PickN() {
  const auto most = static_cast<std::size_t>(std::max(0, placement_->policy.number_of_clusters));
  KeepBest(most);
  AddBest(most);
}

std::map<std::string, Pick> Picking::Run() {
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
  return Picking(fleet, placement, works).Run();
}

}  // namespace muster::propagation
