// Which task of a step runs on which node. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/steps/messages.h"

namespace muster::steps {

/// Gives each of `tasks` tasks a node: the result has the node's index for each task. `room` says
/// how many tasks each node holds without sharing CPUs. Every node gets a task first; what is over
/// the room of all goes round. With `block` the tasks of a node have numbers in a row, with
/// `cyclic` they go round, with `plane` blocks of `plane` go round.
std::vector<std::int32_t> LayOut(std::int32_t tasks, const std::vector<std::int32_t>& room,
                                 Distribution distribution, std::int32_t plane);

/// The tasks of each node, by the result of LayOut or another list of nodes.
std::vector<std::vector<std::int32_t>> TasksByNode(const std::vector<std::int32_t>& node_of_task,
                                                   std::size_t nodes, std::int32_t first_task);

}  // namespace muster::steps
