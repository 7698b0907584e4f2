// Reads command lines and variables by the tables.
#include "clients/steps/option_table.h"

#include <getopt.h>
#include <strings.h>

#include <cstdlib>
#include <cstring>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr int kLongOptionBase = 1024;

const char* NameOf(Tool tool) { return tool == Tool::kSrun ? "srun" : "salloc"; }

OptionUse UseOf(const OptionRow& row, Tool tool) {
  return tool == Tool::kSrun ? row.srun : row.salloc;
}

// The tables as getopt_long takes them.
struct GetoptTables {
  std::vector<::option> longs;
  std::string letters = "+";
};

GetoptTables TablesOf(Tool tool) {
  GetoptTables out;
  const std::vector<OptionRow>& rows = OptionRows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const OptionRow& row = rows[i];
    if (UseOf(row, tool) == OptionUse::kAbsent) continue;
    out.longs.push_back({row.name, row.argument, nullptr, kLongOptionBase + static_cast<int>(i)});
    if (row.letter == 0) continue;
    out.letters += row.letter;
    out.letters.append(static_cast<std::size_t>(row.argument), ':');
  }
  out.longs.push_back({nullptr, 0, nullptr, 0});
  return out;
}

const OptionRow* RowOfLetter(int letter, Tool tool) {
  for (const OptionRow& row : OptionRows()) {
    if (row.letter == letter && UseOf(row, tool) != OptionUse::kAbsent) return &row;
  }
  return nullptr;
}

const OptionRow* RowOfName(std::string_view name, Tool tool) {
  for (const OptionRow& row : OptionRows()) {
    if (name == row.name && UseOf(row, tool) != OptionUse::kAbsent) return &row;
  }
  return nullptr;
}

// Some options have two names; one is used from here on.
std::string MainName(const char* name) {
  const std::string_view text = name;
  if (text == "tasks") return "ntasks";
  if (text == "tasks-per-node") return "ntasks-per-node";
  if (text == "cluster") return "clusters";
  if (text == "share") return "oversubscribe";
  return name;
}

bool SaysNo(std::string_view value) {
  const std::string text(value);
  for (const char* no : {"0", "no", "false", "n", "f"}) {
    if (::strcasecmp(no, text.c_str()) == 0) return true;
  }
  return false;
}

OptionRefusal Invalid(const OptionRow& row) {
  return {std::string("Invalid --") + row.name + " specification", 255};
}

bool IsOneOf(std::string_view name, std::initializer_list<const char*> names) {
  for (const char* one : names) {
    if (name == one) return true;
  }
  return false;
}

