// Patches: the first byte chooses the format, a NUL parts the document from the patch. A merge
// patch that was applied changes nothing when it is applied again (RFC 7386).
#include "api/rest/json_patch.h"
#include "schedd/text/json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  constexpr const char* kMedia[] = {"application/merge-patch+json", "application/json-patch+json",
                                    "application/strategic-merge-patch+json"};
  const std::string_view text = fuzz::Text(data, size);
  const auto parting = text.find('\0');
  if (parting == std::string_view::npos || parting == 0) return 0;
  auto document = ParseJson(text.substr(1, parting - 1));
  if (!document.ok()) return 0;
  rest::Request request;
  request.method = rest::Method::kPatch;
  request.content_type = kMedia[static_cast<std::uint8_t>(text[0]) % std::size(kMedia)];
  request.body = std::string(text.substr(parting + 1));
  const auto patched = rest::Patched(request, *document);
  if (!patched.ok() || rest::PatchMediaOf(request.content_type) != rest::PatchMedia::kMerge)
    return 0;
  const auto again = rest::Patched(request, *patched);
  fuzz::Require(again.ok() && *again == *patched, "a merge patch is idempotent");
  return 0;
}
