// Digests of manifests: equal on every machine and in every version, so they may be stored. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace muster::propagation {

/// SHA-256 over texts and their lengths, of which half is kept: 32 hexadecimal digits. An object
/// whose changed manifest had the old digest would not be applied, so a short checksum is not
/// enough.
class Digest {
 public:
  Digest();
  void Add(std::string_view text);
  /// The digest; called once, at the end.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// The digest of one text.
std::string DigestOf(std::string_view text);

}  // namespace muster::propagation
