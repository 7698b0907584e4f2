// Names a command that `muster` does not have; the parser only says that a subcommand is required.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// After a failed parse: the word that stands where a command was expected, behind the command it
/// follows ("cluster frobnicate"); "" if nothing stands there.
std::string UnknownCommand(const CLI::App& app);

}  // namespace muster::cli
