// The files of `apply` and `submit` as numbered documents.
#pragma once

#include <string>
#include <vector>

#include "clients/lib/outcome.h"
#include "schedd/text/json.h"

namespace muster::cli {

struct Document {
  std::string source;  // "queues.yaml: document 2"; "standard input: document 1"
  json::value value;
};

/// The whole text of a file, or of standard input for "-".
client::Outcome<std::string> ReadText(const std::string& path);

/// All documents of files, directories (their .yaml, .yml and .json files by name, not below) and
/// "-".
client::Outcome<std::vector<Document>> ReadDocuments(const std::vector<std::string>& paths);

/// A failure whose fields begin with documents[i] as one that names file, document and field path.
client::Failure NameSources(client::Failure failure, const std::vector<Document>& documents);

}  // namespace muster::cli
