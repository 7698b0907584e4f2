// Prefixes that are not given are NAME: with a colon, so that two issuers, and the accounts of this
// host, never share a name by accident; "-" means none, as for Kubernetes'
// --oidc-username-prefix.
#include "schedd/daemon/oidc_config.h"

#include <filesystem>
#include <optional>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/text/provider_url.h"

namespace muster {
namespace {

// One entry of the list, and where its problems go.
struct IssuerReader {
  std::string place;  // "PATH: oidc[0]"
  auth::IssuerConfig issuer;
  std::optional<std::string> user_prefix, groups_prefix;
  std::vector<FieldError>* problems;

  void Add(const std::string& key, const std::string& message) const {
    problems->push_back({key.empty() ? place : place + "." + key, message});
  }

  void TakeText(const std::string& key, const json::value& value, std::string* out) const {
    const json::string* text = value.if_string();
    if (text == nullptr || text->empty()) return Add(key, "must be a text that is not empty");
    *out = std::string(*text);
  }

  // `audience` is one text or a list of texts.
  void TakeAudiences(const json::value& value) {
    const json::array* list = value.if_array();
    const json::array single = {value};
    if (list == nullptr) list = &single;
    for (const json::value& one : *list) {
      std::string audience;
      TakeText("audience", one, &audience);
      issuer.audiences.push_back(std::move(audience));
    }
  }

  void TakePrefix(const std::string& key, const json::value& value,
                  std::optional<std::string>* out) const {
    std::string text;
    TakeText(key, value, &text);
    if (text.starts_with("system:")) return Add(key, "names of the system are no issuer's to give");
    *out = text == "-" ? "" : text;
  }

  void TakeKey(const std::string& key, const json::value& value) {
    if (key == "name") return TakeText(key, value, &issuer.name);
    if (key == "issuer") return TakeText(key, value, &issuer.issuer);
    if (key == "audience") return TakeAudiences(value);
    if (key == "user-claim") return TakeText(key, value, &issuer.user_claim);
    if (key == "groups-claim") return TakeText(key, value, &issuer.groups_claim);
    if (key == "user-prefix") return TakePrefix(key, value, &user_prefix);
    if (key == "groups-prefix") return TakePrefix(key, value, &groups_prefix);
    if (key == "web-client") return TakeText(key, value, &issuer.web_client);
    if (key == "ca") return TakeText(key, value, &issuer.ca);
    Add(key, "unknown key");
  }

  // What must be there, and what the values must be.
  void Finish() {
    if (!IsDnsLabel(issuer.name)) Add("name", "must be a name such as \"corp\" (DNS label)");
    const std::string problem = IssuerUrlProblem(issuer.issuer);
    if (!problem.empty()) Add("issuer", problem);
    if (issuer.audiences.empty()) Add("audience", "must be given");
    std::error_code failed;
    if (!issuer.ca.empty() && !std::filesystem::is_regular_file(issuer.ca, failed)) {
      Add("ca", "there is no such file");
    }
    if (!issuer.ca.empty()) issuer.ca = std::filesystem::absolute(issuer.ca, failed).string();
    issuer.user_prefix = user_prefix.value_or(issuer.name + ":");
    issuer.groups_prefix = groups_prefix.value_or(issuer.name + ":");
  }
};

}  // namespace

void TakeOidc(const std::string& path, const json::value& section,
              std::vector<auth::IssuerConfig>* issuers, std::vector<FieldError>* problems) {
  const json::array* list = section.if_array();
  if (list == nullptr) return problems->push_back({path + ": oidc", "must be a list of issuers"});
  if (list->size() > limits::kIssuers) {
    return problems->push_back(
        {path + ": oidc", "must have at most " + std::to_string(limits::kIssuers) + " issuers"});
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    IssuerReader reader{path + ": oidc[" + std::to_string(i) + "]", {}, {}, {}, problems};
    const json::object* entry = (*list)[i].if_object();
    if (entry == nullptr) {
      reader.Add("", "must be a mapping");
      continue;
    }
    for (const auto& [key, value] : *entry) reader.TakeKey(std::string(key), value);
    reader.Finish();
    for (const auth::IssuerConfig& other : *issuers) {
      if (other.name == reader.issuer.name) reader.Add("name", "is given twice");
      if (other.issuer == reader.issuer.issuer) reader.Add("issuer", "is given twice");
    }
    issuers->push_back(std::move(reader.issuer));
  }
}

}  // namespace muster
