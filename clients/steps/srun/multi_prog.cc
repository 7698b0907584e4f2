// Lines of ranks, a program and its arguments.
#include "clients/steps/srun/multi_prog.h"

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// %t is the task's number, %o its place in the line's list of ranks.
std::string Filled(const std::string& word, std::int32_t task, std::size_t offset) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : 0;
    if (next == 't') {
      out += std::to_string(task);
    } else if (next == 'o') {
      out += std::to_string(offset);
    } else {
      out += word[i];
      continue;
    }
    ++i;
  }
  return out;
}

}  // namespace

std::string ReadMultiProg(const std::string& text, std::int32_t tasks,
                          const std::vector<std::string>& extra,
                          std::vector<std::vector<std::string>>* out) {
  out->assign(static_cast<std::size_t>(tasks), {});
  std::string line;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    line += text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\\') {  // goes on in the next line
      line.pop_back();
      continue;
    }
    const std::vector<std::string> words =
        line.empty() || line[0] == '#' ? std::vector<std::string>{} : SplitWords(line);
    line.clear();
    if (words.empty()) continue;
    if (words.size() < 2) return "line " + std::to_string(number) + ": no program";
    std::vector<std::int32_t> ranks;
    if (words[0] == "*") {
      for (std::int32_t i = 0; i < tasks; ++i) {
        if ((*out)[static_cast<std::size_t>(i)].empty()) ranks.push_back(i);
      }
    } else if (const auto given = ExpandNumbers(words[0], 1'000'000)) {
      ranks = *given;
    } else {
      return "line " + std::to_string(number) + ": bad task ranks " + words[0];
    }
    for (std::size_t offset = 0; offset < ranks.size(); ++offset) {
      if (ranks[offset] >= tasks) continue;
      std::vector<std::string>& arguments = (*out)[static_cast<std::size_t>(ranks[offset])];
      arguments.clear();
      for (std::size_t i = 1; i < words.size(); ++i)
        arguments.push_back(Filled(words[i], ranks[offset], offset));
      arguments.insert(arguments.end(), extra.begin(), extra.end());
    }
  }
  for (const auto& arguments : *out) {
    if (arguments.empty()) return "No executable program specified for this task";
  }
  return "";
}

}  // namespace muster::steps
