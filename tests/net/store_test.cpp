#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/socket.hpp>
#include <fleet/net/store_client.hpp>
#include <fleet/net/store_server.hpp>

namespace {

using namespace std::chrono_literals;
using fleet::Deadline;
using fleet::TransportError;
using fleet::net::HostPort;
using fleet::net::StoreClient;
using fleet::net::StoreServer;

Deadline soon() { return Deadline::after(10s); }

TEST(Store, keeps_values_and_waits_for_them) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  StoreClient client{server.endpoint(), {"secret"}, "workers"};
  EXPECT_FALSE(client.get("a", soon()));
  client.put("a", "1", soon());
  client.put("a", std::string("2\0\n", 3), soon());
  EXPECT_EQ(client.get("a", soon()), std::string("2\0\n", 3));
  auto waiting = std::async(std::launch::async, [&] { return client.wait("b/of c?%", soon()); });
  StoreClient other{server.endpoint(), {"secret"}, "workers"};
  other.put("b/of c?%", "", soon());
  EXPECT_EQ(waiting.get(), "");
  StoreClient elsewhere{server.endpoint(), {"secret"}, "servers"};
  EXPECT_FALSE(elsewhere.get("a", soon()));
}

TEST(Store, a_claim_is_given_once) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  StoreClient one{server.endpoint(), {"secret"}, "s"}, two{server.endpoint(), {"secret"}, "s"};
  EXPECT_EQ(one.claim("rank", "one", soon()), "one");
  EXPECT_EQ(two.claim("rank", "two", soon()), "one");
  EXPECT_EQ(one.claim("rank", "one", soon()), "one");
}

TEST(Store, large_values_of_many_clients_at_once) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      StoreClient client{server.endpoint(), {"secret"}, "s"};
      std::string value(std::size_t{1} << 20, static_cast<char>('a' + i));
      auto const key = std::to_string(i);
      client.put(key, value, soon());
      EXPECT_EQ(client.wait(key, soon()), value);
    });
  }
  for (auto& thread : threads) thread.join();
  StoreClient client{server.endpoint(), {"secret"}, "s"};
  std::string const huge(std::size_t{20} << 20, 'x');
  client.put("huge", huge, soon());
  EXPECT_EQ(client.get("huge", soon()), huge);
}

TEST(Store, counts_the_clients_that_are_done) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  StoreClient one{server.endpoint(), {"secret"}, "s"}, two{server.endpoint(), {"secret"}, "s"};
  EXPECT_EQ(server.finished("s"), 0u);
  one.done();
  one.done();
  EXPECT_EQ(server.finished("s"), 1u);
  two.done();
  EXPECT_EQ(server.finished("s"), 2u);
}

TEST(Store, the_server_may_start_later_and_start_again) {
  std::string endpoint;
  { endpoint = StoreServer{"127.0.0.1:0", {"secret"}}.endpoint(); }
  StoreClient client{endpoint, {"secret"}, "s"};
  auto waiting = std::async(std::launch::async, [&] { return client.wait("key", soon()); });
  std::this_thread::sleep_for(100ms);
  {
    StoreServer server{endpoint, {"secret"}};
    StoreClient{endpoint, {"secret"}, "s"}.put("key", "value", soon());
    EXPECT_EQ(waiting.get(), "value");
  }
  StoreServer server{endpoint, {"secret"}};  // forgets, and has another challenge
  EXPECT_FALSE(client.get("key", soon()));
}

TEST(Store, says_in_time_what_it_waited_for) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  StoreClient client{server.endpoint(), {"secret"}, "s"};
  try {
    client.wait("rank/7", Deadline::after(200ms));
    FAIL();
  } catch (TransportError const& error) {
    EXPECT_EQ(error.cause(), TransportError::Cause::silent);
    EXPECT_NE(std::string{error.what()}.find(server.endpoint()), std::string::npos);
    EXPECT_NE(std::string{error.what()}.find("rank/7"), std::string::npos);
  }
  StoreClient nobody{"127.0.0.1:1", {"secret"}, "s"};
  try {
    nobody.wait("rank/7", Deadline::after(200ms));
    FAIL();
  } catch (TransportError const& error) {
    EXPECT_EQ(error.cause(), TransportError::Cause::refused);
    EXPECT_NE(std::string{error.what()}.find("127.0.0.1:1"), std::string::npos);
    EXPECT_NE(std::string{error.what()}.find("rank/7"), std::string::npos);
  }
}

