// CycleCache: facts that follow from the configuration alone. A class is compiled once and lives
// until the configuration changes, so in a steady state a cycle compiles nothing. The number of
// classes is bounded by emptying the whole cache, which costs one slower cycle.
#include "schedd/core/cycle/cycle_cache.h"

#include "schedd/core/cycle/cycle_entry.h"

namespace muster::core {

CycleCache::CycleCache() : known_(std::make_unique<Contents>()) {}
CycleCache::~CycleCache() = default;
CycleCache::CycleCache(CycleCache&&) noexcept = default;
CycleCache& CycleCache::operator=(CycleCache&&) noexcept = default;

// Configuration, settings and tree are immutable and shared, so equal pointers mean equal contents.
void CycleCache::Contents::Begin(const Snapshot& snapshot) {
  // A class takes about 2 KB.
  constexpr std::size_t kClasses = 8192;
  const bool same = config == snapshot.config && settings == snapshot.settings &&
                    tree == snapshot.usage.tree_ptr();
  if (!same || classes > kClasses) {
    queues.clear();
    classes = 0;
    config = snapshot.config;
    settings = snapshot.settings;
    tree = snapshot.usage.tree_ptr();
  }
  ++cycle;
}

CachedQueue& CycleCache::Contents::Of(const std::string& cluster_queue) {
  const auto [entry, fresh] = queues.try_emplace(cluster_queue);
  CachedQueue& queue = entry->second;
  if (!fresh) return queue;
  queue.gate = QueueGate(*config, *settings, *tree, cluster_queue);
  queue.node = tree->ClusterQueueIndex(cluster_queue);
  const auto spec = config->cluster_queues.find(cluster_queue);
  if (spec != config->cluster_queues.end()) queue.spec = &spec->second;
  return queue;
}

}  // namespace muster::core
