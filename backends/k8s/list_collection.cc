// PagedList: reads a collection in pages (limit and continue), consistently.
//
// All pages belong to one version of the collection: the continue token carries it. If the token
// expires (410), the API server offers another one that goes on at a newer version; the pages would
// then not fit together, so the list begins again instead, at most kBeginnings times.
#include "backends/k8s/list_collection.h"

#include <memory>
#include <utility>

#include "backends/k8s/member_json.h"
#include "schedd/text/lenient.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

// A list that expires this often takes too long to be read at all.
constexpr int kBeginnings = 5;

class PagedList : public std::enable_shared_from_this<PagedList> {
 public:
  PagedList(ApiClient& client, Collection collection, ListCallbacks callbacks)
      : client_(client), collection_(std::move(collection)), callbacks_(std::move(callbacks)) {}

  // Starts at the first page; the receiver forgets earlier pages.
  void Begin() {
    ++beginnings_;
    continue_.clear();
    callbacks_.on_start();
    Ask();
  }

 private:
  void Ask() {
    ApiRequest request;
    // Without a resourceVersion the API server reads the newest state.
    request.target = collection_.path + "?limit=" + std::to_string(collection_.page);
    for (const auto& [key, value] : {std::pair("labelSelector", collection_.label_selector),
                                     std::pair("fieldSelector", collection_.field_selector),
                                     std::pair("continue", continue_)}) {
      if (!value.empty()) request.target += std::string("&") + key + "=" + PercentEncode(value);
    }
    request.urgency = Urgency::kList;
    client_.Send(
        std::move(request),
        [self = shared_from_this()](const Result<ApiResponse>& answer) { self->Answered(answer); });
  }

  void Answered(const Result<ApiResponse>& answer) {
    if (!answer) return callbacks_.done(answer.error());
    // The token has expired; see the top of this file.
    if (answer->status == 410 && !continue_.empty() && beginnings_ < kBeginnings) return Begin();
    if (!answer->ok()) return callbacks_.done(ErrorOf(*answer));
    MemberDocument page(answer->body);
    if (!page.ok()) return callbacks_.done(page.error());
    auto* list = page->if_object();
    auto* items = list == nullptr ? nullptr : list->if_contains("items");
    auto* metadata = list == nullptr ? nullptr : list->if_contains("metadata");
    const bool whole = metadata != nullptr && metadata->is_object() && items != nullptr &&
                       (items->is_array() || items->is_null());
    if (!whole) return callbacks_.done(Error{Code::kDataLoss, "the member's answer is no list"});
    if (items->is_array()) {
      FillIn(*list, &items->get_array());
      callbacks_.on_page(items->get_array());
    }
    continue_ = TextAt(metadata, "continue");
    if (!continue_.empty()) return Ask();
    callbacks_.done(TextAt(metadata, "resourceVersion"));
  }

  // The items of a list have no kind and apiVersion; they follow from the list's own ("JobList",
  // "batch/v1").
  static void FillIn(const json::object& list, json::array* items) {
    std::string kind = TextAt(list, "kind");
    if (kind.ends_with("List")) kind.resize(kind.size() - 4);
    const std::string api_version = TextAt(list, "apiVersion");
    for (auto& item : *items) {
      auto* object = item.if_object();
      if (object == nullptr) continue;
      if (!object->contains("kind")) (*object)["kind"] = kind;
      if (!object->contains("apiVersion")) (*object)["apiVersion"] = api_version;
    }
  }

  ApiClient& client_;
  const Collection collection_;
  const ListCallbacks callbacks_;
  std::string continue_;
  int beginnings_ = 0;
};

}  // namespace

void ListCollection(ApiClient& client, const Collection& collection, ListCallbacks callbacks) {
  auto list = std::make_shared<PagedList>(client, collection, std::move(callbacks));
  if (client.OnStrand()) return list->Begin();
  if (!client.Post([list] { list->Begin(); })) list->Begin();
}

}  // namespace muster::k8s
