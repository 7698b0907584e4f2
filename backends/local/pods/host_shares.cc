// A count of pods for each cpu and device; who asks gets those with the smallest counts, in the
// order of their numbers.
#include "backends/local/pods/host_shares.h"

#include <algorithm>
#include <utility>

namespace muster::local {
namespace {

std::vector<int> TakeLeastUsed(std::map<int, int>* uses, std::size_t count) {
  std::vector<std::pair<int, int>> order;  // use, number
  for (const auto& [number, used] : *uses) order.emplace_back(used, number);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<int> taken;
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(order[i].second);
    ++(*uses)[order[i].second];
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

void Count(std::map<int, int>* uses, const std::vector<int>& numbers, int change) {
  for (const int number : numbers) {
    const auto found = uses->find(number);
    if (found != uses->end()) found->second = std::max(0, found->second + change);
  }
}

}  // namespace

HostShares::HostShares(const std::vector<int>& cpus) {
  for (const int cpu : cpus) cpus_[cpu] = 0;
}

std::vector<int> HostShares::TakeCpus(int count) {
  if (count <= 0 || static_cast<std::size_t>(count) >= cpus_.size()) return {};
  return TakeLeastUsed(&cpus_, static_cast<std::size_t>(count));
}

std::vector<int> HostShares::TakeDevices(const std::string& member, int count, int total) {
  if (count <= 0) return {};
  std::map<int, int>& uses = devices_[member];
  for (int device = 0; device < total; ++device) uses.try_emplace(device, 0);
  return TakeLeastUsed(&uses, static_cast<std::size_t>(count));
}

void HostShares::Have(const std::string& member, const std::vector<int>& cpus,
                      const std::vector<int>& devices) {
  for (const int device : devices) devices_[member].try_emplace(device, 0);
  Count(&cpus_, cpus, 1);
  Count(&devices_[member], devices, 1);
}

void HostShares::GiveBack(const std::string& member, const std::vector<int>& cpus,
                          const std::vector<int>& devices) {
  Count(&cpus_, cpus, -1);
  Count(&devices_[member], devices, -1);
}

}  // namespace muster::local
