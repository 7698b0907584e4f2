// An access table from a YAML text, and short questions to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/yaml.h"

namespace muster {

/// Puts every document of the text, whose apiVersion may be left out, into the configuration; as
/// the API does it. Returns the problems of the first one that is refused; "" if none is.
inline std::string PutAll(ConfigView* config, const std::string& text) {
  auto documents = ParseYaml(text);
  if (!documents.ok()) return documents.error().detail;
  for (json::value& document : *documents) {
    if (!document.get_object().contains("apiVersion"))
      document.get_object()["apiVersion"] = "rbac.authorization.k8s.io/v1";
    const auto parsed = shapes::ParseObject(document);
    if (!parsed.ok()) {
      std::string problems;
      for (const FieldError& field : parsed.error().fields)
        problems += field.field + ": " + field.message + "\n";
      return problems;
    }
    const Status put = shapes::ApplyTo(config, parsed->kind, parsed->manifest);
    if (!put.ok()) return put.error().detail;
  }
  return "";
}

inline std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// "USER[,GROUP...] VERB GROUP/RESOURCE[/SUBRESOURCE][:NAME] [NAMESPACE]" or "USER VERB /PATH"; the
/// core group is "core".
inline bool May(const AccessTable& table, const std::string& asked) {
  const std::vector<std::string> words = WordsOf(asked);
  std::vector<std::string> who;
  std::istringstream names(words[0]);
  for (std::string name; std::getline(names, name, ',');) who.push_back(name);
  const std::vector<std::string> groups(who.begin() + 1, who.end());
  AccessQuestion question;
  question.user = who[0];
  question.groups = groups;
  question.verb = words[1];
  std::string_view what = words[2];
  if (what.starts_with('/')) {
    question.path = what;
    return table.Allows(question);
  }
  if (const auto colon = what.find(':'); colon != std::string_view::npos) {
    question.name = what.substr(colon + 1);
    what = what.substr(0, colon);
  }
  const auto slash = what.find('/');
  question.group = what.substr(0, slash) == "core" ? "" : what.substr(0, slash);
  what = what.substr(slash + 1);
  if (const auto next = what.find('/'); next != std::string_view::npos) {
    question.subresource = what.substr(next + 1);
    what = what.substr(0, next);
  }
  question.resource = what;
  if (words.size() > 3) question.ns = words[3];
  return table.Allows(question);
}

}  // namespace muster