// Values whose form is wrong are refused at once, wherever they come from.
std::optional<OptionRefusal> CheckValue(const OptionRow& row, const std::string& value) {
  const std::string name = MainName(row.name);
  if (IsOneOf(name, {"ntasks", "cpus-per-task", "ntasks-per-node", "cpus-per-gpu",
                     "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-socket"})) {
    const auto number = WholeNumber(value);
    if (!number || *number < 1 || *number > 1'000'000)
      return OptionRefusal{"Invalid numeric value \"" + value + "\" for --" + name + ".", 1};
  }
  if (IsOneOf(name, {"relative", "wait"}) && (!WholeNumber(value) || value.size() > 9))
    return OptionRefusal{"Invalid numeric value \"" + value + "\" for --" + name + ".", 1};
  if (IsOneOf(name, {"time", "time-min"}) && !TimeLimitSeconds(value)) return Invalid(row);
  if (IsOneOf(name, {"mem", "mem-per-cpu", "mem-per-gpu"}) && !MemoryMegabytes(value))
    return Invalid(row);
  if (name == "nodes") {
    const auto dash = value.find('-');
    const auto least = WholeNumber(std::string_view(value).substr(0, dash));
    const auto most =
        dash == std::string::npos ? least : WholeNumber(std::string_view(value).substr(dash + 1));
    if (!least || !most || *least < 1 || *most < *least || *most > 100'000)
      return OptionRefusal{"\"" + value + "\" is not a valid node count", 255};
  }
  if (name == "propagate") {
    for (const std::string& limit : SplitCommas(value)) {
      if (!IsOneOf(limit, {"ALL", "NONE", "AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK",
                           "NOFILE", "NPROC", "RSS", "STACK"}))
        return OptionRefusal{"--propagate=" + value + " is not valid.", 1};
    }
  }
  if (name == "exclude" && !ExpandHosts(value)) return Invalid(row);
  if (name == "open-mode" && !IsOneOf(value, {"a", "append", "t", "truncate"})) return Invalid(row);
  return std::nullopt;
}

std::optional<OptionRefusal> Apply(const OptionRow& row, Tool tool, const char* argument,
                                   const char* shown, bool given, OptionValues* out) {
  if (UseOf(row, tool) == OptionUse::kRefused) {
    return OptionRefusal{std::string(shown) + ": " + row.why, 1};
  }
  const std::string value = argument == nullptr ? "" : argument;
  if (argument != nullptr) {
    if (auto refusal = CheckValue(row, value)) return refusal;
  }
  const std::string name = MainName(row.name);
  out->values[name] = value;
  out->given[name] = given;
  return std::nullopt;
}

std::optional<OptionRefusal> ReadVariables(Tool tool, bool inside, OptionValues* out) {
  for (const InputRow& input : InputRows(tool)) {
    const char* value = std::getenv(input.name);
    if (value == nullptr || input.use == InputUse::kWithoutEffect || input.option[0] == 0) continue;
    if (inside && input.use == InputUse::kOutside) continue;
    const OptionRow* row = RowOfName(input.option, tool);
    if (row == nullptr || (value[0] == 0 && row->argument == 1)) continue;
    if (row->argument == 0 && SaysNo(value)) continue;
    const char* argument = row->argument == 0 ? nullptr : value;
    if (auto refusal = Apply(*row, tool, argument, input.name, false, out)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

std::optional<OptionRefusal> ReadOptions(Tool tool, int argc, char** argv, bool inside,
                                         OptionValues* out) {
  if (auto refusal = ReadVariables(tool, inside, out)) return refusal;
  const GetoptTables tables = TablesOf(tool);
  // getopt_long begins its messages with this word.
  std::vector<char*> words(argv, argv + argc);
  std::string name = NameOf(tool);
  words[0] = name.data();
  words.push_back(nullptr);
  ::optind = 0;
  while (true) {
    const int got =
        ::getopt_long(argc, words.data(), tables.letters.c_str(), tables.longs.data(), nullptr);
    if (got == -1) break;
    if (got == '?') return OptionRefusal{"", 255};
    const OptionRow* row = got >= kLongOptionBase
                               ? &OptionRows()[static_cast<std::size_t>(got - kLongOptionBase)]
                               : RowOfLetter(got, tool);
    if (row == nullptr) return OptionRefusal{"", 1};
    const std::string shown = std::string("--") + row->name;
    const char* argument = row->argument == 0 ? nullptr : ::optarg;
    if (auto refusal = Apply(*row, tool, argument, shown.c_str(), true, out)) return refusal;
  }
  for (auto i = static_cast<std::size_t>(::optind); i + 1 < words.size(); ++i)
    out->command.emplace_back(words[i]);
  return std::nullopt;
}

std::string OptionHelp(Tool tool) {
  std::string out = std::string("Usage: ") + NameOf(tool) + " [OPTIONS...] " +
                    (tool == Tool::kSrun ? "executable [args...]" : "[command [args...]]") + "\n\n";
  for (const OptionRow& row : OptionRows()) {
    const OptionUse use = UseOf(row, tool);
    if (use == OptionUse::kAbsent || use == OptionUse::kRefused) continue;
    out += row.letter != 0 ? std::string("  -") + row.letter + ", --" : std::string("      --");
    out += row.name;
    out += row.argument == 1 ? "=value" : row.argument == 2 ? "[=value]" : "";
    out += '\n';
  }
  return out + "\nThe options mean what Slurm's manual page of " + NameOf(tool) + " says.\n";
}

}  // namespace muster::steps
