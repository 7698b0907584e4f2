// Reads the files of `apply` and `submit` and remembers where each document comes from.
//
// Documents are numbered per file from 1, as an editor's user counts the parts between `---` lines.
// The server knows only the position in the request (`documents[3].spec.x`); NameSources translates
// that back.
#include "clients/cli/documents.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "schedd/text/documents.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

client::Failure CannotRead(const std::string& path) {
  return client::LocalFailure(path + ": cannot be read");
}

bool IsManifestFile(const fs::directory_entry& entry) {
  const std::string extension = entry.path().extension().string();
  std::error_code ignored;
  return entry.is_regular_file(ignored) &&
         (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

// The files that a path means: itself, or the manifest files directly in a directory, sorted by
// name so that the order does not depend on the file system.
client::Outcome<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (path == "-" || !fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> out;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (IsManifestFile(*it)) out.push_back(it->path().string());
  }
  if (error) return CannotRead(path);
  if (out.empty()) return client::LocalFailure(path + ": holds no .yaml, .yml or .json file");
  std::sort(out.begin(), out.end());
  return out;
}

// Splits "documents[3].spec.x" into 3 and "spec.x"; false for a path of another form.
bool SplitField(const std::string& field, std::size_t* index, std::string* rest) {
  static constexpr std::string_view kPrefix = "documents[";
  if (!field.starts_with(kPrefix)) return false;
  const char* begin = field.data() + kPrefix.size();
  const auto [stop, error] = std::from_chars(begin, field.data() + field.size(), *index);
  if (error != std::errc() || stop == field.data() + field.size() || *stop != ']') return false;
  *rest = std::string(stop + 1);
  if (rest->starts_with('.')) rest->erase(0, 1);
  return true;
}

}  // namespace

client::Outcome<std::string> ReadText(const std::string& path) {
  const bool from_stdin = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      from_stdin ? nullptr : std::fopen(path.c_str(), "rb"), &std::fclose);
  std::FILE* file = from_stdin ? stdin : opened.get();
  if (file == nullptr) return CannotRead(path);
  std::string text;
  char part[64 << 10];
  std::size_t n = 0;
  while ((n = std::fread(part, 1, sizeof(part), file)) > 0) text.append(part, n);
  if (std::ferror(file) != 0) return CannotRead(path);
  return text;
}

client::Outcome<std::vector<Document>> ReadDocuments(const std::vector<std::string>& paths) {
  std::vector<Document> out;
  for (const std::string& path : paths) {
    client::Outcome<std::vector<std::string>> files = FilesOf(path);
    if (!files.ok()) return files.failure();
    for (const std::string& file : *files) {
      client::Outcome<std::string> text = ReadText(file);
      if (!text.ok()) return text.failure();
      const std::string name = file == "-" ? "standard input" : file;
      Result<std::vector<json::value>> documents = ParseDocuments(*text);
      if (!documents.ok()) return client::LocalFailure(name + ": " + documents.error().detail);
      std::size_t number = 0;
      for (json::value& value : documents.value()) {
        out.push_back({name + ": document " + std::to_string(++number), std::move(value)});
      }
    }
  }
  if (out.empty()) return client::LocalFailure("there is no document in what was given");
  return out;
}

// The fields name the documents, so the sentence only says that nothing was changed.
client::Failure NameSources(client::Failure failure, const std::vector<Document>& documents) {
  bool named = false;
  for (FieldError& error : failure.fields) {
    std::size_t index = 0;
    std::string rest;
    if (!SplitField(error.field, &index, &rest) || index >= documents.size()) continue;
    error.field = documents[index].source + (rest.empty() ? "" : ": " + rest);
    named = true;
  }
  if (named) failure.detail = "refused, nothing was changed";
  return failure;
}

}  // namespace muster::cli
