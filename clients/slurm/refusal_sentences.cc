// The wrong field of a refusal decides which sentence it is.
#include "clients/slurm/refusal_sentences.h"

#include <string_view>

#include "clients/slurm/command.h"

namespace muster::slurm {
namespace {

// Slurm's sentence for a refusal of a field; "" if the detail of the answer is all there is.
struct FieldSentence {
  const char* field;
  const char* sentence;
};
constexpr FieldSentence kSentences[] = {
    {"account", "Invalid account or account/partition combination specified"},
    {"priorityClass", "Invalid qos specification"},
    {"qos", "Invalid qos specification"},
    {"features", "Invalid feature specification"},
    {"requiredNodes", "Invalid node name specified"},
    {"excludedNodes", "Invalid node name specified"},
    {"licenses", "Invalid license specification"},
    {"reservation", "Requested reservation is invalid"},
    {"dependency", "Job dependency problem"},
    {"gres", "Invalid generic resource (gres) specification"},
    {"gpus", "Invalid generic resource (gres) specification"},
    {"array", "Invalid job array specification"},
    {"timeMin", "Invalid time-min specification (exceeds job's time or other limits)"},
    {"resources", "Requested node configuration is not available"},
};

constexpr char kClosedPartition[] = "Required partition not available (inactive or drain)";

// Of several partitions the one that the refusal names in quotes, else all as given.
std::string UnknownPartition(const client::Failure& failure, const std::string& given) {
  for (const FieldError& error : failure.fields) {
    for (const std::string& one : SplitList(given)) {
      if (error.message.find('"' + one + '"') != std::string::npos) return one;
    }
  }
  return given;
}

std::string TextOfField(const json::object& body, const char* field) {
  const json::value* value = body.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(std::string_view(value->get_string()))
                                                : std::string();
}

}  // namespace

bool Mentions(const client::Failure& failure, const char* field) {
  for (const FieldError& error : failure.fields) {
    const std::size_t dot = error.field.rfind('.');
    if (error.field.substr(dot == std::string::npos ? 0 : dot + 1) == field) return true;
  }
  return false;
}

std::string RefusalText(const client::Failure& failure, const json::object& body,
                        const std::string& failed) {
  if (failure.kind != client::Failure::Kind::kRefused || failure.status == 503)
    return failed + FailureText(failure);
  if (Mentions(failure, "queue")) {
    const std::string given = TextOfField(body, "queue");
    // The server says by Slurm's own sentence that there is such a partition and that it is closed.
    for (const FieldError& error : failure.fields) {
      if (error.message.find(kClosedPartition) != std::string::npos)
        return failed + kClosedPartition;
    }
    if (given.empty()) return failed + "No partition specified or system default partition";
    return "invalid partition specified: " + UnknownPartition(failure, given) + "\n" + failed +
           "Invalid partition name specified";
  }
  if (Mentions(failure, "cluster")) {
    const std::string cluster = TextOfField(body, "cluster");
    return "No cluster '" + cluster + "' known by database.\n'" + cluster +
           "' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list "
           "clusters' to see available clusters.";
  }
  std::string text;
  for (const auto& [field, sentence] : kSentences) {
    // Slurm says nothing of the submission when generic resources are wrong.
    const bool bare = std::string_view(field) == "gres";
    if (text.empty() && Mentions(failure, field)) text = (bare ? "" : failed) + sentence;
  }
  const bool never_fits = Mentions(failure, "resources");
  if (never_fits && failure.detail.find("memory") != std::string::npos)
    text = "Memory specification can not be satisfied\n" + text;
  if (text.empty()) return failed + failure.detail;
  if (!never_fits && failure.detail.find("not supported") != std::string::npos)
    text = failure.detail + "\n" + text;
  return text;
}

}  // namespace muster::slurm
