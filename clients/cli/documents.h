// The files of `apply` and `submit` as numbered documents.
#pragma once

#include <string>
#include <vector>

#include "clients/lib/outcome.h"
#include "schedd/text/json.h"

namespace muster::cli {

struct Document {
  std::string source;  // "queues.yaml: document 2" or "standard input: document 1"
  json::value value;
};

/// The whole text of a file, or of standard input for "-".
client::Outcome<std::string> ReadText(const std::string& path);

/// All documents of `paths`: files, directories (their .yaml, .yml and .json files sorted by name,
/// not those of subdirectories), and "-" for standard input.
client::Outcome<std::vector<Document>> ReadDocuments(const std::vector<std::string>& paths);

/// Replaces `documents[i]` at the beginning of the failure's fields by the file and the number of
/// the document in it.
client::Failure NameSources(client::Failure failure, const std::vector<Document>& documents);

}  // namespace muster::cli
