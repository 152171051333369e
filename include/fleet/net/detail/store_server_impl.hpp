#pragma once
#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fleet/core/error.hpp>
#include <fleet/core/log.hpp>
#include <fleet/core/thread.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/store_protocol.hpp>
#include <fleet/net/store_server.hpp>

namespace fleet::net {

struct StoreServer::Impl {
  std::string endpoint;
  Token token;
  std::string challenge = hex(random_bytes(16));
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> values;              // by "/scope/key"
  std::map<std::string, std::set<std::string>, std::less<>> finished;  // clients by scope
  std::map<std::string, std::uint64_t, std::less<>> counters;          // the last of each client
  std::set<std::string, std::less<>> strangers;
  std::unique_ptr<httplib::Server> server;
  int listening = -1;
  std::thread thread;

  explicit Impl(Token secret) : token(std::move(secret)) {
    struct sigaction before {};
    ::sigaction(SIGPIPE, nullptr, &before);
    server = std::make_unique<httplib::Server>();  // it ignores SIGPIPE for the whole process, our threads block it
    ::sigaction(SIGPIPE, &before, nullptr);
    server->new_task_queue = [] { return new httplib::ThreadPool(8); };
    server->set_tcp_nodelay(true);
    server->set_keep_alive_timeout(2);
    server->set_payload_max_length(std::size_t{1} << 30);
    server->set_socket_options([this](int descriptor) {
      int const on = 1;
      ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      listening = descriptor;
    });
    using Decision = httplib::Server::HandlerResponse;
    server->set_pre_routing_handler([this](httplib::Request const& request, httplib::Response& response) {
      return admitted(request, response) ? Decision::Unhandled : Decision::Handled;
    });
    server->Put("/.*", [this](auto const& request, auto& response) { put(request, response); });
    server->Get("/.*", [this](auto const& request, auto& response) { get(request, response); });
    server->Delete("/.*", [this](auto const& request, auto& response) { finish(request, response); });
  }

  static std::string_view scope_of(std::string_view path) { return path.substr(0, path.find('/', 1)); }

  void answer(httplib::Request const& request, httplib::Response& response, int status,
              std::string const& body = {}) const {
    auto const proof = store_protocol::Request::parse(request.get_header_value(store_protocol::proof_header)).proof;
    response.status = status;
    response.set_header(store_protocol::challenge_header, challenge);
    response.set_header(store_protocol::proof_header, store_protocol::answer_proof(token, proof, status, body));
    if (!body.empty()) response.set_content(body, "application/octet-stream");
  }

  bool admitted(httplib::Request const& request, httplib::Response& response) {
    auto const claim = store_protocol::Request::parse(request.get_header_value(store_protocol::proof_header));
    response.set_header(store_protocol::challenge_header, challenge);
    if (request.method == "OPTIONS" && claim.proof.empty()) {  // asks for the challenge
      response.status = 204;
      return false;
    }
    if (!claim.proof.empty() && claim.challenge != challenge) {  // of an earlier server here: it may ask anew
      response.status = 401;
      return false;
    }
    if (!claim.proven(token, request.method, request.path) || !newer(claim)) {
      response.status = 401;
      report(request.remote_addr);
      return false;
    }
    if (request.method == "OPTIONS") {
      answer(request, response, 204);
      return false;
    }
    auto const scope = scope_of(request.path);
    if (scope.size() < 2 || request.path.size() < scope.size() + 2) {
      answer(request, response, 400, "a path has two parts: /scope/key");
      return false;
    }
    return true;
  }

  bool newer(store_protocol::Request const& claim) {
    std::uint64_t counter = 0;
    std::from_chars(claim.counter.data(), claim.counter.data() + claim.counter.size(), counter);
    std::lock_guard lock{mutex};
    auto& last = counters[claim.client];
    if (counter <= last) return false;
    last = counter;
    return true;
  }

  void report(std::string const& host) {
    {
      std::lock_guard lock{mutex};
      if (strangers.size() > 1000 || !strangers.insert(host).second) return;
    }
    log(LogLevel::warning, text("the store at ", endpoint, " refused a request from ", host,
                                ": it did not prove the job's token (further ones from there are not reported)"));
  }

  void put(httplib::Request const& request, httplib::Response& response) {
    auto const claim = store_protocol::Request::parse(request.get_header_value(store_protocol::proof_header));
    if (claim.body != hex(view(sha256(request.body)))) return answer(request, response, 400, "the body is not as sent");
    std::unique_lock lock{mutex};
    if (request.get_header_value("If-None-Match") == "*") {
      auto const [at, fresh] = values.emplace(request.path, request.body);
      if (!fresh) {
        auto const value = at->second;
        lock.unlock();
        return answer(request, response, 412, value);
      }
    } else {
      values[request.path] = request.body;
    }
    lock.unlock();
    answer(request, response, 200);
  }

  void get(httplib::Request const& request, httplib::Response& response) {
    std::unique_lock lock{mutex};
    auto const at = values.find(request.path);
    bool const found = at != values.end();
    std::string const value = found ? at->second : std::string{};
    lock.unlock();
    answer(request, response, found ? 200 : 404, value);
  }

  void finish(httplib::Request const& request, httplib::Response& response) {
    auto const scope = scope_of(request.path);
    {
      std::lock_guard lock{mutex};
      finished[std::string{scope}].insert(request.path);
    }
    answer(request, response, 200);
  }
};

FLEET_BODY StoreServer::StoreServer(std::string const& bind, Token token)
    : impl_(std::make_unique<Impl>(std::move(token))) {
  auto where = HostPort::parse(bind);
  auto const addresses = resolve(where);
  auto& server = *impl_->server;
  int port = -1;
  for (auto const& address : addresses) {
    if (address.port() == 0)
      port = server.bind_to_any_port(address.host());
    else if (server.bind_to_port(address.host(), address.port()))
      port = address.port();
    if (port > 0) break;
  }
  if (port <= 0) {
    Listener const probe{addresses.front()};  // says why it cannot be done
    throw ConfigurationError("fleet: the store cannot listen on " + bind);
  }
  ::listen(impl_->listening, SOMAXCONN);  // all ranks come at once
  where.port = static_cast<std::uint16_t>(port);
  impl_->endpoint = where.text();
  impl_->thread = start_thread("the store", [&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

FLEET_BODY StoreServer::~StoreServer() {
  impl_->server->stop();
  impl_->thread.join();
}

FLEET_BODY std::string const& StoreServer::endpoint() const { return impl_->endpoint; }

FLEET_BODY std::size_t StoreServer::finished(std::string const& scope) const {
  std::lock_guard lock{impl_->mutex};
  auto const at = impl_->finished.find("/" + scope);
  return at == impl_->finished.end() ? 0 : at->second.size();
}

}  // namespace fleet::net
