#pragma once
#include <httplib.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_protocol.hpp>

namespace fleet::net {
namespace detail {

/// Keeps SIGPIPE from this thread for its lifetime: httplib writes without MSG_NOSIGNAL.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipe(NoBrokenPipe const&) = delete;
  NoBrokenPipe& operator=(NoBrokenPipe const&) = delete;
  ~NoBrokenPipe() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    timespec const none{};
    sigtimedwait(&pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
};

/// A path as a URL takes it.
inline std::string percent_encoded(std::string_view path) {
  std::string out;
  for (char letter : path) {
    bool const plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') ||
                       std::string_view{"/-._~"}.find(letter) != std::string_view::npos;
    if (plain)
      out += letter;
    else
      out.append("%").append(hex({&letter, 1}));
  }
  return out;
}

}  // namespace detail

struct StoreClient::Impl {
  std::string endpoint;
  Token token;
  std::string scope;
  HostPort where;
  std::mutex mutex;  // requests go one by one, so that their counter grows
  std::string name = hex(random_bytes(16));
  std::uint64_t counter = 0;
  std::string challenge;
  std::vector<SocketAddress> addresses;

  struct Answer {
    int status = 0;
    std::string body, challenge, proof;
  };

  [[noreturn]] void fail(TransportError::Cause cause, std::string_view method, std::string_view path,
                         std::string const& reason) const {
    throw TransportError(cause, -1, text("store ", method),
                         text("fleet: ", method, " of ", path, " in the store at ", endpoint, " failed: ", reason));
  }

  /// One try at each address of the server, the last that worked first. None where nobody answers.
  std::optional<Answer> send(std::string const& method, std::string const& path, std::string_view body,
                             httplib::Headers const& headers, Deadline deadline, std::string& failure) {
    if (addresses.empty()) addresses = resolve(where);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      httplib::Client client{addresses[i].host(), addresses[i].port()};
      auto const left = std::max(deadline.remaining(), std::chrono::milliseconds{1});
      client.set_connection_timeout(std::min<std::chrono::milliseconds>(left, std::chrono::seconds{3}));
      client.set_read_timeout(left);
      client.set_write_timeout(left);
      client.set_tcp_nodelay(true);
      client.set_url_encode(false);
      httplib::Request request;
      request.method = method;
      request.path = detail::percent_encoded(path);
      request.headers = headers;
      request.body = body;
      detail::NoBrokenPipe const guard;
      auto result = client.send(request);
      if (result) {
        std::swap(addresses[0], addresses[i]);
        return Answer{result->status, std::move(result->body),
                      result->get_header_value(store_protocol::challenge_header),
                      result->get_header_value(store_protocol::proof_header)};
      }
      failure = text(addresses[i].text(), ": ",
                     result.error() == httplib::Error::Connection          ? "cannot connect"
                     : result.error() == httplib::Error::ConnectionTimeout ? "no answer to connecting"
                                                                           : "the connection broke or stayed silent");
    }
    return std::nullopt;
  }

  /// Gets the server's challenge and shows it our proof before anything else is sent.
  bool introduce(std::string const& path, Deadline deadline, std::string& failure) {
    auto const answer = send("OPTIONS", path, {}, {}, deadline, failure);
    if (!answer) return false;
    if (answer->challenge.empty())
      fail(TransportError::Cause::refused, "OPTIONS", path, "what answers there is no store of fleet");
    challenge = answer->challenge;
    auto const checked = prove_and_send("OPTIONS", path, {}, {}, deadline, failure);
    return checked && checked->status == 204;
  }

  std::optional<Answer> prove_and_send(std::string const& method, std::string const& path, std::string_view body,
                                       httplib::Headers headers, Deadline deadline, std::string& failure) {
    store_protocol::Request claim{name, std::to_string(++counter), challenge, hex(view(sha256(body))), {}};
    claim.proof = claim.expected(token, method, path);
    headers.emplace(store_protocol::proof_header, claim.header());
    auto answer = send(method, path, body, headers, deadline, failure);
    if (!answer) return std::nullopt;
    if (answer->status == 401) {
      if (answer->challenge != challenge) {  // another server than before
        challenge.clear();
        return std::nullopt;
      }
      fail(TransportError::Cause::refused, method, path, "it does not accept our token; is it the store of this job?");
    }
    if (answer->proof != store_protocol::answer_proof(token, claim.proof, answer->status, answer->body))
      fail(TransportError::Cause::refused, method, path, "what answers there does not hold this job's token");
    return answer;
  }

  /// Tries until there is an answer or the deadline passes.
  Answer request(std::string const& method, std::string_view key, std::string_view body,
                 httplib::Headers const& headers, Deadline deadline) {
    auto const path = text("/", scope, "/", key);
    std::string failure = "no try was made";
    for (std::chrono::milliseconds pause{10};; pause = std::min(2 * pause, std::chrono::milliseconds{200})) {
      {
        std::lock_guard lock{mutex};
        if (!challenge.empty() || introduce(path, deadline, failure)) {
          if (auto answer = prove_and_send(method, path, body, headers, deadline, failure)) {
            if (answer->status == 400) fail(TransportError::Cause::refused, method, path, answer->body);
            return *std::move(answer);
          }
        }
      }
      if (deadline.passed())
        fail(TransportError::Cause::refused, method, path,
             text("nobody answered in time (", failure,
                  "); is the process that keeps the store running, and reachable?"));
      std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
    }
  }
};

FLEET_BODY StoreClient::StoreClient(std::string endpoint, Token token, std::string scope)
    : impl_(std::make_shared<Impl>()) {
  impl_->where = HostPort::parse(endpoint);
  impl_->endpoint = std::move(endpoint);
  impl_->token = std::move(token);
  impl_->scope = std::move(scope);
}

FLEET_BODY void StoreClient::put(std::string_view key, std::string_view value, Deadline deadline) const {
  impl_->request("PUT", key, value, {}, deadline);
}

FLEET_BODY std::string StoreClient::claim(std::string_view key, std::string_view value, Deadline deadline) const {
  auto answer = impl_->request("PUT", key, value, {{"If-None-Match", "*"}}, deadline);
  return answer.status == 412 ? std::move(answer.body) : std::string{value};
}

FLEET_BODY std::optional<std::string> StoreClient::get(std::string_view key, Deadline deadline) const {
  auto answer = impl_->request("GET", key, {}, {}, deadline);
  if (answer.status == 404) return std::nullopt;
  return std::move(answer.body);
}

FLEET_BODY std::string StoreClient::wait(std::string_view key, Deadline deadline) const {
  for (std::chrono::milliseconds pause{2};; pause = std::min(2 * pause, std::chrono::milliseconds{50})) {
    if (auto value = get(key, deadline)) return *std::move(value);
    if (deadline.passed())
      impl_->fail(TransportError::Cause::silent, "wait", text("/", impl_->scope, "/", key),
                  "nobody has put it in time; is the process that should do so running?");
    std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
  }
}

FLEET_BODY void StoreClient::done(Deadline deadline) const { impl_->request("DELETE", impl_->name, {}, {}, deadline); }

FLEET_BODY std::string const& StoreClient::endpoint() const { return impl_->endpoint; }
FLEET_BODY std::string const& StoreClient::scope() const { return impl_->scope; }

}  // namespace fleet::net
