#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fleet/core/error.hpp>
#include <fleet/net/token.hpp>

namespace fleet::net {

FLEET_BODY Digest sha256(std::string_view bytes) {
  Digest digest;
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(),
                 nullptr) != 1)
    throw Error("fleet: libcrypto cannot make a SHA-256 digest");
  return digest;
}

FLEET_BODY std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    throw Error("fleet: the system's random generator gives nothing");
  return bytes;
}

FLEET_BODY std::string hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (char byte : bytes) {
    auto const value = static_cast<unsigned char>(byte);
    out += digits[value >> 4];
    out += digits[value & 15u];
  }
  return out;
}

FLEET_BODY Digest Token::proof(std::initializer_list<std::string_view> pieces) const {
  std::string message;
  for (auto piece : pieces) {
    std::uint64_t const size = piece.size();
    for (int shift = 0; shift < 64; shift += 8) message += static_cast<char>((size >> shift) & 0xffu);
    message += piece;
  }
  Digest digest;
  unsigned length = 0;
  if (HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
           reinterpret_cast<unsigned char const*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length) == nullptr)
    throw Error("fleet: libcrypto cannot make an HMAC");
  return digest;
}

FLEET_BODY bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fleet::net
