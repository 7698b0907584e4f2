// Directives are the lines that begin with #SBATCH (or #SLURM) before the first command of the
// script. Blank lines and other comments do not end them. The words of all lines form one list,
// because sbatch reads them like one command line.
#include "schedd/shapes/batch/batch_directives.h"

#include <optional>

#include "schedd/base/limits.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kDirective = "#SBATCH";
constexpr std::string_view kOldDirective = "#SLURM";

// What sbatch refuses before it reads directives, in its words.
std::optional<Error> CheckScript(std::string_view script) {
  const auto wrong = [](std::string message) { return InvalidField("script", message); };
  if (script.empty()) return wrong("Batch script is empty!");
  if (script.size() > limits::kScriptBytes) {
    return wrong("is longer than " + std::to_string(limits::kScriptBytes) + " bytes");
  }
  if (script.find('\0') != std::string_view::npos) return wrong("contains NUL characters");
  if (!script.starts_with("#!")) {
    return wrong(
        "does not look like a batch script: the first line must start with #! followed by the path "
        "to an "
        "interpreter, such as #!/bin/sh");
  }
  if (script.find("\r\n") != std::string_view::npos) {
    return wrong(
        "Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks "
        "(\\n)");
  }
  return std::nullopt;
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// Appends the words of one directive; false for an unmatched quote, which
// becomes `*open`, with its word and the blank before it as `*rest`. As in sbatch, a backslash
// escapes the next character inside quotes too, and an unquoted '#' ends the line even inside a
// word.
bool SplitWords(std::string_view line, std::vector<std::string>* words, char* open,
                std::string_view* rest) {
  std::size_t blank = 0;  // the last one before the word
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\') {
      if (++i < line.size()) word.push_back(line[i]);
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word.push_back(c);
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == '#') {
      break;
    } else if (IsBlank(c)) {
      blank = i;
      if (in_word) words->push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word.push_back(c);
      in_word = true;
    }
  }
  if (in_word) words->push_back(std::move(word));
  *open = quote;
  *rest = line.substr(blank);
  return quote == 0;
}

// True if the first character that is not blank does not begin a comment.
bool IsCommand(std::string_view line) {
  for (const char c : line) {
    if (IsBlank(c)) continue;
    return c != '#';
  }
  return false;
}

}  // namespace

// Line numbers count from 1, for the message about a quote.
Result<std::vector<std::string>> DirectiveWords(std::string_view script) {
  if (const auto error = CheckScript(script)) return *error;
  std::vector<std::string> words;
  for (int number = 1; !script.empty(); ++number) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    std::string_view rest, last;
    if (line.starts_with(kDirective)) {
      rest = line.substr(kDirective.size());
    } else if (line.starts_with(kOldDirective)) {
      rest = line.substr(kOldDirective.size());
    } else if (IsCommand(line)) {
      break;
    }
    char open = 0;
    if (!SplitWords(rest, &words, &open, &last)) {
      return InvalidField("script", "line " + std::to_string(number) + ": Unmatched `" +
                                        std::string(1, open) + "` in [" + std::string(last) + "]");
    }
  }
  return words;
}

}  // namespace muster::shapes
