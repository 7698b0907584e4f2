#include "schedd/doctor/report.h"

#include <algorithm>
#include <cstdio>

#include "schedd/text/json.h"

namespace muster::doctor {
namespace {

const char* StateOf(const Finding& finding) {
  if (finding.IsOff()) return "off";
  return finding.count > 0 ? "note" : "ok";
}

// Names and messages of the database reach a terminal: nothing in them may be a control sequence.
std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace

std::int64_t CountOff(const std::vector<Finding>& findings) {
  return std::count_if(findings.begin(), findings.end(),
                       [](const Finding& one) { return one.IsOff(); });
}

std::string ReportText(const std::vector<Finding>& findings) {
  std::string text;
  char line[128];
  std::snprintf(line, sizeof line, "%-20s %-10s %s\n", "CHECK", "INVARIANT", "STATE");
  text += line;
  for (const Finding& one : findings) {
    std::snprintf(line, sizeof line, "%-20s %-10s %s\n", one.check->name, one.check->invariant,
                  StateOf(one));
    text += line;
    if (!one.unasked.empty()) text += "  not asked: " + Printable(one.unasked) + "\n";
    for (const std::string& what : one.what) text += "  " + Printable(what) + "\n";
    const auto shown = static_cast<std::int64_t>(one.what.size());
    if (one.count > shown) text += "  and " + std::to_string(one.count - shown) + " more\n";
    if (one.count > 0) text += std::string("  mend: ") + one.check->mend + "\n";
  }
  const std::int64_t off = CountOff(findings);
  text += std::to_string(findings.size()) + " checks of the database, " +
          (off == 0 ? "nothing is off" : std::to_string(off) + " found something that is off") +
          "\n";
  return text;
}

std::string ReportJson(const std::vector<Finding>& findings) {
  json::array checks;
  for (const Finding& one : findings) {
    json::array what;
    for (const std::string& text : one.what) what.emplace_back(text);
    json::object check{{"name", one.check->name}, {"invariant", one.check->invariant},
                       {"state", StateOf(one)},   {"count", one.count},
                       {"what", std::move(what)}, {"mend", one.check->mend}};
    if (!one.unasked.empty()) check["unasked"] = one.unasked;
    checks.emplace_back(std::move(check));
  }
  return WriteJsonPretty(json::object{{"off", CountOff(findings)}, {"checks", std::move(checks)}}) +
         "\n";
}

}  // namespace muster::doctor
