// The order in which a cycle processes its entries (rules A21, A22): one sorted list, or with fair
// sharing a tournament over the cohort tree that is held anew after each entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedd/core/quota/fair_share.h"
#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/admission_settings.h"

namespace muster::core {

/// What the order looks at.
struct EntryRank {
  bool holds_quota = false;  // second pass
  bool preemptor = false;    // remembered by its queue as waiting for its victims
  std::int32_t level = 0;    // borrowing level
  std::int64_t priority = 0;
  WallTime queue_time;
  std::int64_t sequence = 0;  // breaks ties: accept_seq
  std::int64_t id = 0;        // and these
};

/// The classical order; total.
bool ClassicalBefore(const EntryRank& a, const EntryRank& b, const AdmissionSettings& settings);

/// The fair-sharing tournament (KEP-1714). Entries are indices; each ClusterQueue has one.
class FairTournament {
 public:
  struct Entrant {
    std::size_t entry = 0;
    NodeIndex queue = -1;
    const EntryRank* rank = nullptr;
    std::span<const Charge> adds;  // what it would add to its queue
  };
  /// All must outlive it; `usage` is changed and restored while shares are looked at.
  FairTournament(const AdmissionSettings& settings, Usage* usage, std::vector<Entrant> entrants);

  bool empty() const { return left_ == 0; }
  /// The entry to process next; not if empty. Before the next call `usage` may change at its queue
  /// and above.
  std::size_t Next();

 private:
  struct Standing {
    Share share;
    bool borrowing = false;  // on what it wants, at this node
  };
  // By node on the way from the entrant's queue to just below the root.
  using Standings = std::vector<std::pair<NodeIndex, Standing>>;

  void Look(std::size_t entrant);
  NodeIndex BelowRoot(NodeIndex queue) const;
  std::ptrdiff_t Winner(NodeIndex cohort) const;
  bool Better(std::size_t a, NodeIndex at_a, std::size_t b, NodeIndex at_b) const;
  const Standing& At(std::size_t entrant, NodeIndex node) const;

  const AdmissionSettings& settings_;
  Usage* usage_;
  std::vector<Entrant> entrants_;
  std::vector<Standings> standings_;      // by entrant
  std::vector<std::ptrdiff_t> of_queue_;  // entrant of each node; -1: none (any more)
  std::vector<std::int32_t> left_below_;  // entrants left in each node's subtree
  std::vector<bool> looked_;              // by entrant: its standings are those of now
  std::size_t left_ = 0;
  NodeIndex next_queue_ = 0;
};

}  // namespace muster::core
