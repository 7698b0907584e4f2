// The methods of DescribePage, and the page of a placement.
//
// A page is a list of rows. Rows with a value stand in one column with their neighbours: Render
// finds each run of such rows, takes its widest key and pads the others to it; a heading ends the
// run. Every text of the server passes OneLine, so that no value can break the layout or reach the
// terminal as control characters.
#include "clients/cli/describe_page.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "clients/cli/durations.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

// An event of a placement that a condition in status True stands for. The server stores no events
// of placements, so the page derives them, in the words of KubeFleet's controller.
struct EventText {
  const char* condition;  // the condition's type without the kind in front
  const char* reason;
  const char* message;
};
constexpr EventText kEvents[] = {
    {"RolloutStarted", "PlacementRolloutStarted", "Started rolling out the latest resources"},
    {"Overridden", "PlacementOverriddenSucceeded", "Placement has been successfully overridden"},
    {"WorkSynchronized", "PlacementWorkSynchronized",
     "Work(s) have been created or updated successfully for the selected cluster(s)"},
    {"Applied", "PlacementApplied", "Resources have been applied to the selected cluster(s)"},
    {"Available", "PlacementAvailable", "Resources are available on the selected cluster(s)"},
    {"DiffReported", "PlacementDiffReported",
     "Configuration differences have been reported on the selected cluster(s)"},
    {"Available", "PlacementRolloutCompleted",
     "Placement has finished the rollout process and reached the desired status"},
    {"DiffReported", "PlacementRolloutCompleted",
     "Placement has finished the rollout process and reached the desired status"},
};

std::string Indented(int level, const std::string& text) {
  return std::string(static_cast<std::size_t>(level) * 2, ' ') + text;
}

// Line ends and tabs become blanks, other control characters become visible.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return client::VisibleText(text);
}

// A scalar as kubectl describe prints it: null is "<nil>".
std::string ScalarText(const json::value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return OneLine(std::string(value.get_string()));
  return OneLine(WriteJson(value));
}

// The condition of this type; null if there is none.
const json::value* FindCondition(const json::value& object, const std::string& type) {
  const json::array* conditions = FindArray(object, {"status", "conditions"});
  if (conditions == nullptr) return nullptr;
  for (const json::value& condition : *conditions)
    if (client::PathText(condition, "type") == type) return &condition;
  return nullptr;
}

using TableRow = std::vector<std::string>;

// Columns two blanks apart, the last not padded.
std::string TableOf(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const TableRow& row : rows) {
    out += "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] + 2 - row[i].size(), ' ');
    }
    out += '\n';
  }
  return out;
}

// The event table. The age of an event is that of its condition's last transition.
std::string EventsOf(const json::value& object) {
  std::vector<TableRow> rows = {{"Type", "Reason", "Age", "From", "Message"},
                                {"----", "------", "----", "----", "-------"}};
  const std::string kind = client::PathText(object, "kind");
  for (const EventText& event : kEvents) {
    const json::value* condition = FindCondition(object, kind + event.condition);
    if (condition == nullptr || client::PathText(*condition, "status") != "True") continue;
    rows.push_back({"Normal", event.reason, Age(client::PathText(*condition, "lastTransitionTime")),
                    "placement-controller", event.message});
  }
  return rows.size() == 2 ? "Events:  <none>\n" : "Events:\n" + TableOf(rows);
}

}  // namespace

void DescribePage::Line(int level, const std::string& key, const std::string& value) {
  rows_.push_back({Indented(level, OneLine(key.empty() ? key : key + ":")), OneLine(value)});
}

void DescribePage::Heading(int level, const std::string& text) {
  rows_.push_back({Indented(level, OneLine(text)), std::nullopt});
}

void DescribePage::Pairs(const std::string& key, const json::object* pairs, const char* separator) {
  if (pairs == nullptr || pairs->empty()) return Line(0, key, "<none>");
  std::vector<std::string> texts;
  for (const json::key_value_pair& pair : *pairs)
    texts.push_back(OneLine(std::string(pair.key())) + separator + ScalarText(pair.value()));
  std::sort(texts.begin(), texts.end());
  for (const std::string& text : texts) Line(0, &text == &texts.front() ? key : "", text);
}

