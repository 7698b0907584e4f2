#include "clients/slurm/many_calls.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace muster::slurm {
namespace {

// As many as one commit of the server takes along with little waiting; Slurm's scancel has ten.
constexpr std::size_t kConnections = 16;
// A connection is worth so many requests.
constexpr std::size_t kCallsEach = 4;

}  // namespace

void ForEachCall(client::ApiClient& api, std::size_t count,
                 const std::function<void(client::ApiClient& api, std::size_t i)>& work) {
  const std::size_t connections = std::min(kConnections, count / kCallsEach);
  if (connections < 2 || api.settings().source != nullptr) {
    for (std::size_t i = 0; i < count; ++i) work(api, i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < connections; ++thread) {
    threads.emplace_back([&] {
      client::ApiClient own(api.settings());
      for (std::size_t i = next++; i < count; i = next++) work(own, i);
    });
  }
}

}  // namespace muster::slurm
