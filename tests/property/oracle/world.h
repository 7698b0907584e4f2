// World: a small batch system as plain data: queues, cohorts, quotas, workloads, and where each
// workload waits. These are the oracle's own types: nothing here knows schedd/core (rules A1 to
// A41).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::oracle {

using Amount = std::int64_t;
constexpr Amount kUnbounded = INT64_MAX;

struct Limits {
  Amount nominal = 0;
  std::optional<Amount> borrowing = {}, lending = {};
};

struct Flavor {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string taint;  // key of its NoSchedule taint; "": none
};

/// Resources that share one ordered list of flavors.
struct Group {
  std::vector<int> resources, flavors;
};

/// A queue or a cohort as a node of the quota tree.
struct Place {
  std::string name;
  int cohort = -1;               // index of the parent; -1: a root
  std::map<int, Limits> quotas;  // by pair: flavor * number of resources + resource
  double weight = 1;
};

enum class EvictPolicy { kNever, kLower, kLowerOrNewer, kAny };

/// The position of a flavor scan. By pod set: resource -> index of the last flavor tried; -1: at
/// the end.
using Position = std::vector<std::map<int, int>>;

/// A remembered flavor scan (rule A20).
struct Scan {
  Position tried;
  std::vector<Position> before;  // its positions since it last began with the first flavors
  int cycle = 0, generation = 0;
};

struct Queue : Place {
  std::vector<Group> groups;
  bool strict = false;
  bool stops_at_borrow = true;         // whenCanBorrow: MayStopSearch
  bool stops_at_preempt = false;       // whenCanPreempt: MayStopSearch
  bool preempt_before_borrow = false;  // preference: PreemptionOverBorrowing
  EvictPolicy within = EvictPolicy::kNever, reclaim = EvictPolicy::kNever;
  bool borrow_while_preempting = false;  // borrowWithinCohort: LowerPriority
  std::optional<int> threshold;          // its maxPriorityThreshold

  // State (rules A13 to A15). Workloads by index.
  std::set<int> active, parked;
  std::set<std::string> parked_hashes;
  int sticky = -1;     // the remembered preemptor
  int generation = 0;  // grows with every removal of usage
};

struct Pods {
  int count = 1;
  std::optional<int> min_count;
  std::map<int, Amount> requests;  // of one pod, by resource
  std::map<std::string, std::string> selector;
  std::set<std::string> tolerates;
};

/// Quota that a workload holds.
struct Holding {
  std::vector<int> counts;                  // by pod set
  std::vector<std::map<int, int>> flavors;  // by pod set: resource -> flavor
  int reserved_at = 0;
  bool operator==(const Holding&) const = default;
};

struct Workload {
  std::string name;  // names sort as indices do
  int queue = 0;
  int priority = 0;
  int created = 0;
  bool gated = false;  // a preemption gate is closed
  std::vector<Pods> pods;

  // State: waiting (neither holding nor done), holding, holding and evicting, done.
  std::optional<Holding> holding;
  bool evicting = false;
  bool done = false;
  std::optional<Scan> scan;
};

enum class Strategy { kFinalShare, kInitialShare };

struct Settings {
  bool fair = false;
  std::vector<Strategy> strategies = {Strategy::kFinalShare, Strategy::kInitialShare};
  bool preempt_within_nominal = true;
  bool prioritize_non_borrowing = true;
  bool recompute_on_overlap = true;
  bool hashing = true;
  bool partial_admission = true;
};

struct World {
  std::vector<std::string> resources;
  std::vector<Flavor> flavors;
  std::vector<Place> cohorts;
  std::vector<Queue> queues;
  std::vector<Workload> workloads;
  Settings settings;
  int clock = 1000;  // seconds; a reservation is made at this time
  int cycle = 0;     // cycles run so far

  int Pairs() const { return static_cast<int>(flavors.size() * resources.size()); }
  int Pair(int flavor, int resource) const {
    return flavor * static_cast<int>(resources.size()) + resource;
  }
};

}  // namespace muster::oracle
