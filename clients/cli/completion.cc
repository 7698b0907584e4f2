// Generates completion scripts from the tree of commands.
//
// The bash script walks over the words before the cursor and keeps the longest prefix that is a
// command ("cluster add"); a `case` then gives the candidates of that command. zsh runs the same
// script through bashcompinit. fish has no such walk: each line is a `complete` command with the
// condition that a certain subcommand has been typed.
#include "clients/cli/completion.h"

namespace muster::cli {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Everything that may come next after a command: its subcommands, its fixed words and its options,
// and the inherited options.
std::vector<std::string> CandidatesOf(const CommandNode& node,
                                      const std::vector<std::string>& inherited) {
  std::vector<std::string> out;
  for (const CommandNode& command : node.commands) out.push_back(command.name);
  out.insert(out.end(), node.words.begin(), node.words.end());
  out.insert(out.end(), node.options.begin(), node.options.end());
  out.insert(out.end(), inherited.begin(), inherited.end());
  return out;
}

// One line "'PATH') candidates='...' ;;" for a command, and for all commands below it.
void AppendCases(const CommandNode& node, const std::string& path,
                 const std::vector<std::string>& inherited, std::string* out) {
  *out += "    '" + path + "') candidates='" + Join(CandidatesOf(node, inherited)) + "' ;;\n";
  for (const CommandNode& command : node.commands) {
    AppendCases(command, path.empty() ? command.name : path + " " + command.name, inherited, out);
  }
}

// The paths of all commands below `node`, separated by "|", as a pattern of `case`.
void AppendPaths(const CommandNode& node, const std::string& path, std::string* out) {
  for (const CommandNode& command : node.commands) {
    const std::string below = path.empty() ? command.name : path + " " + command.name;
    *out += (out->empty() ? "" : "|") + ("'" + below + "'");
    AppendPaths(command, below, out);
  }
}

// A script for bash, which zsh can run too.
std::string BashScript(const CommandNode& root) {
  std::string cases, paths;
  AppendCases(root, "", {}, &cases);
  AppendPaths(root, "", &paths);
  return "_muster() {\n"
         "  local candidates path='' word next i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n"
         "    next=${path:+$path }$word\n"
         "    case \"$next\" in " +
         paths +
         ") path=$next ;; esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$candidates\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _muster muster\n";
}

// In single quotes, as fish reads them: a quote inside is escaped by a backslash.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return out + "'";
}

void AppendFish(const CommandNode& node, const std::string& condition, std::string* out) {
  const std::string prefix = "complete -c muster -n " + Quoted(condition);
  for (const CommandNode& command : node.commands) {
    *out += prefix + " -f -a " + command.name + " -d " + Quoted(command.help) + "\n";
  }
  for (const std::string& word : node.words) *out += prefix + " -f -a " + word + "\n";
  for (const std::string& option : node.options) {
    const bool is_long = option.starts_with("--");
    *out += prefix + (is_long ? " -l " + option.substr(2) : " -s " + option.substr(1)) + "\n";
  }
  for (const CommandNode& command : node.commands)
    AppendFish(command, "__fish_seen_subcommand_from " + command.name, out);
}

}  // namespace

std::string CompletionScript(const CommandNode& root, const std::string& shell) {
  if (shell == "bash") return BashScript(root);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + BashScript(root);
  if (shell != "fish") return "";
  std::string out;
  AppendFish(root, "__fish_use_subcommand", &out);
  return out;
}

}  // namespace muster::cli
