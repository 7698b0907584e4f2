// The table of controllers, and helpers that several of them share. Names of pods are derived from
// a hash, not from chance, so that a repeated step wishes for the same pods.
#include "backends/local/controllers/controller.h"

#include <algorithm>
#include <array>

namespace muster::local {

const Controller* FindController(const std::string& api_version, const std::string& kind) {
  static constexpr std::array<const Controller*, 6> kAll = {
      &kJobController,        &kJobSetController,     &kRayJobController,
      &kRayClusterController, &kPyTorchJobController, &kLeaderWorkerSetController};
  for (const Controller* one : kAll) {
    if (api_version == one->api_version && kind == one->kind) return one;
  }
  return nullptr;
}

std::string NameSuffix(const std::string& owner, std::int32_t index, std::int32_t ordinal) {
  // Kubernetes' alphabet for names: no vowels, so no words.
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  const std::string text = owner + "/" + std::to_string(index) + "/" + std::to_string(ordinal);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 29;
  std::string suffix;
  for (int i = 0; i < 5; ++i, hash /= kAlphabet.size())
    suffix += kAlphabet[hash % kAlphabet.size()];
  return suffix;
}

std::string UniqueId(const std::vector<PodRecord>& pods, const std::string& name) {
  int earlier = 0;
  for (const PodRecord& pod : pods) earlier += pod.identity.name == name;
  return earlier == 0 ? name : name + "." + std::to_string(earlier + 1);
}

std::vector<const PodRecord*> PodsOf(const std::vector<PodRecord>& pods, const std::string& owner,
                                     std::int32_t epoch) {
  std::vector<const PodRecord*> found;
  for (const PodRecord& pod : pods) {
    if (pod.identity.owner == owner && pod.identity.epoch == epoch) found.push_back(&pod);
  }
  return found;
}

void StopLive(const std::vector<const PodRecord*>& pods, std::vector<std::string>* stop) {
  for (const PodRecord* pod : pods) {
    if (pod->live() && !pod->stopping) stop->push_back(pod->identity.id);
  }
}

std::int64_t BackoffUs(std::int64_t first_us, std::int32_t doublings, std::int64_t most_us) {
  const std::int64_t factor = std::int64_t{1} << std::clamp(doublings, 0, 40);
  return std::min(most_us, SaturatingMul(first_us, factor));
}

WallTime Earlier(WallTime a, WallTime b) {
  if (!a.set()) return b;
  if (!b.set()) return a;
  return a < b ? a : b;
}

void AddRendezvous(int port, PodWish* wish) {
  wish->environment.emplace_back("MASTER_ADDR", "127.0.0.1");
  wish->environment.emplace_back("MASTER_PORT", std::to_string(port));
}

}  // namespace muster::local
