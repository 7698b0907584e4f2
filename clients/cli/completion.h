// Shell completion, generated from the tree of commands and options that the parser uses.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

/// A command as the parser declares it.
struct CommandNode {
  std::string name, help;
  std::vector<std::string> options;  // "--wait", "-n"
  std::vector<std::string> words;    // fixed positional words, such as kinds
  std::vector<CommandNode> commands;
};

/// A script for bash, zsh or fish; "" for another shell.
std::string CompletionScript(const CommandNode& root, const std::string& shell);

}  // namespace muster::cli
