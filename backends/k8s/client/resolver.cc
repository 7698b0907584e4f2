// Resolver: getaddrinfo on a detached thread. The call cannot be cancelled, so Stop never waits for
// it: the thread holds only the gate, which refuses a result that comes too late.
#include "backends/k8s/client/resolver.h"

#include <netdb.h>

#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace muster::k8s {
namespace {

namespace asio = boost::asio;

constexpr std::int64_t kKeptNs = 30 * kNanosPerSecond;

// Blocks as long as the name servers take.
Result<std::vector<Endpoint>> LookUp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); error != 0)
    return Unavailable("its host name " + host + " is not found: " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Endpoint> out;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), at->ai_addr, at->ai_addrlen);
    endpoint.resize(at->ai_addrlen);
    out.push_back(endpoint);
  }
  if (out.empty()) return Unavailable("its host name " + host + " has no address");
  return out;
}

}  // namespace

Resolver::Resolver(const Clock& clock, std::shared_ptr<StrandGate> gate, std::string host,
                   std::string port)
    : clock_(clock), gate_(std::move(gate)), host_(std::move(host)), port_(std::move(port)) {
  const auto number = static_cast<std::uint16_t>(std::stoi(port_));
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host_, error);
  if (!error) known_ = {Endpoint(address, number)};
  // Settings that are allowed on loopback only must not reach another host, whatever a name server
  // answers for localhost.
  if (host_ == "localhost") {
    known_ = {Endpoint(asio::ip::address_v4::loopback(), number),
              Endpoint(asio::ip::address_v6::loopback(), number)};
  }
  for_ever_ = !known_.empty();
}

void Resolver::Find(LookupHandler found) {
  if (for_ever_ || (!known_.empty() && clock_.Now() < known_until_)) return found(known_);
  waiting_.push_back(std::move(found));
  if (waiting_.size() > 1) return;
  // Detached; see the top of this file.
  std::thread([weak = weak_from_this(), gate = gate_, host = host_, port = port_] {
    auto result = LookUp(host, port);
    gate->Post([weak, result = std::move(result)]() mutable {
      if (const auto self = weak.lock()) self->Answered(std::move(result));
    });
  }).detach();
}

void Resolver::Answered(Result<std::vector<Endpoint>> result) {
  if (result) {
    known_ = *result;
    known_until_ = clock_.Now() + kKeptNs;
  }
  for (const auto& found : std::exchange(waiting_, {})) found(result);
}

}  // namespace muster::k8s
