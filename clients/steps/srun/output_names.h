// Names of files for -o, -e and -i: the patterns of srun's manual page. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace muster::steps {

struct NameFacts {
  std::string job = "0", array_job, array_task, user, job_name, host;
  std::int32_t step = 0, task = 0, node = 0;
};

/// True if tasks have files of their own by this pattern (%t, %n or %N).
bool NamesTasks(const std::string& pattern);
/// The pattern with its % letters replaced; "%4j" pads a number with zeros. A backslash at the
/// beginning takes it as it stands.
std::string ExpandName(const std::string& pattern, const NameFacts& facts);

}  // namespace muster::steps
