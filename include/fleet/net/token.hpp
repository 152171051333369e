#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fleet/core/config.hpp>

namespace fleet::net {

/// A SHA-256 digest.
using Digest = std::array<char, 32>;

FLEET_BODY Digest sha256(std::string_view bytes);
/// `count` bytes that nobody can guess, from the system's generator.
FLEET_BODY std::string random_bytes(std::size_t count);
/// Lower-case hexadecimal digits, two a byte.
FLEET_BODY std::string hex(std::string_view bytes);
/// Equality that takes the same time wherever the two differ.
FLEET_BODY bool same(std::string_view a, std::string_view b);

/// The job's secret. Peers prove to each other that they hold it by an HMAC-SHA256 over what both have said in one
/// conversation, fresh random bytes of either side among it; the secret itself never leaves the process.
/// An empty secret protects nothing and is what a job without a launcher may have.
class Token {
 public:
  Token() = default;
  Token(std::string secret) : secret_(std::move(secret)) {}  // NOLINT(google-explicit-constructor): a token is one
  /// A new secret of 64 hexadecimal digits.
  static Token make() { return Token{hex(random_bytes(32))}; }

  /// The proof over `pieces`, each framed by its length so that they cannot run into each other.
  FLEET_BODY Digest proof(std::initializer_list<std::string_view> pieces) const;
  /// Whether `claimed` is that proof.
  bool accepts(std::string_view claimed, std::initializer_list<std::string_view> pieces) const {
    auto const right = proof(pieces);
    return same(claimed, {right.data(), right.size()});
  }

  /// For handing it to a child process only.
  std::string const& secret() const { return secret_; }

 private:
  std::string secret_;
};

inline std::string_view view(Digest const& digest) { return {digest.data(), digest.size()}; }

}  // namespace fleet::net

#ifndef FLEET_SEPARATE_BODIES
#include <fleet/net/detail/token_impl.hpp>  // IWYU pragma: export
#endif
