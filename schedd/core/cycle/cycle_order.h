// The order in which a cycle processes its entries (rules A21, A22): one sorted list or, with fair
// sharing, a tournament over the cohort tree that is held anew after each entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedd/core/quota/fair_share.h"
#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/admission_settings.h"

namespace muster::core {

/// The values of an entry that decide its place.
struct EntryRank {
  bool holds_quota = false;  // it is a second pass
  bool preemptor = false;    // its victims are being stopped
  std::int32_t tier = 1;     // of its partition (rule B29)
  std::int32_t level = 0;    // borrowing level
  std::int64_t priority = 0;
  WallTime queue_time;
  std::int64_t sequence = 0;  // accept_seq: earlier acceptance first
  std::int64_t id = 0;
};

/// The classical order (rule A21); total.
bool ClassicalBefore(const EntryRank& a, const EntryRank& b, const AdmissionSettings& settings);

/// The tournament of fair sharing (KEP-1714, rule A22). Entries are indices; each ClusterQueue has
/// one.
class FairTournament {
 public:
  struct Entrant {
    std::size_t entry = 0;
    NodeIndex queue = -1;
    const EntryRank* rank = nullptr;
    std::span<const Charge> adds;  // what the entry would add to its queue
  };
  /// All arguments must outlive it; `usage` is changed and restored while shares are computed.
  FairTournament(const AdmissionSettings& settings, Usage* usage, std::vector<Entrant> entrants);

  bool empty() const { return left_ == 0; }
  /// The entry to process next. Not to be called if empty. Before the next call `usage` may change
  /// at this entry's queue and above it.
  std::size_t Next();

 private:
  /// One node with an entrant's usage added.
  struct NodeShare {
    Share share;
    bool borrowing = false;  // the node borrows a pair that the entrant asks for
  };
  /// For each node from the entrant's queue up to just below the root.
  using NodeShares = std::vector<std::pair<NodeIndex, NodeShare>>;

  void Look(std::size_t entrant);
  NodeIndex BelowRoot(NodeIndex queue) const;
  std::ptrdiff_t Winner(NodeIndex cohort) const;
  bool Better(std::size_t a, NodeIndex at_a, std::size_t b, NodeIndex at_b) const;
  const NodeShare& At(std::size_t entrant, NodeIndex node) const;

  const AdmissionSettings& settings_;
  Usage* usage_;
  std::vector<Entrant> entrants_;
  std::vector<NodeShares> standings_;     // by entrant
  std::vector<std::ptrdiff_t> of_queue_;  // by node: its entrant; -1: none, or taken
  std::vector<std::int32_t> left_below_;  // by node: the number of entrants left in its subtree
  std::vector<bool> looked_;              // by entrant: its standings_ are up to date
  std::size_t left_ = 0;
  NodeIndex next_queue_ = 0;
};

}  // namespace muster::core
