// How tasks are spread over nodes.
#include "clients/steps/layout.h"

#include <algorithm>

namespace muster::steps {
namespace {

// How many tasks each node gets: one more for each in turn while it has room; when no node has
// room any more, one more for each regardless.
std::vector<std::int32_t> Counts(std::int32_t tasks, const std::vector<std::int32_t>& room) {
  std::vector<std::int32_t> counts(room.size(), 0);
  bool over = false;
  for (std::int32_t given = 0; given < tasks;) {
    bool took = false;
    for (std::size_t i = 0; i < room.size() && given < tasks; ++i) {
      if (!over && counts[i] >= room[i]) continue;
      ++counts[i];
      ++given;
      took = true;
    }
    if (!took) over = true;
  }
  return counts;
}

}  // namespace

std::vector<std::int32_t> LayOut(std::int32_t tasks, const std::vector<std::int32_t>& room,
                                 Distribution distribution, std::int32_t plane) {
  std::vector<std::int32_t> out;
  if (room.empty()) return out;
  const auto nodes = static_cast<std::int32_t>(room.size());
  if (distribution == Distribution::kPlane) {
    for (std::int32_t i = 0; i < tasks; ++i) out.push_back(i / std::max(plane, 1) % nodes);
    return out;
  }
  std::vector<std::int32_t> counts = Counts(tasks, room);
  if (distribution != Distribution::kCyclic) {
    for (std::int32_t node = 0; node < nodes; ++node) {
      out.insert(out.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(node)]), node);
    }
    return out;
  }
  while (static_cast<std::int32_t>(out.size()) < tasks) {
    for (std::int32_t node = 0; node < nodes; ++node) {
      if (counts[static_cast<std::size_t>(node)]-- > 0) out.push_back(node);
    }
  }
  return out;
}

std::vector<std::vector<std::int32_t>> TasksByNode(const std::vector<std::int32_t>& node_of_task,
                                                   std::size_t nodes, std::int32_t first_task) {
  std::vector<std::vector<std::int32_t>> out(nodes);
  for (std::size_t i = 0; i < node_of_task.size(); ++i) {
    out[static_cast<std::size_t>(node_of_task[i])].push_back(first_task +
                                                             static_cast<std::int32_t>(i));
  }
  return out;
}

}  // namespace muster::steps
