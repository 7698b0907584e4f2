// The words are read as getopt_long(3) reads a command line: --name=value, --name value,
// unambiguous prefixes of a name, -x value, -xvalue, and several flags in one word (-HQ). kOptions
// says for each option which field of the REST form it sets and how; sbatch_refused.h has the
// options that Slurm has and this version has not.
#include "schedd/shapes/batch/sbatch_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "schedd/base/names.h"
#include "schedd/shapes/batch/sbatch_refused.h"

namespace muster::shapes {
namespace {

enum class Argument { kNone, kRequired };
enum class Meaning {
  kText,      // sets the field to the text as written
  kNumber,    // sets the field to a number
  kTrue,      // a flag that sets the field to true
  kFalse,     // a flag that sets the field to false
  kGpusNode,  // --gpus-per-node=2 is --gres=gpu:2
  kExport,    // --export
  kMailType,  // --mail-type: only NONE is accepted
  kNoEffect,  // concerns the submitting command only, or is a hint that Slurm may ignore too
};

struct Option {
  std::string_view name;
  char letter;
  Argument argument;
  Meaning meaning;
  std::string_view field;
};

// Name, letter (0: none), argument, meaning and the field that it sets.
constexpr Option kOptions[] = {
    {"job-name", 'J', Argument::kRequired, Meaning::kText, "name"},
    {"time", 't', Argument::kRequired, Meaning::kText, "timeLimit"},
    {"nodes", 'N', Argument::kRequired, Meaning::kText, "nodes"},
    {"output", 'o', Argument::kRequired, Meaning::kText, "output"},
    {"error", 'e', Argument::kRequired, Meaning::kText, "error"},
    {"input", 'i', Argument::kRequired, Meaning::kText, "input"},
    {"cpus-per-task", 'c', Argument::kRequired, Meaning::kNumber, "cpusPerTask"},
    {"partition", 'p', Argument::kRequired, Meaning::kText, "queue"},
    {"ntasks-per-node", 0, Argument::kRequired, Meaning::kNumber, "tasksPerNode"},
    {"tasks-per-node", 0, Argument::kRequired, Meaning::kNumber, "tasksPerNode"},
    {"account", 'A', Argument::kRequired, Meaning::kText, "account"},
    {"clusters", 'M', Argument::kRequired, Meaning::kText, "cluster"},
    {"cluster", 0, Argument::kRequired, Meaning::kText, "cluster"},
    {"mem", 0, Argument::kRequired, Meaning::kText, "memoryPerNode"},
    {"mem-per-cpu", 0, Argument::kRequired, Meaning::kText, "memoryPerCpu"},
    {"gres", 0, Argument::kRequired, Meaning::kText, "gres"},
    {"ntasks", 'n', Argument::kRequired, Meaning::kNumber, "tasks"},
    {"tasks", 0, Argument::kRequired, Meaning::kNumber, "tasks"},
    {"qos", 'q', Argument::kRequired, Meaning::kText, "priorityClass"},
    {"gpus-per-node", 0, Argument::kRequired, Meaning::kGpusNode, "gres"},
    {"gpus-per-task", 0, Argument::kRequired, Meaning::kText, "gpusPerTask"},
    {"gpus", 'G', Argument::kRequired, Meaning::kText, "gpus"},
    {"array", 'a', Argument::kRequired, Meaning::kText, "array"},
    {"export", 0, Argument::kRequired, Meaning::kExport, "environment"},
    {"requeue", 0, Argument::kNone, Meaning::kTrue, "requeue"},
    {"no-requeue", 0, Argument::kNone, Meaning::kFalse, "requeue"},
    {"open-mode", 0, Argument::kRequired, Meaning::kText, "openMode"},
    {"chdir", 'D', Argument::kRequired, Meaning::kText, "workDir"},
    {"workdir", 0, Argument::kRequired, Meaning::kText, "workDir"},
    {"hold", 'H', Argument::kNone, Meaning::kTrue, "hold"},
    {"comment", 0, Argument::kRequired, Meaning::kText, "comment"},
    {"mail-type", 0, Argument::kRequired, Meaning::kMailType, ""},
    {"mail-user", 0, Argument::kRequired, Meaning::kNoEffect, ""},
    {"hint", 0, Argument::kRequired, Meaning::kNoEffect, ""},
    {"wait", 'W', Argument::kNone, Meaning::kNoEffect, ""},
    {"parsable", 0, Argument::kNone, Meaning::kNoEffect, ""},
    {"quiet", 'Q', Argument::kNone, Meaning::kNoEffect, ""},
    {"verbose", 'v', Argument::kNone, Meaning::kNoEffect, ""},
    {"ignore-pbs", 0, Argument::kNone, Meaning::kNoEffect, ""},
};

Error Wrong(std::string message) { return InvalidField("script", message); }
Error Invalid(std::string_view option) {
  return Wrong("Invalid --" + std::string(option) + " specification");
}

// A supported option or a refused one; exactly one pointer is set.
struct Match {
  const Option* option = nullptr;
  const RefusedSbatchOption* refused = nullptr;
};

// getopt_long's rule: an exact name, or a prefix of exactly one name. Names of one meaning
// (aliases) count once.
Result<Match> FindLong(std::string_view name) {
  Match match;
  int found = 0;
  for (const auto& option : kOptions) {
    if (option.name == name) return Match{&option, nullptr};
    if (!option.name.starts_with(name)) continue;
    if (match.option != nullptr && match.option->meaning == option.meaning &&
        match.option->field == option.field)
      continue;
    match = {&option, nullptr};
    ++found;
  }
  for (const auto& refused : RefusedSbatchOptions()) {
    if (refused.name == name) return Match{nullptr, &refused};
    if (!refused.name.starts_with(name)) continue;
    match = {nullptr, &refused};
    ++found;
  }
  const std::string shown = "'--" + std::string(name.substr(0, 64)) + "'";
  if (found == 0) return Wrong("unrecognized option " + shown);
  if (found > 1) return Wrong("option " + shown + " is ambiguous");
  return match;
}

// A letter names exactly one option.
Result<Match> FindShort(char letter) {
  for (const auto& option : kOptions) {
    if (option.letter == letter) return Match{&option, nullptr};
  }
  for (const auto& refused : RefusedSbatchOptions()) {
    if (refused.letter == letter) return Match{nullptr, &refused};
  }
  return Wrong("invalid option -- '" + std::string(1, letter) + "'");
}

// Takes VAR=x out of --export. ALL, NONE, NIL and plain names refer to the environment of the
// submitting command, which the server does not know; that command has added those variables
// itself.
void SetExport(std::string_view list, json::object* fields) {
  json::object environment;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos && equals > 0)
      environment[item.substr(0, equals)] = item.substr(equals + 1);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  if (!environment.empty()) (*fields)["environment"] = std::move(environment);
}

// Sets the field of one option.
Status Set(const Option& option, std::string_view value, json::object* fields) {
  switch (option.meaning) {
    case Meaning::kText:
      (*fields)[option.field] = value;
      break;
    case Meaning::kNumber: {
      std::int64_t number = 0;
      const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (ec != std::errc() || end != value.data() + value.size()) return Invalid(option.name);
      (*fields)[option.field] = number;
      break;
    }
    case Meaning::kTrue:
      (*fields)[option.field] = true;
      break;
    case Meaning::kFalse:
      (*fields)[option.field] = false;
      break;
    case Meaning::kGpusNode:
      (*fields)[option.field] = "gpu:" + std::string(value);
      break;
    case Meaning::kExport:
      SetExport(value, fields);
      break;
    case Meaning::kMailType:
      if (value != "NONE" && value != "none") {
        return Wrong(
            "--mail-type: this version sends no mail; use --mail-type=NONE or leave it out");
      }
      break;
    case Meaning::kNoEffect:
      break;
  }
  return Done{};
}

// Walks the words as getopt_long would.
class Walker {
 public:
  explicit Walker(const std::vector<std::string>& words) : words_(words) {}

