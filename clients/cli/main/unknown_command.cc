#include "clients/cli/main/unknown_command.h"

namespace muster::cli {

std::string UnknownCommand(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  if (last->get_require_subcommand_min() == 0) return "";
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("-")) return last == &app ? word : last->get_name() + " " + word;
  }
  return "";
}

}  // namespace muster::cli
