// The configuration file of --multi-prog: which task runs which program. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::steps {

/// The arguments of each of `tasks` tasks, the program first; `extra` are the words of the command
/// line behind the file. "" or what is wrong.
std::string ReadMultiProg(const std::string& text, std::int32_t tasks,
                          const std::vector<std::string>& extra,
                          std::vector<std::vector<std::string>>* out);

}  // namespace muster::steps