  // The first word that is neither an option nor a value of one is an invalid directive.
  Result<json::object> Walk() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word.size() > 2 && word.starts_with("--")) {
        if (auto status = Long(std::string_view(word).substr(2)); !status.ok())
          return status.error();
      } else if (word.size() > 1 && word[0] == '-' && word != "--") {
        if (auto status = Short(std::string_view(word).substr(1)); !status.ok())
          return status.error();
      } else if (word == "hetjob" || word == "packjob") {
        return Wrong("heterogeneous jobs are not supported by this version");
      } else {
        return Wrong("Invalid directive found in batch script: " + word.substr(0, 128));
      }
    }
    return std::move(fields_);
  }

 private:
  static Error Refused(const RefusedSbatchOption& option) {
    return Wrong("--" + std::string(option.name) + ": " + std::string(option.sentence));
  }

  // A word that began with "--".
  Status Long(std::string_view text) {
    const std::size_t equals = text.find('=');
    auto match = FindLong(text.substr(0, equals));
    if (!match.ok()) return match.error();
    if (match->refused != nullptr) return Refused(*match->refused);
    const Option& option = *match->option;
    const std::string name = "'--" + std::string(option.name) + "'";
    if (option.argument == Argument::kNone) {
      if (equals != std::string_view::npos)
        return Wrong("option " + name + " doesn't allow an argument");
      return Set(option, "", &fields_);
    }
    if (equals != std::string_view::npos) return Set(option, text.substr(equals + 1), &fields_);
    if (at_ + 1 >= words_.size()) return Wrong("option " + name + " requires an argument");
    return Set(option, words_[++at_], &fields_);
  }

  // A word that began with "-": flags, of which the last letter may be an option with its value.
  Status Short(std::string_view letters) {
    while (!letters.empty()) {
      const char letter = letters.front();
      letters.remove_prefix(1);
      auto match = FindShort(letter);
      if (!match.ok()) return match.error();
      if (match->refused != nullptr) return Refused(*match->refused);
      const Option& option = *match->option;
      if (option.argument == Argument::kNone) {
        if (auto status = Set(option, "", &fields_); !status.ok()) return status;
        continue;
      }
      if (!letters.empty()) return Set(option, letters, &fields_);
      if (at_ + 1 >= words_.size())
        return Wrong("option requires an argument -- '" + std::string(1, letter) + "'");
      return Set(option, words_[++at_], &fields_);
    }
    return Done{};
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  json::object fields_;
};

}  // namespace

Result<json::object> FieldsOfDirectives(const std::vector<std::string>& words) {
  return Walker(words).Walk();
}

}  // namespace muster::shapes
