// FlavorPlan: a workload's pod sets compiled against one ClusterQueue, so that trying it again on
// other usage costs no string work (kueue.md 2.6). Used by AssignFlavors (one shot) and by a cycle
// (once per class). Bound to the ConfigView, QuotaTree, ClusterQueue and PodSets it was made for,
// which must outlive it. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/flavor_assigner.h"
#include "schedd/core/quota_tree.h"

namespace muster::core {

/// How well a flavor serves: the order is the preference. Preemption adds its grades between these
/// two ends.
enum class Grade : std::uint8_t {
  kNoFit,
  kNoCandidates,  // quota of its own or of its subtree would serve, were others not using it
  kFit,
};

/// An amount of one (flavor, resource) pair that an assignment takes.
struct Charge {
  FlavorResourceIndex pair = -1;
  std::int64_t amount = 0;
};

/// One way to serve all pod sets: a flavor per resource group, and what follows from it.
struct FlavorChoice {
  std::vector<std::int16_t> options;  // per (pod set, resource group), in plan order
  AdmissionPtr admission;
  std::vector<Charge> charges;  // each pair once
};

/// Why a workload does not fit.
struct Misfit {
  Reason reason = Reason::kNone;
  std::string message;
  std::vector<FlavorVerdict> verdicts;  // filled only if asked for
};

class FlavorPlan {
 public:
  FlavorPlan(const ConfigView& config, const QuotaTree& tree, const ClusterQueue& queue,
             const PodSets& pod_sets);

  /// The choice that fits this usage, null if none; the choice lives as long as the plan. `level`
  /// gets its borrowing level. Does no allocation for a choice seen before.
  const FlavorChoice* Choose(const Usage& usage, std::int32_t* level);
  /// Why nothing fits (meaningful after Choose gave null), with all verdicts if asked for.
  Misfit Diagnose(const Usage& usage, bool want_verdicts) const;
  NodeIndex queue() const { return queue_; }

 private:
  struct Need {
    std::string resource;
    std::int64_t amount = 0;  // of all pods of the pod set
  };
  struct Option {
    std::string flavor;
    std::string mismatch;                    // "" if the flavor can host the pods
    std::vector<FlavorResourceIndex> pairs;  // by need
  };
  struct GroupTask {
    std::vector<Need> needs;
    std::vector<Option> options;
  };
  struct PodSetTask {
    const PodSet* pod_set = nullptr;
    std::vector<GroupTask> groups;
    std::string uncovered;  // a requested resource of no group, met after `groups`
  };
  struct Scan {
    Grade grade = Grade::kNoFit;
    std::int32_t level = 0;
    std::int16_t option = -1;
  };
  class Recorder;

  PodSetTask Compile(const ConfigView& config, const QuotaTree& tree, const ClusterQueue& queue,
                     const PodSet& pod_set) const;
  Scan ScanGroup(const GroupTask& group, const Usage& usage, const std::vector<Charge>& assumed,
                 Recorder* recorder) const;
  Scan Judge(const Usage& usage, FlavorResourceIndex pair, std::int64_t amount) const;
  bool Walk(const Usage& usage, std::vector<std::int16_t>* options, std::vector<Charge>* assumed,
            std::int32_t* level, Recorder* recorder) const;
  std::unique_ptr<FlavorChoice> MakeChoice() const;

  const ClusterQueue& spec_;
  NodeIndex queue_ = -1;
  std::vector<PodSetTask> tasks_;
  std::vector<std::unique_ptr<FlavorChoice>> choices_;
  std::vector<std::int16_t> options_;  // of the last walk
  std::vector<Charge> assumed_;        // of the last walk
};

}  // namespace muster::core