TEST(Store, strangers_are_refused_and_logged_once) {
  testing::internal::CaptureStderr();
  StoreServer server{"127.0.0.1:0", {"secret"}};
  StoreClient client{server.endpoint(), {"secret"}, "s"};
  client.put("key", "value", soon());
  httplib::Client stranger{"127.0.0.1", HostPort::parse(server.endpoint()).port};
  EXPECT_EQ(stranger.Get("/s/key")->status, 401);
  EXPECT_EQ(stranger.Put("/s/key", "x", "text/plain")->status, 401);
  EXPECT_EQ(stranger.Delete("/s/key")->status, 401);
  StoreClient wrong{server.endpoint(), {"guess"}, "s"};
  EXPECT_THROW(wrong.put("key", std::string(1 << 20, 'x'), soon()), TransportError);
  EXPECT_EQ(client.get("key", soon()), "value");
  auto const log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("refused a request from 127.0.0.1"), std::string::npos);
  EXPECT_EQ(log.find("\nfleet", 1), std::string::npos) << log;
  EXPECT_EQ(log.find("secret"), std::string::npos);
}

TEST(Store, a_recorded_request_is_worth_nothing) {
  StoreServer server{"127.0.0.1:0", {"secret"}};
  fleet::net::Token const token{"secret"};
  httplib::Client client{"127.0.0.1", HostPort::parse(server.endpoint()).port};
  auto const challenge = client.Options("/")->get_header_value("Fleet-Challenge");
  auto const body = fleet::net::hex(fleet::net::view(fleet::net::sha256("")));
  auto const proof =
      fleet::net::hex(fleet::net::view(token.proof({"store request", "me", "1", challenge, body, "GET", "/s/key"})));
  httplib::Headers const headers{{"Fleet-Proof", "me 1 " + challenge + " " + body + " " + proof}};
  EXPECT_EQ(client.Get("/s/key", headers)->status, 404);
  EXPECT_EQ(client.Get("/s/key", headers)->status, 401);
  EXPECT_EQ(client.Get("/s/other", headers)->status, 401);
}

TEST(Store, a_path_needs_scope_and_key) {
  StoreServer server{"127.0.0.1:0", {}};
  StoreClient client{server.endpoint(), {}, ""};
  EXPECT_THROW(client.get("", soon()), TransportError);
}

TEST(Store, does_not_trust_a_server_without_the_token) {
  httplib::Server other;
  other.Get("/.*", [](auto const&, auto& response) { response.set_content("value", "text/plain"); });
  int const port = other.bind_to_any_port("127.0.0.1");
  std::thread thread{[&] { other.listen_after_bind(); }};
  StoreClient client{"127.0.0.1:" + std::to_string(port), {"secret"}, "s"};
  EXPECT_THROW(client.get("key", soon()), TransportError);
  other.stop();
  thread.join();
}

TEST(Store, a_taken_port_is_named_with_a_remedy) {
  StoreServer server{"127.0.0.1:0", {}};
  auto const start = std::chrono::steady_clock::now();
  try {
    StoreServer second{server.endpoint(), {}};
    FAIL();
  } catch (fleet::ConfigurationError const& error) {
    EXPECT_NE(std::string{error.what()}.find(server.endpoint()), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("choose another port"), std::string::npos) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  EXPECT_THROW(StoreServer("no-such-host.invalid:0", {}), fleet::ConfigurationError);
  EXPECT_THROW(StoreServer("127.0.0.1", {}), fleet::ConfigurationError);
}

TEST(Store, one_port_can_be_used_again_at_once) {
  std::string endpoint = "127.0.0.1:0";
  for (int i = 0; i < 10; ++i) {
    StoreServer server{endpoint, {}};
    endpoint = server.endpoint();
    StoreClient{endpoint, {}, "s"}.put("key", "value", soon());
  }
}

TEST(Store, tries_all_addresses_of_a_name_and_speaks_ipv6) {
  StoreServer four{"127.0.0.1:0", {}};
  auto const port = std::to_string(HostPort::parse(four.endpoint()).port);
  StoreClient{"localhost:" + port, {}, "s"}.put("key", "value", soon());
  std::optional<StoreServer> six;
  try {
    six.emplace("[::1]:0", fleet::net::Token{});
  } catch (fleet::ConfigurationError const& error) {
    GTEST_SKIP() << "skipped: no IPv6 here: " << error.what();
  }
  StoreClient client{six->endpoint(), {}, "s"};
  client.put("key", "value", soon());
  EXPECT_EQ(client.wait("key", soon()), "value");
}

}  // namespace
