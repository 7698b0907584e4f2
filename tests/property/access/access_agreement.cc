// Reads the lines of tests/kubebed/rbac_oracle and compares Kubernetes' answers with those of the
// AccessTable. Objects pass the readers of the API. Prints one figure; fails at the first line with
// a difference.
#include <iostream>
#include <string>

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

struct Figures {
  long sets = 0, questions = 0, allowed = 0, grants = 0, covered = 0;
};

std::vector<std::string> TextsOf(const json::value& value, const char* key) {
  std::vector<std::string> texts;
  for (const json::value& text : ArrayOrEmpty(value, key)) texts.emplace_back(text.as_string());
  return texts;
}

std::vector<PolicyRule> RulesIn(const json::value& value, const char* key) {
  std::vector<PolicyRule> rules;
  for (const json::value& rule : ArrayOrEmpty(value, key)) {
    rules.push_back({TextsOf(rule, "verbs"), TextsOf(rule, "apiGroups"), TextsOf(rule, "resources"),
                     TextsOf(rule, "resourceNames"), TextsOf(rule, "nonResourceURLs")});
  }
  return rules;
}

// "" if all objects of the line are read.
std::string ReadObjects(const json::value& line, ConfigView* config) {
  for (const json::value& document : ArrayOrEmpty(line, "objects")) {
    const auto parsed = shapes::ParseObject(document);
    if (!parsed.ok()) return parsed.error().detail + " in " + WriteJson(document);
    const Status put = shapes::ApplyTo(config, parsed->kind, parsed->manifest);
    if (!put.ok()) return put.error().detail + " in " + WriteJson(document);
  }
  return "";
}

// "" if our answers are Kubernetes'.
std::string CompareQuestions(const json::value& line, const AccessTable& table, Figures* figures) {
  for (const json::value& asked : ArrayOrEmpty(line, "questions")) {
    const std::vector<std::string> groups = TextsOf(asked, "groups");
    AccessQuestion question;
    question.user = ViewAt(asked, "user");
    question.groups = groups;
    question.verb = ViewAt(asked, "verb");
    question.group = ViewAt(asked, "group");
    question.resource = ViewAt(asked, "resource");
    question.subresource = ViewAt(asked, "subresource");
    question.ns = ViewAt(asked, "namespace");
    question.name = ViewAt(asked, "name");
    question.path = ViewAt(asked, "path");
    if (table.Allows(question) != FlagAt(asked, "allowed"))
      return "a question is answered otherwise: " + WriteJson(asked);
    ++figures->questions;
    figures->allowed += FlagAt(asked, "allowed") ? 1 : 0;
  }
  return "";
}

std::string CompareGrants(const json::value& line, const AccessTable& table, Figures* figures) {
  for (const json::value& grant : ArrayOrEmpty(line, "grants")) {
    const std::vector<std::string> groups = TextsOf(grant, "groups");
    const auto missing = table.Uncovered(ViewAt(grant, "user"), groups, ViewAt(grant, "namespace"),
                                         RulesIn(grant, "wanted"));
    if (missing != RulesIn(grant, "missing"))
      return "other rules are missing, " + DescribeRules(missing) + ": " + WriteJson(grant);
    ++figures->grants;
    figures->covered += missing.empty() ? 1 : 0;
  }
  return "";
}

int Run() {
  Figures figures;
  for (std::string text; std::getline(std::cin, text);) {
    const auto line = ParseJson(text);
    ConfigView config;
    std::string wrong = line.ok() ? ReadObjects(*line, &config) : line.error().detail;
    if (wrong.empty()) wrong = CompareQuestions(*line, *config.access, &figures);
    if (wrong.empty()) wrong = CompareGrants(*line, *config.access, &figures);
    if (!wrong.empty()) {
      std::cerr << "set " << figures.sets + 1 << ": " << wrong << "\n" << text << "\n";
      return 1;
    }
    ++figures.sets;
  }
  std::cout << "access_agreement: " << figures.sets << " sets, " << figures.questions
            << " questions (" << figures.allowed << " allowed) and " << figures.grants
            << " grants (" << figures.covered << " covered), 0 differences\n";
  return figures.sets > 0 && figures.allowed > 0 && figures.covered > 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main() { return muster::Run(); }
