// A page token is base64 of "after:NAMESPACE/NAME", the last object of the page before. There is no
// snapshot: an object that exists the whole time is listed exactly once, others may be missed. A
// page is filled with matching objects, also under a selector.
#include "api/rest/kube_lists.h"

#include <optional>
#include <utility>

#include "api/rest/query_reader.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"

namespace muster::rest {
namespace {

constexpr std::int64_t kLimitMax = 1'000'000'000;
constexpr std::string_view kTokenBegin = "after:";

// An object's position in the list: namespace and name.
using Place = std::pair<std::string, std::string>;

Place PlaceOf(const json::value& object) {
  return {TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})};
}

std::string TokenOf(const Place& last) {
  return EncodeBase64(std::string(kTokenBegin) + last.first + "/" + last.second);
}

std::optional<Place> ReadToken(const std::string& token) {
  const auto text = DecodeBase64(token);
  if (!text || !text->starts_with(kTokenBegin)) return std::nullopt;
  const std::size_t slash = text->find('/');
  if (slash == std::string::npos) return std::nullopt;
  return Place{text->substr(kTokenBegin.size(), slash - kTokenBegin.size()),
               text->substr(slash + 1)};
}

}  // namespace

Error BadContinue() {
  return InvalidField("continue", "is not a token that this server gave: begin the list anew");
}

Result<ListWish> ReadListWish(const Request& request) {
  const QueryReader query(request);
  Result<KubeSelector> selector =
      KubeSelector::Parse(query.Text("labelSelector"), query.Text("fieldSelector"));
  if (!selector.ok()) return selector.error();
  const auto limit = query.Number("limit", 0, 0, kLimitMax);
  if (!limit.ok()) return limit.error();
  return ListWish{std::move(*selector), static_cast<std::size_t>(*limit), query.Text("continue")};
}

Result<ObjectPage> PageOf(const std::vector<json::value>& objects, const ListWish& wish) {
  std::optional<Place> after;
  if (!wish.after.empty()) {
    after = ReadToken(wish.after);
    if (!after) return BadContinue();
  }
  ObjectPage page;
  for (const json::value& object : objects) {
    if (after && PlaceOf(object) <= *after) continue;
    if (!wish.selector.Matches(object)) continue;
    // The page is full: the rest is only counted.
    if (wish.limit > 0 && page.items.size() == wish.limit) {
      ++page.remaining;
    } else {
      page.items.push_back(object);
    }
  }
  if (page.remaining > 0) page.next = TokenOf(PlaceOf(page.items.back()));
  return page;
}

}  // namespace muster::rest
