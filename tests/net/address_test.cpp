#include <gtest/gtest.h>

#include <string>

#include <fleet/core/error.hpp>
#include <fleet/net/address.hpp>
#include <fleet/net/interfaces.hpp>
#include <fleet/net/socket.hpp>

namespace {

using fleet::ConfigurationError;
using fleet::net::HostPort;

TEST(Address, host_and_port) {
  EXPECT_EQ(HostPort::parse("node7:80").host, "node7");
  EXPECT_EQ(HostPort::parse("node7:80").port, 80);
  EXPECT_EQ(HostPort::parse("[::1]:0").host, "::1");
  EXPECT_EQ(HostPort::parse("[::1]:0").text(), "[::1]:0");
  for (auto const* bad : {"", "host", "host:", ":80", "host:65536", "host:-1", "host:8x", "::1:80", "[]:80"})
    EXPECT_THROW(HostPort::parse(bad), ConfigurationError) << bad;
}

TEST(Address, a_name_that_does_not_resolve_is_named) {
  try {
    fleet::net::resolve({"no-such-host.invalid", 80});
    FAIL();
  } catch (ConfigurationError const& error) {
    EXPECT_NE(std::string{error.what()}.find("no-such-host.invalid"), std::string::npos);
  }
}

TEST(Address, kinds) {
  auto const first = [](char const* host) { return fleet::net::resolve({host, 0}).front(); };
  EXPECT_TRUE(first("127.0.1.1").loopback());
  EXPECT_TRUE(first("::1").loopback());
  EXPECT_FALSE(first("10.0.0.1").loopback());
  EXPECT_TRUE(first("0.0.0.0").wildcard());
  EXPECT_TRUE(first("::").wildcard());
  EXPECT_EQ(first("10.0.0.1").with_port(5).text(), "10.0.0.1:5");
}

TEST(Interfaces, are_chosen_by_name_and_by_address) {
  auto const all = fleet::net::interfaces();
  for (auto const& one : all) {
    EXPECT_EQ(fleet::net::local_address(one.address.host()).host(), one.address.host());
    EXPECT_NO_THROW(fleet::net::local_address(one.name));
  }
  EXPECT_EQ(fleet::net::local_address("127.0.0.3").host(), "127.0.0.3");
  EXPECT_TRUE(fleet::net::local_address("localhost").loopback());
  for (auto const* unknown : {"nosuch0", "192.0.2.77", "no-such-host.invalid"}) {
    try {
      fleet::net::local_address(unknown);
      FAIL() << unknown;
    } catch (ConfigurationError const& error) {
      EXPECT_NE(std::string{error.what()}.find(unknown), std::string::npos);
      for (auto const& one : all) EXPECT_NE(std::string{error.what()}.find(one.name), std::string::npos);
    }
  }
}

TEST(Interfaces, the_way_to_loopback_is_loopback) {
  EXPECT_EQ(fleet::net::source_address(fleet::net::resolve({"127.0.0.1", 80}).front()).host(), "127.0.0.1");
  EXPECT_EQ(fleet::net::host_identity(), fleet::net::host_identity());
  EXPECT_FALSE(fleet::net::host_name().empty());
}

TEST(Listener, a_taken_port_is_named_with_a_remedy) {
  fleet::net::Listener const first{fleet::net::local_address("127.0.0.1")};
  try {
    fleet::net::Listener const second{first.address()};
    FAIL();
  } catch (ConfigurationError const& error) {
    EXPECT_NE(std::string{error.what()}.find(first.address().text()), std::string::npos);
    EXPECT_NE(std::string{error.what()}.find("choose another port"), std::string::npos);
  }
}

}  // namespace
