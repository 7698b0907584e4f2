#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/lib/visible_text.h"

namespace muster::cli {
namespace {

std::string Shown(const std::string& text) {
  return client::VisibleText(text, client::LineEnds::kKept);
}

}  // namespace

void PrintError(const std::string& sentence) {
  std::fprintf(stderr, "muster: %s\n", Shown(sentence).c_str());
}

int PrintFailure(const client::Failure& failure) {
  PrintError(failure.detail);
  for (const FieldError& error : failure.fields) {
    // The sentence often is the only field's message already.
    if (failure.fields.size() == 1 && failure.detail.find(error.message) != std::string::npos &&
        failure.detail.find(error.field) != std::string::npos) {
      break;
    }
    std::fprintf(stderr, "  %s: %s\n", Shown(error.field).c_str(), Shown(error.message).c_str());
  }
  return client::ExitCodeOf(failure);
}

}  // namespace muster::cli
