// The fields of sinfo: one table of letters, long names, headers and cells (rule B26).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/slurm/fleet_view.h"

namespace muster::slurm {

/// One line of the table: a partition with those of its nodes that look alike. `nodes` is empty for
/// a partition without a matching node.
struct FleetLine {
  const PartitionInfo* partition = nullptr;
  std::vector<const NodeInfo*> nodes;
  std::string default_ns;
};

std::optional<std::size_t> SinfoFieldByLetter(char letter);
std::optional<std::size_t> SinfoFieldByName(std::string_view name);
std::size_t SinfoFieldCount();
std::string_view SinfoHeader(std::size_t field);
/// True if nodes with different values stand on different lines.
bool TellsNodesApart(std::size_t field);
std::string SinfoCell(std::size_t field, const FleetLine& line);
/// Compares two lines by a field: numbers as such.
int CompareLines(std::size_t field, const FleetLine& a, const FleetLine& b);

/// "infinite", "1:00:00" or "2-00:00:00": a partition's limit as sinfo shows it.
std::string PartitionLimit(std::int64_t seconds);

}  // namespace muster::slurm
