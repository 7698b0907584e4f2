// The public face of ClientCore and HttpStream: it puts calls of any thread onto the client's
// strand. Stop closes the gate first, so that the core's Stop is the last work on the strand.
#include "backends/k8s/client/api_client.h"

#include <future>
#include <utility>

#include "backends/k8s/client/client_core.h"
#include "backends/k8s/client/http_stream.h"

namespace muster::k8s {
namespace {

class HttpApiClient final : public ApiClient {
 public:
  HttpApiClient(const ClientEnvironment& environment, MemberAccess access, ApiClientOptions options)
      : core_(std::make_shared<ClientCore>(environment, std::move(access), std::move(options))) {
    core_->Begin();
  }
  ~HttpApiClient() override { Stop(); }

  void Send(ApiRequest request, Callback<ApiResponse> done) override {
    core_->Admit(std::move(request), std::move(done));
  }
  std::shared_ptr<ApiStream> OpenStream(StreamRequest request,
                                        std::shared_ptr<StreamSink> sink) override {
    auto stream = std::make_shared<HttpStream>(core_, std::move(request), sink);
    // The sink is called directly: Stop may be ending the streams on the strand at this moment.
    if (!core_->gate().Post([core = core_, stream] { core->Add(stream); }))
      sink->OnEnd(core_->Named(Unavailable("its client has stopped")));
    return std::make_shared<StreamHandle>(core_, std::move(stream));
  }
  bool Post(std::function<void()> work) override { return core_->gate().Post(std::move(work)); }
  bool OnStrand() const override { return core_->gate().OnStrand(); }
  std::size_t Held() const override { return core_->held(); }
  ApiHealth Health() const override { return core_->Health(); }
  void Stop() override {
    std::promise<void> stopped;
    const bool first = core_->gate().Close([core = core_, &stopped] {
      core->Stop();
      stopped.set_value();
    });
    if (!first) return;
    stopped.get_future().wait();
    core_->gate().Release();
  }

 private:
  const std::shared_ptr<ClientCore> core_;
};

}  // namespace

std::unique_ptr<ApiClient> MakeApiClient(const ClientEnvironment& environment, MemberAccess access,
                                         ApiClientOptions options) {
  return std::make_unique<HttpApiClient>(environment, std::move(access), std::move(options));
}

}  // namespace muster::k8s
