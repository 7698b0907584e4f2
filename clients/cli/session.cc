// Messages on stderr. Texts of the server pass VisibleText, line ends kept: a ClusterRole or a list
// of problems may have several lines.
#include "clients/cli/session.h"

#include <cstdio>

#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

std::string Shown(const std::string& text) {
  return client::VisibleText(text, client::LineEnds::kKept);
}

}  // namespace

std::string ShownText(const json::value& value, std::string_view path) {
  return client::VisibleText(client::PathText(value, path));
}

void PrintError(const std::string& sentence) {
  std::fprintf(stderr, "muster: %s\n", Shown(sentence).c_str());
}

int PrintFailure(const client::Failure& failure) {
  PrintError(failure.detail);
  for (const FieldError& error : failure.fields) {
    // A single wrong field is often named by the sentence already, with the same message.
    if (failure.fields.size() == 1 && failure.detail.find(error.message) != std::string::npos &&
        failure.detail.find(error.field) != std::string::npos) {
      break;
    }
    std::fprintf(stderr, "  %s: %s\n", Shown(error.field).c_str(), Shown(error.message).c_str());
  }
  return client::ExitCodeOf(failure);
}

void PrintWarnings(const json::value& answer) {
  for (const json::value& warning : ArrayOrEmpty(answer, "warnings")) {
    if (!warning.is_string()) continue;
    std::fprintf(stderr, "Warning: %s\n", Shown(std::string(warning.get_string())).c_str());
  }
}

}  // namespace muster::cli
