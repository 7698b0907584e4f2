#include "schedd/core/cycle/cycle_cache.h"

#include "schedd/core/cycle/cycle_entry.h"

namespace muster::core {

CycleCache::CycleCache() : known_(std::make_unique<Known>()) {}
CycleCache::~CycleCache() = default;
CycleCache::CycleCache(CycleCache&&) noexcept = default;
CycleCache& CycleCache::operator=(CycleCache&&) noexcept = default;

void CycleCache::Known::Begin(const Snapshot& snapshot) {
  constexpr std::size_t kClasses = 8192;  // about 2 KB each
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

KnownQueue& CycleCache::Known::Of(const std::string& cluster_queue) {
  const auto [entry, fresh] = queues.try_emplace(cluster_queue);
  KnownQueue& queue = entry->second;
  if (!fresh) return queue;
  queue.gate = QueueGate(*config, *settings, *tree, cluster_queue);
  queue.node = tree->ClusterQueueIndex(cluster_queue);
  const auto spec = config->cluster_queues.find(cluster_queue);
  if (spec != config->cluster_queues.end()) queue.spec = &spec->second;
  return queue;
}

}  // namespace muster::core
