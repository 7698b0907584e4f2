// Bounds of identity: what a request may say of its sender, and what is kept about accounts and
// tokens. Include schedd/base/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- what a request says of its sender
// An Authorization header; a JWT with hundreds of groups takes some 10 KiB. It is less than
// kHeaderBytes, in which it must fit.
inline constexpr std::size_t kAuthorizationBytes = 12 << 10;
// The name of a user or group that a request wants to act as; an e-mail address or a service
// account's name is shorter.
inline constexpr std::size_t kUserNameBytes = 256;
// Groups that a request wants to act as.
inline constexpr std::size_t kImpersonatedGroups = 64;
// A request id that a client chose; a UUID has 36 characters.
inline constexpr std::size_t kRequestIdBytes = 64;

// --- accounts of this host
// How long what NSS said of an account is believed: one look-up may ask a directory server.
inline constexpr std::int64_t kAccountForMs = 30'000;
// How long an account is still taken as it was known while it is asked about again in the
// background. Longer than a name service is usually away, shorter than a working day.
inline constexpr std::int64_t kAccountStaleMs = 15 * 60'000;
// When a client of gRPC, whose threads do not wait for NSS, is to ask again.
inline constexpr std::int64_t kAccountRetryMs = 500;
// Accounts remembered at once; a site has some thousand.
inline constexpr std::size_t kAccounts = 4096;
// Groups of one account; the kernel's own bound (NGROUPS_MAX) is 65,536, sites have hundreds.
inline constexpr int kGroupsOfAccount = 1024;

// --- access tokens
// Without a wish a token lives for a day; nobody needs one for longer than a year.
inline constexpr std::int64_t kTokenDefaultTtlS = 24 * 3600;
inline constexpr std::int64_t kTokenLongestTtlS = 366LL * 24 * 3600;
inline constexpr std::size_t kTokenDescriptionBytes = 256;

}  // namespace muster::limits