// Sorts by key, then goes down into objects and lists, one level of indentation each.
void DescribePage::Members(int level, const json::object& object,
                           const std::vector<std::string>& skip) {
  std::vector<const json::key_value_pair*> members;
  for (const json::key_value_pair& member : object) {
    if (std::find(skip.begin(), skip.end(), std::string(member.key())) == skip.end())
      members.push_back(&member);
  }
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return a->key() < b->key(); });
  for (const json::key_value_pair* member : members) {
    const std::string title = TitleOf(member->key());
    const json::value& value = member->value();
    if (value.is_object()) {
      Heading(level, title + ":");
      Members(level + 1, value.get_object());
    } else if (value.is_array()) {
      Heading(level, title + ":");
      for (const json::value& element : value.get_array()) {
        if (element.is_object())
          Members(level + 1, element.get_object());
        else
          Heading(level + 1, ScalarText(element));
      }
    } else {
      Line(level, title, ScalarText(value));
    }
  }
}

std::string DescribePage::Render() const {
  std::string out;
  for (std::size_t begin = 0; begin < rows_.size();) {
    if (!rows_[begin].value) {
      out += rows_[begin++].key + '\n';
      continue;
    }
    std::size_t end = begin, width = 0;
    for (; end < rows_.size() && rows_[end].value; ++end)
      width = std::max(width, rows_[end].key.size());
    for (; begin < end; ++begin) {
      const Row& row = rows_[begin];
      out += row.key + std::string(width + 2 - row.key.size(), ' ') + *row.value + '\n';
    }
  }
  return out;
}

// Splits at capital letters: "creationTimestamp" gives "Creation Timestamp", "podCIDRs" gives "Pod
// CID Rs" as kubectl prints it.
std::string TitleOf(std::string_view key) {
  const auto upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  if (!std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalpha(c) != 0; }))
    return std::string(key);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < key.size(); ++i) {
    // A word begins at a capital letter that follows a small letter or precedes one.
    const bool begins =
        i == 0 ||
        (upper(key[i]) && (!upper(key[i - 1]) || (i + 1 < key.size() && !upper(key[i + 1]))));
    if (begins) words.emplace_back();
    words.back() += key[i];
  }
  std::string out;
  for (std::string& word : words) {
    std::string capitals = word;
    for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const bool acronym = capitals == "API" || capitals == "URL" || capitals == "UID";
    word[0] = capitals[0];
    out += (out.empty() ? "" : " ") + (acronym ? capitals : word);
  }
  return out;
}

// Name, namespace, labels and annotations come first; the rest of the object follows in
// alphabetical order without them and without managedFields.
std::string PlacementPage(const json::value& object) {
  DescribePage page;
  page.Line(0, "Name", client::PathText(object, "metadata.name"));
  page.Line(0, "Namespace", client::PathText(object, "metadata.namespace"));
  page.Pairs("Labels", FindObject(object, {"metadata", "labels"}), "=");
  page.Pairs("Annotations", FindObject(object, {"metadata", "annotations"}), ": ");
  json::object rest = ObjectOrEmpty(object);
  if (json::object* metadata = MutableObject(&rest, "metadata")) {
    for (const char* shown : {"name", "namespace", "labels", "annotations", "managedFields"})
      metadata->erase(shown);
  }
  page.Members(0, rest);
  return page.Render() + EventsOf(object);
}

// In the layout of kubectl's secretDescriber. What is no base64 is counted as it stands.
std::string SecretPage(const json::value& object) {
  DescribePage page;
  page.Line(0, "Name", client::PathText(object, "metadata.name"));
  page.Line(0, "Namespace", client::PathText(object, "metadata.namespace"));
  page.Pairs("Labels", FindObject(object, {"metadata", "labels"}), "=");
  json::object annotations;
  if (const json::object* all = FindObject(object, {"metadata", "annotations"})) annotations = *all;
  annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  page.Pairs("Annotations", &annotations, ": ");
  page.Heading(0, "");
  page.Line(0, "Type", client::PathText(object, "type"));
  std::map<std::string, std::size_t> sizes;
  for (const auto& [member, encoded] : {std::pair{"data", true}, {"stringData", false}}) {
    const json::object* values = FindObject(object, {member});
    if (values == nullptr) continue;
    for (const json::key_value_pair& one : *values) {
      const std::string text =
          one.value().is_string() ? std::string(one.value().get_string()) : WriteJson(one.value());
      const auto bytes = encoded ? DecodeBase64(text) : std::nullopt;
      sizes[std::string(one.key())] = bytes ? bytes->size() : text.size();
    }
  }
  page.Heading(0, "");
  page.Heading(0, "Data");
  page.Heading(0, "====");
  for (const auto& [key, size] : sizes) page.Line(0, key, std::to_string(size) + " bytes");
  return page.Render();
}

}  // namespace muster::cli
