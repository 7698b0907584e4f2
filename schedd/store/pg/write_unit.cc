#include "schedd/store/pg/write_unit.h"

namespace muster::pg {

void WriteUnit::Fail(const Error& error) {
  if (job != nullptr) {
    accepted = error;
  } else if (commit != nullptr) {
    committed = error;
  } else {
    noted = error;
  }
}

// The rows of a call stand before its jobs, and other calls begin with rows or plans of their own.
void FailUnnoted(std::span<WriteUnit> units, std::size_t begin) {
  const auto is_job = [](const WriteUnit& unit) { return unit.job != nullptr; };
  std::size_t rows = begin;
  while (rows > 0 && is_job(units[rows - 1])) --rows;
  if (rows == 0 || units[rows - 1].audit == nullptr || units[rows - 1].noted->ok()) return;
  for (; begin < units.size() && is_job(units[begin]); ++begin) {
    if (!units[begin].answered()) units[begin].Fail(units[rows - 1].noted->error());
  }
}

}  // namespace muster::pg
